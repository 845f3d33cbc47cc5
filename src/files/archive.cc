#include "files/archive.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <type_traits>

#include "base/error.h"
#include "files/content.h"
#include "files/elements.h"
#include "files/json.h"
#include "files/member_view.h"
#include "files/names.h"
#include "files/npy.h"
#include "files/npz.h"
#include "files/safetensors.h"
#include "files/sharded.h"
#include "files/text.h"
#include "files/torch_file.h"
#include "files/zip.h"

namespace mha {
namespace {

// "model_type": stands in every config of Hugging Face.
bool is_model_config(std::string_view text) {
  constexpr std::string_view kKey = "\"model_type\"";
  const std::size_t found = text.find(kKey);
  if (found == text.npos) return false;
  const std::size_t next = text.find_first_not_of(" \t\r\n", found + kKey.size());
  return next != text.npos && text[next] == ':';
}

bool is_keras_zip(const std::vector<ZipEntry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const ZipEntry& entry) { return entry.name.ends_with(".h5"); });
}

// Without a way out of the loop, which keeps it to vector instructions.
template <typename T>
bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits found = 0;
  for (const T value : values) {
    found |= (std::bit_cast<Bits>(value) & kExponent) == kExponent ? 1 : 0;
  }
  return found == 0;
}

[[noreturn]] void refuse_dtype(const Archive& archive, const Member& member) {
  const std::string found = where(archive, member) + ": dtype " + printable(member.dtype_name);
  if (member.dtype == DType::text) throw Error(found + " is text, expected numbers");
  if (member.dtype_name.find('O') != std::string::npos && member.dtype_name.size() <= 3) {
    throw Error(found + " is Python objects, a pickle, which is never run; save numbers");
  }
  throw Error(found +
              " is not supported, expected floats of 16, 32 or 64 bits, integers or "
              "booleans");
}

}  // namespace

const Member* Archive::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

const Member& Archive::at(std::string_view name) const {
  if (const Member* member = find(name)) return *member;
  for (const Skipped& other : skipped) {
    if (other.name != name) continue;
    throw Error(path + ": " + printable(name) + " is " + printable(other.what) +
                ", expected a tensor; nothing in a pickle is ever run");
  }
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  throw Error(path + ": has no tensor " + printable(name) + did_you_mean(name, names) +
              "; it holds " + list_of(names));
}

Archive open_archive(const std::string& path) {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored))
    return open_npy_folder(path);
  const Bytes bytes = Bytes::open(path);
  return is_shard_index(bytes.text()) ? open_sharded(bytes, path)
                                      : read_archive(bytes, source_name(path));
}

Archive read_archive(const Bytes& bytes, const std::string& path) {
  switch (content_of(bytes.text(), path)) {
    case Content::npy: return open_npy(bytes, path);
    case Content::zip: {
      const std::vector<ZipEntry> entries = read_zip(bytes, path);
      if (is_keras_zip(entries)) {
        throw Error(path +
                    ": is a .keras archive, which is not read; save its weights as .npz");
      }
      return is_torch_zip(entries) ? open_torch_zip(entries, path) : open_npz(entries, path);
    }
    case Content::torch: return open_torch_legacy(bytes, path);
    case Content::safetensors: return open_safetensors(bytes, path);
    case Content::json:
      if (is_model_config(bytes.text())) {
        throw Error(path +
                    ": is a model's config, not its weights; give the weights, which "
                    "find a config.json beside them");
      }
      return open_json(bytes, path);
    case Content::text: break;
  }
  return open_text(bytes, path);
}

template <typename T>
Tensor<T> read_tensor(const Archive& archive, const Member& member) {
  const std::string place = where(archive, member);
  if (size_of(member.dtype) == 0) refuse_dtype(archive, member);
  const std::size_t count = element_count(member.shape, place);
  const auto bytes = checked_multiply(count, sizeof(T));
  if (!bytes) throw Error(place + ": shape " + to_string(member.shape) + " is too large");
  require_memory(*bytes, place);
  Tensor<T> tensor(member.shape);
  if (count == 0) return tensor;
  const Bytes data = member.fetch();
  copy_strided(data.data() + member.offset * size_of(member.dtype), member.shape,
               strides_of(member), {member.dtype, member.big_endian}, tensor.data());
  return tensor;
}

template Tensor<float> read_tensor(const Archive&, const Member&);
template Tensor<double> read_tensor(const Archive&, const Member&);

std::string where(const Archive& archive, const Member& member) {
  const std::string& name = member.origin.empty() ? member.name : member.origin;
  return name.empty() ? archive.path : archive.path + ": " + printable(name);
}

template <typename T>
void require_finite(const Tensor<T>& tensor, const std::string& where) {
  if (all_finite(tensor.values())) return;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const T value = tensor.data()[i];
    if (std::isfinite(value)) continue;
    // A finite f64 may have been too large for f32.
    const bool narrow = std::is_same_v<T, float> && std::isinf(value);
    throw Error(where + (tensor.rank() == 0 ? "" : to_string(index_of(i, tensor.shape()))) +
                " is " +
                (std::isnan(value) ? "nan"
                 : value > 0       ? "inf"
                                   : "-inf") +
                (narrow ? " in f32 (--precision f64 holds more)" : "") +
                "; --allow-nonfinite lets it through");
  }
}

template void require_finite(const Tensor<float>&, const std::string&);
template void require_finite(const Tensor<double>&, const std::string&);

}  // namespace mha
