#include "files/content.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>

#include "base/error.h"
#include "files/names.h"
#include "files/pickle.h"
#include "files/torch_file.h"

namespace mha {
namespace {

using namespace std::string_view_literals;

// Files that people give us by mistake, by how they begin.
struct Stranger {
  std::string_view start;
  const char* what;
};
constexpr std::array kStrangers = {
    Stranger{"version https://git-lfs",
             "a Git LFS pointer, not the file itself; fetch it with git lfs pull"},
    Stranger{"model_checkpoint_path:",
             "the list of TensorFlow's checkpoints, which are not read; save the tensors as "
             ".npz"},
    Stranger{"GGUF", "a GGUF model, which is not read; convert it to safetensors"},
    Stranger{"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras?), which is not read; save it as .npz"},
    Stranger{"\x1f\x8b", "packed by gzip; unpack it first"},
    Stranger{"BZh", "packed by bzip2; unpack it first"},
    Stranger{"\xfd"
             "7zXZ\0"sv,
             "packed by xz; unpack it first"},
    Stranger{"\x28\xb5\x2f\xfd", "packed by zstd; unpack it first"},
    Stranger{"\x89PNG", "a PNG picture"},
    Stranger{"%PDF-", "a PDF document"},
    Stranger{"\x7f"
             "ELF",
             "a program"},
};

// The same, after blanks and whatever the case.
constexpr std::array<std::string_view, 3> kMarkup = {"<!doctype", "<html", "<?xml"};

std::string_view skip_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start == text.npos ? "" : text.substr(start);
}

bool starts_with_word(std::string_view text, std::string_view lower_word) {
  if (text.size() < lower_word.size()) return false;
  return std::equal(lower_word.begin(), lower_word.end(), text.begin(),
                    [](char a, char b) { return a == lower(b); });
}

bool is_text_byte(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return (byte >= 0x20 && byte != 0x7F) || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

// Eight bytes of length, then '{'. A length that is wrong is a safetensors
// file that is wrong; one that could be eight letters is a text. Of a file cut
// short before the '{', a length below 2^32 is left: four bytes of zero.
bool is_safetensors(std::string_view bytes) {
  if (bytes.size() < 8) return false;
  const std::string_view length = bytes.substr(0, 8);
  if (bytes.size() == 8) return length.substr(4) == "\0\0\0\0"sv;
  return bytes[8] == '{' && !std::all_of(length.begin(), length.end(), is_text_byte);
}

// A list, not a token such as [CLS] that labels a line of text.
bool is_json(std::string_view text) {
  if (text.starts_with('{')) return true;
  if (!text.starts_with('[')) return false;
  text = skip_blanks(text.substr(1));
  for (const std::string_view word : {"true", "false", "null", "NaN", "Infinity"}) {
    if (text.starts_with(word)) return true;  // or meant to be, which its reader says better
  }
  return text.empty() || "[]{\"-0123456789"sv.find(text[0]) != std::string_view::npos;
}

// Protocols 2 and later begin with their number; those before it, which are
// text, as dicts, lists and classes do.
bool is_pickle(std::string_view bytes) {
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) return true;
  constexpr std::array<std::string_view, 6> kStarts = {"(dp0\n", "(lp0\n",         "}q\x01",
                                                       "]q\x01", "ccollections\n", "cnumpy."};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return bytes.starts_with(start); });
}

// "dict of numpy.core.multiarray._reconstruct", as far as it can be read.
std::string pickled_thing(std::string_view bytes) {
  try {
    const Pickle pickle =
        read_pickle(Bytes::share(nullptr, std::as_bytes(std::span(bytes))), "pickle");
    std::string thing = describe(pickle, pickle.root);
    const PickleValue& root = pickle[pickle.root];
    using Kind = PickleValue::Kind;
    const std::size_t value = root.kind == Kind::dict ? 1 : 0;
    const bool holds = root.kind == Kind::dict || root.kind == Kind::list;
    if (holds && root.items.size() > value) {
      thing += " of " + describe(pickle, root.items[value]);
    }
    return thing;
  } catch (const Error&) {
    return "thing";
  }
}

// "08 version 12 length producer": ModelProto's first two fields.
bool is_onnx(std::string_view bytes) {
  if (bytes.size() < 4 || bytes[0] != '\x08' || bytes[1] < 3 || bytes[1] > 20) return false;
  const auto length = static_cast<std::size_t>(bytes[3]);
  if (bytes[2] != '\x12' || length < 3 || length > 40) return false;
  const std::string_view producer = bytes.substr(4, length);
  return producer.size() == length && std::all_of(producer.begin(), producer.end(),
                                                  [](char c) { return c > ' ' && c <= '~'; });
}

// A map whose first key is a word, as flax.serialization writes it.
bool is_msgpack(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : std::uint8_t{0};
  };
  const std::size_t key = byte(0) > 0x80 && byte(0) <= 0x8F ? 1
                          : byte(0) == 0xDE                 ? 3
                          : byte(0) == 0xDF                 ? 5
                                                            : 0;
  const std::size_t length = byte(key) & 0x1Fu;
  if (key == 0 || (byte(key) & 0xE0u) != 0xA0 || length == 0) return false;
  const std::string_view word = bytes.substr(key + 1, length);
  return word.size() == length &&
         std::all_of(word.begin(), word.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// The last eight bytes of a table of LevelDB, which TensorFlow's index is.
bool is_tensorflow_index(std::string_view bytes) {
  return bytes.ends_with("\x57\xfb\x80\x8b\x24\x75\x47\xdb");
}

bool is_tar(std::string_view bytes) {
  return bytes.size() > 262 && bytes.substr(257).starts_with("ustar");
}

// What is told by more than how it begins; "" for none of these.
std::string stranger(std::string_view bytes) {
  if (is_pickle(bytes)) {
    return "a pickled " + pickled_thing(bytes) +
           " that torch.save did not write; nothing in a pickle is ever run; save its arrays "
           "by name with numpy.savez";
  }
  if (is_onnx(bytes)) return "an ONNX model, which is not read; save its tensors as .npz";
  if (is_msgpack(bytes)) {
    return "msgpack (Flax?), which is not read; save its arrays by name with numpy.savez";
  }
  if (is_tensorflow_index(bytes)) {
    return "the index of a TensorFlow checkpoint, which is not read; save its tensors as .npz";
  }
  if (is_tar(bytes)) return "a tar archive; unpack it first";
  return "";
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    std::array<char, 4> byte{};
    std::snprintf(byte.data(), byte.size(), "%02x ", static_cast<std::uint8_t>(c));
    text += byte.data();
  }
  text.pop_back();
  return text;
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

Content content_of(std::string_view bytes, const std::string& path) {
  if (bytes.empty()) throw Error(path + ": is empty");
  if (bytes.starts_with("\x93NUMPY")) return Content::npy;
  if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) return Content::zip;
  if (is_torch_legacy(bytes)) return Content::torch;
  if (is_safetensors(bytes)) return Content::safetensors;
  for (const Stranger& stranger : kStrangers) {
    if (bytes.starts_with(stranger.start)) throw Error(path + ": is " + stranger.what);
  }
  if (const std::string what = stranger(bytes); !what.empty()) {
    throw Error(path + ": is " + what);
  }
  const std::string_view text = skip_blanks(without_byte_order_mark(bytes));
  if (text.empty()) throw Error(path + ": holds nothing but blanks");
  for (const std::string_view word : kMarkup) {
    if (starts_with_word(text, word)) {
      throw Error(path +
                  ": is a web page or XML, not the file itself (a download that failed?)");
    }
  }
  if (is_json(text)) return Content::json;
  constexpr std::size_t kSample = 4096;
  const std::string_view sample = bytes.substr(0, kSample);
  if (std::all_of(sample.begin(), sample.end(), is_text_byte)) return Content::text;
  // They begin with anything.
  if (path.find(".ckpt.data-") != path.npos) {
    throw Error(path +
                ": is the data of a TensorFlow checkpoint, which is not read; save its "
                "tensors as .npz");
  }
  throw Error(
      path +
      ": is none of safetensors, PyTorch, .npz, .npy, JSON or text; it begins with bytes " +
      hex(bytes.substr(0, 8)));
}

}  // namespace mha
