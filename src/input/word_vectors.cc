#include "input/word_vectors.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "files/names.h"
#include "files/text.h"

namespace mha {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kShown = 40;  // bytes of a word in a message
// Of a width that nobody has.
constexpr std::size_t kLongestLine = std::size_t{4} << 20;

// The lines of a file, one at a time.
class Lines {
 public:
  explicit Lines(const std::string& path)
      : path_(path), file_(path == "-" ? stdin : std::fopen(path.c_str(), "re")) {
    if (!file_) fail("open");
  }

  // The next line with something on it, without blanks around it; valid until the
  // one after it.
  std::optional<std::string_view> next() {
    while (true) {
      std::size_t end = buffer_.find('\n', begin_);
      if (end == buffer_.npos && !ended_) {
        read_on();
        continue;
      }
      end = std::min(end, buffer_.size());
      if (end == begin_ && ended_ && begin_ == buffer_.size()) return std::nullopt;
      std::string_view line(buffer_.data() + begin_, end - begin_);
      begin_ = std::min(end + 1, buffer_.size());
      if (number_ == 0 && line.starts_with(kByteOrderMark)) {
        line.remove_prefix(kByteOrderMark.size());
      }
      ++number_;
      const std::size_t first = line.find_first_not_of(kBlanks);
      if (first == line.npos) continue;
      return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
    }
  }

  // "glove.txt: line 7"
  std::string place() const {
    return source_name(path_) + ": line " + std::to_string(number_);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };

  [[noreturn]] void fail(const char* what) const {
    throw Error(source_name(path_) + ": cannot " + what + ": " + std::strerror(errno),
                Fault::system);
  }

  void read_on() {
    constexpr std::size_t kBlock = std::size_t{1} << 16;
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t held = buffer_.size();
    if (held > kLongestLine) {
      ++number_;
      throw Error(place() + " has more than " + std::to_string(kLongestLine) +
                  " bytes, expected a word and its numbers");
    }
    buffer_.resize(held + kBlock);
    const std::size_t count = std::fread(buffer_.data() + held, 1, kBlock, file_.get());
    if (std::ferror(file_.get()) != 0) fail("read");
    buffer_.resize(held + count);
    ended_ = count == 0;
  }

  const std::string& path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the next line
  bool ended_ = false;
  std::size_t number_ = 0;
};

std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks, end), line.size()));
  return word;
}

std::size_t count_words(std::string_view line) {
  std::size_t count = 0;
  bool within = false;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    count += !blank && !within ? 1 : 0;
    within = !blank;
  }
  return count;
}

// Whether one of the first `count` cells is no number.
bool has_word(std::string_view cells, std::size_t count) {
  for (; count > 0; --count) {
    double value = 0.0;
    if (parse_number(take_word(cells), value).ec == std::errc::invalid_argument) return true;
  }
  return false;
}

// "400000 300"
std::optional<std::size_t> width_in_counts(std::string_view line) {
  std::size_t value = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string_view word = take_word(line);
    const char* const end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    if (word.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  }
  return line.empty() ? std::optional(value) : std::nullopt;
}

template <typename T>
std::vector<T> numbers_of(std::string_view line, std::string_view word, const Lines& lines,
                          bool allow_nonfinite) {
  std::vector<T> numbers;
  while (!line.empty()) {
    const std::string_view cell = take_word(line);
    double value = 0.0;
    if (parse_number(cell, value).ec != std::errc()) {
      throw Error(lines.place() + ": " + printable(cell.substr(0, kShown)) + " of " +
                  printable(word) + " is no number");
    }
    numbers.push_back(static_cast<T>(value));
    if (!allow_nonfinite && !std::isfinite(numbers.back())) {
      throw Error(lines.place() + ": " + printable(cell.substr(0, kShown)) + " of " +
                  printable(word) + " is not finite; --allow-nonfinite lets it through");
    }
  }
  return numbers;
}

}  // namespace

template <typename T>
WordVectors<T> read_word_vectors(const std::string& path,
                                 const std::vector<std::string>& words, const Width& width,
                                 bool allow_nonfinite) {
  const std::set<std::string_view> wanted(words.begin(), words.end());
  WordVectors<T> vectors;
  Lines lines(path);
  const auto require = [&](std::size_t count, const std::string& what) {
    if (count == width.numbers) return;
    throw Error(lines.place() + ": " + what + " " + std::to_string(count) +
                " numbers, expected " + std::to_string(width.numbers) + " (" + width.source +
                ")");
  };
  bool any = false;
  for (auto line = lines.next(); line; line = lines.next()) {
    if (!any) {
      any = true;
      if (const auto said = width_in_counts(*line)) {
        require(*said, "the words have");
        continue;
      }
    }
    std::string_view rest = *line;
    const std::string_view word = take_word(rest);
    const std::size_t count = count_words(rest);
    // Words with blanks in them, of which glove.840B has some, are in no text that is split
    // there.
    if (count > width.numbers && has_word(rest, count - width.numbers)) continue;
    require(count, printable(word.substr(0, kShown)) + " has");
    if (!wanted.contains(word) || vectors.contains(std::string(word))) continue;
    vectors.emplace(word, numbers_of<T>(rest, word, lines, allow_nonfinite));
  }
  if (!any) throw Error(source_name(path) + ": holds no vectors of words");
  return vectors;
}

template WordVectors<float> read_word_vectors(const std::string&,
                                              const std::vector<std::string>&, const Width&,
                                              bool);
template WordVectors<double> read_word_vectors(const std::string&,
                                               const std::vector<std::string>&, const Width&,
                                               bool);

}  // namespace mha
