#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "files/utf8.h"
#include "input/word_vectors.h"
#include "input/wordpiece.h"

namespace {

// The first byte is the settings, then come a vocabulary, a word a line, and behind a NUL
// the text.
void split(std::string_view bytes) {
  if (bytes.empty()) return;
  mha::TextSettings settings;
  settings.lower_case = (bytes[0] & 1) != 0;
  settings.strip_accents = (bytes[0] & 2) != 0;
  settings.split_chinese = (bytes[0] & 4) != 0;
  bytes.remove_prefix(1);
  const std::size_t end = bytes.find('\0');
  std::vector<std::string> vocabulary = {""};
  for (const char c : bytes.substr(0, end)) {
    if (c == '\n') {
      vocabulary.emplace_back();
    } else {
      vocabulary.back() += c;
    }
  }
  settings.end = vocabulary.back();
  const std::string_view text = end == bytes.npos ? bytes : bytes.substr(end);
  const mha::WordPiece splitter(vocabulary, settings);
  for (const mha::Piece& piece : splitter.split(text)) {
    const bool known = piece.number != mha::Piece::kNone;
    if (known && piece.number >= vocabulary.size()) __builtin_trap();
    if (known && vocabulary[piece.number] != piece.text) __builtin_trap();
    if (!known && (piece.unknown != piece.text || !mha::is_utf8(piece.text))) __builtin_trap();
  }
}

}  // namespace

// Any bytes are word vectors or an Error, and any text splits into pieces of any vocabulary.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  split(bytes);
  static const int file = ::memfd_create("words", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    return 0;
  }
  try {
    const auto vectors =
        mha::read_word_vectors<float>(path, {"the", "a"}, {2, "d_model"}, false);
    for (const auto& [word, numbers] : vectors) {
      if (numbers.size() != 2 || (word != "the" && word != "a")) __builtin_trap();
    }
  } catch (const mha::Error&) {
  }
  return 0;
}
