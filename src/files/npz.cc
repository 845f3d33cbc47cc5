#include "files/npz.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "files/elements.h"
#include "files/names.h"
#include "files/npy.h"
#include "files/utf8.h"

namespace mha {
namespace {

constexpr std::string_view kSuffix = ".npy";
// Settings and labels are words; a text beyond this is something else.
constexpr std::size_t kLongestText = std::size_t{1} << 20;
constexpr std::size_t kMostText = std::size_t{64} << 20;
constexpr std::size_t kMostLabels = std::size_t{1} << 20;

bool fits(std::size_t count, std::size_t item_size) {
  return item_size <= kLongestText && count <= kMostLabels && count * item_size <= kMostText;
}

// Adds an array as what it is to us: a setting, a list of strings or a tensor.
void add(Archive& archive, const std::string& name, NpyHeader header,
         std::function<Bytes()> fetch) {
  const std::string where = archive.path + ": " + printable(name);
  const ElementForm form{header.dtype, header.big_endian};
  const bool is_text = header.dtype == DType::text;
  const bool wide = header.descr.find('U') != std::string::npos;
  const std::size_t item_size = header.item_size;
  Member member = npy_member(name, std::move(header), std::move(fetch));
  const std::size_t rank = member.shape.size();
  const bool is_list = is_text && rank == 1;
  const bool is_setting = rank == 0 && member.dtype != DType::other;
  if (!is_list && !is_setting) {
    archive.members.push_back(std::move(member));
    return;
  }
  const std::size_t count = rank == 0 ? 1 : member.shape[0];
  if (is_text && !fits(count, item_size)) {
    throw Error(where + ": '" + printable(member.dtype_name) + "' of shape " +
                to_string(member.shape) + " is too long for a setting or a list of labels");
  }
  const Bytes data = member.fetch();
  const auto item = [&](std::size_t i) {
    const std::byte* from = data.data() + i * item_size;
    return is_text ? fixed_text(from, item_size, wide, form.big_endian, where)
                   : element_text(from, form);
  };
  if (is_setting) {
    archive.settings[name] = item(0);
    return;
  }
  std::vector<std::string>& list = archive.lists[name];
  for (std::size_t i = 0; i < count; ++i) list.push_back(item(i));
}

}  // namespace

Archive open_npz(const std::vector<ZipEntry>& entries, const std::string& path) {
  Archive archive;
  archive.path = path;
  archive.container = "npz";
  if (entries.empty()) throw Error(path + ": is a zip archive with nothing in it");
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kSuffix)) {
      throw Error(entry.where + ": is no .npy array, which is all that an .npz file holds");
    }
    NpyHeader header = read_npy_header(
        [&](std::size_t length) { return zip_start(entry, length); }, entry.size, entry.where);
    add(archive, entry.name.substr(0, entry.name.size() - kSuffix.size()), std::move(header),
        [entry] { return zip_content(entry); });
  }
  return archive;
}

template <typename T>
void add_npy(ZipWriter& zip, const std::string& name, const Tensor<T>& tensor) {
  const std::string header = npy_header(dtype_of<T>(), tensor.shape());
  zip.add(name + std::string(kSuffix),
          {std::as_bytes(std::span(header)), std::as_bytes(tensor.values())});
}

namespace {

// Fixed-width strings of code points, '<U5'.
void add_npy_strings(ZipWriter& zip, const std::string& name, const Shape& shape,
                     std::span<const std::string> texts) {
  std::size_t longest = 1;  // numpy has no <U0
  for (const std::string& text : texts) {
    longest = std::max(longest, code_points(text).size());
  }
  const std::size_t item_size = longest * sizeof(char32_t);
  if (!fits(texts.size(), item_size)) {
    throw Error(printable(name) + ": " + std::to_string(texts.size()) + " texts of up to " +
                std::to_string(longest) +
                " characters are too long for .npz; write .safetensors or .json");
  }
  std::u32string padded;
  padded.reserve(texts.size() * longest);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    padded += code_points(texts[i]);
    padded.resize((i + 1) * longest);
  }
  const std::string header = npy_header("<U" + std::to_string(longest), shape);
  zip.add(name + std::string(kSuffix),
          {std::as_bytes(std::span(header)), std::as_bytes(std::span(padded))});
}

}  // namespace

void add_npy_text(ZipWriter& zip, const std::string& name, const std::string& text) {
  add_npy_strings(zip, name, {}, {&text, 1});
}

void add_npy_texts(ZipWriter& zip, const std::string& name,
                   const std::vector<std::string>& texts) {
  add_npy_strings(zip, name, {texts.size()}, texts);
}

template void add_npy(ZipWriter&, const std::string&, const Tensor<float>&);
template void add_npy(ZipWriter&, const std::string&, const Tensor<double>&);

namespace {

// What people mean who give the folder of a model of Hugging Face; "" for none.
std::string checkpoint_in(const std::filesystem::path& folder) {
  std::error_code failure;
  for (const char* sub : {"", "0_Transformer"}) {  // … of sentence-transformers
    for (const char* name : {"model.safetensors", "model.safetensors.index.json",
                             "pytorch_model.bin", "pytorch_model.bin.index.json"}) {
      const std::filesystem::path file = folder / sub / name;
      if (std::filesystem::is_regular_file(file, failure)) return printable(file.string());
    }
  }
  return "";
}

}  // namespace

Archive open_npy_folder(const std::string& path) {
  Archive archive;
  archive.path = printable(path);
  archive.container = "npy folder";
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(path, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (entry->path().extension() == kSuffix) files.push_back(entry->path());
  }
  if (failure) {
    throw Error(archive.path + ": cannot read the folder: " + failure.message(),
                Fault::system);
  }
  if (files.empty()) {
    const std::string checkpoint = checkpoint_in(path);
    throw Error(archive.path +
                (checkpoint.empty()
                     ? ": is a folder without .npy files, expected a tensor in each NAME.npy"
                     : ": is a folder, expected the file in it: " + checkpoint));
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const Bytes bytes = Bytes::open(file.string());
    NpyHeader header =
        read_npy_header([&](std::size_t length) { return bytes.slice(0, length); },
                        bytes.size(), printable(file.string()));
    add(archive, file.stem().string(), std::move(header), [bytes] { return bytes; });
  }
  return archive;
}

}  // namespace mha
