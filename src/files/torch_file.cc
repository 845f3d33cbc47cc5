#include "files/torch_file.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"
#include "files/pickle.h"
#include "files/torch_tensors.h"

namespace mha {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPickle = "data.pkl";
// A pickle holds names and shapes; one as large as this holds something else.
constexpr std::size_t kLargestPickle = std::size_t{256} << 20;

// The entry ROOT/data.pkl, where ROOT is one folder or none.
const ZipEntry* find_pickle(const std::vector<ZipEntry>& entries) {
  for (const ZipEntry& entry : entries) {
    const std::size_t slash = entry.name.find('/');
    const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
    if (std::string_view(entry.name).substr(start) == kPickle) return &entry;
  }
  return nullptr;
}

// Bytes that hold a storage.
struct Record {
  std::size_t size = 0;
  std::function<Bytes()> fetch;
};

Record record_of(const ZipEntry& entry) {
  if (entry.deflated) return {entry.size, [entry] { return zip_content(entry); }};
  return {entry.packed.size(), [bytes = entry.packed] { return bytes; }};
}

// The archive of what a pickle says, over the records of its storages by key.
Archive archive_of(const Pickle& pickle, const std::map<std::string, Record>& records,
                   bool big_endian, const std::string& path) {
  Archive archive;
  archive.path = path;
  TorchTensors found = tensors_of(pickle, path);
  archive.skipped = std::move(found.skipped);
  for (TorchTensor& tensor : found.tensors) {
    Member member;
    member.name = std::move(tensor.name);
    member.dtype = tensor.storage.dtype;
    member.dtype_name = tensor.storage.dtype_name;
    const std::string place = where(archive, member);
    const auto record = records.find(tensor.storage.key);
    if (record == records.end()) {
      throw Error(place + ": its storage " + printable(tensor.storage.key) +
                  " is not in the file");
    }
    require_inside(tensor, record->second.size, place);
    member.shape = std::move(tensor.shape);
    member.strides = std::move(tensor.strides);
    member.offset = tensor.offset;
    member.big_endian = big_endian;
    member.fetch = record->second.fetch;
    archive.members.push_back(std::move(member));
  }
  return archive;
}

// "little\n" where the file does not say.
bool is_big_endian(const ZipEntry& entry) {
  std::string order(zip_content(entry).text().substr(0, 16));
  while (order.ends_with('\n')) order.pop_back();
  if (order == "big") return true;
  if (order == "little") return false;
  throw Error(entry.where + ": byte order \"" + printable(order) +
              "\", expected little or big");
}

}  // namespace

bool is_torch_zip(const std::vector<ZipEntry>& entries) {
  return find_pickle(entries) != nullptr;
}

Archive open_torch_zip(const std::vector<ZipEntry>& entries, const std::string& path) {
  const ZipEntry& pickled = *find_pickle(entries);
  if (pickled.size > kLargestPickle) {
    throw Error(pickled.where + ": a pickle of " + format_bytes(pickled.size) + ", at most " +
                format_bytes(kLargestPickle) + " are read");
  }
  const std::string root = pickled.name.substr(0, pickled.name.size() - kPickle.size());
  const std::string data = root + "data/";
  std::map<std::string, Record> records;
  bool big_endian = false;
  for (const ZipEntry& entry : entries) {
    if (entry.name == root + "byteorder") big_endian = is_big_endian(entry);
    if (!entry.name.starts_with(data)) continue;
    records[entry.name.substr(data.size())] = record_of(entry);
  }
  const Pickle pickle = read_pickle(zip_content(pickled), pickled.where);
  Archive archive = archive_of(pickle, records, big_endian, path);
  archive.container = "PyTorch zip";
  return archive;
}

// The pickle of 0x1950a86a20f9469cfc6c; protocol 4 puts it in a frame.
bool is_torch_legacy(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
  if (bytes.size() < 2 || bytes[0] != '\x80') return false;
  bytes.remove_prefix(2);
  if (bytes.starts_with('\x95')) bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 9));
  return bytes.starts_with(kMagic);
}

Archive open_torch_legacy(const Bytes& bytes, const std::string& path) {
  const std::size_t magic_end = read_pickle(bytes, path).end;
  const Pickle version = read_pickle(bytes, path, magic_end);
  constexpr std::int64_t kVersion = 1001;
  if (version[version.root].integer != kVersion) {
    throw Error(path + ": version " + std::to_string(version[version.root].integer) +
                " of PyTorch's old format, expected " + std::to_string(kVersion));
  }
  // The sizes of the writer's integers, which nothing depends on.
  const std::size_t begin = read_pickle(bytes, path, version.end).end;
  const Pickle pickle = read_pickle(bytes, path, begin);
  const Pickle keys = read_pickle(bytes, path, pickle.end);

  // The storages in the order of the keys: a count of 8 bytes, the elements.
  // They are little-endian wherever they were written.
  const std::map<std::string, TorchStorage> storages = storages_of(pickle, path);
  std::map<std::string, Record> records;
  std::size_t at = keys.end;
  for (const std::uint32_t index : keys[keys.root].items) {
    const std::string key(keys.text_of(index));
    const auto storage = storages.find(key);
    const std::string place = path + ": storage " + printable(key);
    if (storage == storages.end()) throw Error(place + " is listed and never used");
    const std::size_t item_size = storage->second.item_size;
    if (item_size == 0) {
      throw Error(place + ": " + storage->second.dtype_name + " is of unknown size");
    }
    constexpr std::size_t kCount = 8;
    const std::size_t left = bytes.size() - at;
    std::size_t count = 0;
    for (std::size_t i = kCount; i-- > 0 && left >= kCount;) {
      count = count << 8 | std::to_integer<std::size_t>(bytes.data()[at + i]);
    }
    if (left < kCount || count > (left - kCount) / item_size) {
      throw Error(place + ": the file ends within it, " + std::to_string(left) +
                  " bytes are left for " + std::to_string(count) + " of " +
                  storage->second.dtype_name);
    }
    const Bytes elements = bytes.slice(at + kCount, count * item_size);
    at += kCount + elements.size();
    if (!records.emplace(key, Record{elements.size(), [elements] { return elements; }})
             .second) {
      throw Error(place + " is listed twice");
    }
  }
  Archive archive = archive_of(pickle, records, false, path);
  archive.container = "PyTorch legacy";
  return archive;
}

}  // namespace mha
