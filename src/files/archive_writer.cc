#include "files/archive_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/error.h"
#include "files/format.h"
#include "files/json.h"
#include "files/names.h"
#include "files/npy.h"
#include "files/npz.h"
#include "files/safetensors.h"
#include "files/zip.h"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements go to the file as they lie in memory");

// Whether each value of the type is a float.
bool fits_float(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::u64:
    case DType::i64:
    case DType::u32:
    case DType::i32: return false;
    default: return true;
  }
}

// Whether a float has these very bits; a NaN's too.
bool is_float(double value) {
  const auto widened = static_cast<double>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(widened) == std::bit_cast<std::uint64_t>(value);
}

DType written_dtype(const Archive& archive, const Member& member) {
  if (fits_float(member.dtype)) return DType::f32;
  const Tensor<double> tensor = read_tensor<double>(archive, member);
  return std::ranges::all_of(tensor.values(), is_float) ? DType::f32 : DType::f64;
}

// Calls use(tensor) with the member as a tensor of that type.
template <typename Use>
void with_tensor(const Archive& archive, const Member& member, DType dtype, const Use& use) {
  if (dtype == DType::f32) {
    use(read_tensor<float>(archive, member));
  } else {
    use(read_tensor<double>(archive, member));
  }
}

// What a setting's text is to containers that know types.
enum class SettingKind { whole_number, number, boolean, word };

SettingKind kind_of(const std::string& text) {
  if (text == "true" || text == "false") return SettingKind::boolean;
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (std::from_chars(text.data(), end, whole).ptr == end && std::to_string(whole) == text) {
    return SettingKind::whole_number;
  }
  // Only what is spelt as we spell numbers reads back as the same text.
  double number = 0.0;
  const bool parsed = std::from_chars(text.data(), end, number).ptr == end;
  const bool same = parsed && std::isfinite(number) && format_number(number) == text;
  return same ? SettingKind::number : SettingKind::word;
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts)
    json += (json.size() > 1 ? ", " : "") + json_quoted(text);
  return json + "]";
}

void write_json(WholeFile& file, const Archive& archive) {
  std::string_view before = "{\n  ";
  for (const auto& [name, text] : archive.settings) {
    file.write(before);
    const bool word = kind_of(text) == SettingKind::word;
    file.write(json_quoted(name) + ": " + (word ? json_quoted(text) : text));
    before = ",\n  ";
  }
  for (const auto& [name, texts] : archive.lists) {
    file.write(before);
    file.write(json_quoted(name) + ": " + json_list(texts));
    before = ",\n  ";
  }
  for (const Member& member : archive.members) {
    // Floats in a double's digits: JSON is read in double, and nothing may change.
    const auto tensor = read_tensor<double>(archive, member);
    const auto odd =
        std::ranges::find_if_not(tensor.values(), [](double v) { return std::isfinite(v); });
    if (odd != tensor.values().end()) {
      throw Error(where(archive, member) + " holds " + format_number(*odd) +
                  ", which JSON does not know; write .safetensors or .npz");
    }
    file.write(before);
    file.write(json_quoted(member.name) + ":\n  ");
    write_json_array(file, tensor);
    before = ",\n  ";
  }
  file.write(before.starts_with("{") ? "{}\n" : "\n}\n");
}

// A 0-d array.
void add_setting(ZipWriter& zip, const std::string& name, const std::string& text) {
  std::string header;
  std::string bytes;
  const auto put = [&bytes](auto value) {
    const auto raw = std::bit_cast<std::array<char, sizeof(value)>>(value);
    bytes.append(raw.data(), raw.size());
  };
  switch (kind_of(text)) {
    case SettingKind::boolean:
      header = npy_header(DType::boolean, {});
      put(text == "true");
      break;
    case SettingKind::whole_number:
      header = npy_header(DType::i64, {});
      put(std::int64_t{std::stoll(text)});
      break;
    case SettingKind::number:
      header = npy_header(DType::f64, {});
      put(std::stod(text));
      break;
    case SettingKind::word: add_npy_text(zip, name, text); return;
  }
  zip.add(name + ".npy", {std::as_bytes(std::span(header)), std::as_bytes(std::span(bytes))});
}

void write_npz(WholeFile& file, const Archive& archive) {
  ZipWriter zip(file);
  for (const auto& [name, text] : archive.settings) add_setting(zip, name, text);
  for (const auto& [name, texts] : archive.lists) add_npy_texts(zip, name, texts);
  for (const Member& member : archive.members) {
    with_tensor(archive, member, written_dtype(archive, member),
                [&](const auto& tensor) { add_npy(zip, member.name, tensor); });
  }
  zip.finish();
}

void write_safetensors(WholeFile& file, const Archive& archive) {
  struct Entry {
    const Member* member;
    DType dtype;
  };
  std::vector<Entry> entries;
  for (const Member& member : archive.members) {
    entries.push_back({&member, written_dtype(archive, member)});
  }
  // As the reference writer: so that each begins at a multiple of its size.
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(size_of(b.dtype), std::string_view(a.member->name)) <
           std::pair(size_of(a.dtype), std::string_view(b.member->name));
  });
  std::vector<SafetensorsEntry> header;
  for (const auto& [member, dtype] : entries) {
    header.push_back({member->name, dtype, member->shape});
  }
  std::map<std::string, std::string> metadata = archive.settings;
  for (const auto& [name, texts] : archive.lists) metadata[name] = json_list(texts);
  file.write(safetensors_header(header, metadata));
  for (const auto& [member, dtype] : entries) {
    with_tensor(archive, *member, dtype,
                [&](const auto& tensor) { file.write(std::as_bytes(tensor.values())); });
  }
}

}  // namespace

std::optional<ArchiveFormat> archive_format_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ArchiveFormat>, 4> kNames = {{
      {"json", ArchiveFormat::json},
      {"npz", ArchiveFormat::npz},
      {"safetensors", ArchiveFormat::safetensors},
      {"bin", ArchiveFormat::safetensors},
  }};
  for (const auto& [known, format] : kNames) {
    if (known == name) return format;
  }
  return std::nullopt;
}

ArchiveFormat archive_format_of_path(const std::string& path) {
  const std::string suffix = suffix_of(path);
  if (const auto format = archive_format_named(suffix)) return *format;
  throw Error(printable(path) + ": the suffix " +
              (suffix.empty() ? "is missing" : "." + printable(suffix) + " is unknown") +
              ", expected .json, .npz, .safetensors or .bin (or say --format)");
}

void write_archive(WholeFile& file, ArchiveFormat format, const Archive& archive) {
  switch (format) {
    case ArchiveFormat::json: write_json(file, archive); return;
    case ArchiveFormat::npz: write_npz(file, archive); return;
    case ArchiveFormat::safetensors: write_safetensors(file, archive); return;
  }
}

}  // namespace mha
