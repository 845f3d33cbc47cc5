#include "files/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/memory.h"
#include "files/content.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

enum class Delimiter { comma, tab, blanks };

bool is_blank(char c) { return kBlanks.find(c) != kBlanks.npos; }

bool begins_as_word(std::string_view cell) {
  if (cell.empty()) return false;
  const char c = lower(cell[0]);
  return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// A line less its comment: `#` outside quotes begins one.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

// Walks over the lines that say something.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // The next line with cells in it; false at the end.
  bool next() {
    after_blank_ = false;
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view whole = trimmed(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      cells_ = trimmed(without_comment(whole));
      if (!cells_.empty()) return true;
      if (whole.empty()) after_blank_ = true;
    }
    return false;
  }

  std::string_view cells() const { return cells_; }
  std::size_t number() const { return number_; }  // from 1
  // Whether a blank line, and not only comments, came before.
  bool after_blank() const { return after_blank_; }

 private:
  std::string_view rest_;
  std::string_view cells_;
  std::size_t number_ = 0;
  bool after_blank_ = false;
};

// Where the quoted cell that opens at `begin` closes, or npos: a quote that is
// followed by no quote.
std::size_t closing_quote(std::string_view line, std::size_t begin) {
  for (std::size_t i = begin + 1; i < line.size(); ++i) {
    if (line[i] != '"') continue;
    if (i + 1 == line.size() || line[i + 1] != '"') return i;
    ++i;
  }
  return line.npos;
}

// The cells of a line, without the quotes around them (doubled quotes inside
// stay doubled).
void split(std::string_view line, Delimiter delimiter, std::vector<std::string_view>& cells) {
  cells.clear();
  const auto ends_cell = [&](char c) {
    switch (delimiter) {
      case Delimiter::comma: return c == ',';
      case Delimiter::tab: return c == '\t';
      default: return is_blank(c);
    }
  };
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at]) &&
           !(delimiter == Delimiter::tab && line[at] == '\t')) {
      ++at;
    }
    std::size_t end = at;
    bool quoted = false;
    if (at < line.size() && line[at] == '"') {
      const std::size_t close = closing_quote(line, at);
      if (close != line.npos) {
        end = close + 1;
        while (end < line.size() && is_blank(line[end]) && !ends_cell(line[end])) ++end;
        quoted = end == line.size() || ends_cell(line[end]);
        if (quoted) cells.push_back(trimmed(line.substr(at + 1, close - at - 1)));
      }
    }
    if (!quoted) {
      end = at;
      while (end < line.size() && !ends_cell(line[end])) ++end;
      cells.push_back(trimmed(line.substr(at, end - at)));
    }
    if (end == line.size()) return;
    at = end + 1;
  }
}

bool is_number(std::string_view cell) {
  double value = 0.0;
  return parse_number(cell, value).ec != std::errc::invalid_argument;
}

// Whether a first cell is no label but numbers that another delimiter splits:
// "1," or "1 2".
bool is_unsplit(std::string_view cell) {
  if (cell.size() > 1 && cell.ends_with(',')) return true;
  std::vector<std::string_view> words;
  split(cell, Delimiter::blanks, words);
  return words.size() > 1 && std::all_of(words.begin(), words.end(), is_number);
}

// Whether a line, so split, is a row: a label or a number, then numbers.
bool is_row(const std::vector<std::string_view>& cells) {
  return cells.size() > 1 && !is_unsplit(cells[0]) &&
         std::all_of(cells.begin() + 1, cells.end(), is_number);
}

// By what the first two lines are rows; the first may be a header, and a label
// may be a comma.
Delimiter find_delimiter(std::string_view text) {
  std::vector<std::string_view> cells;
  for (const Delimiter candidate : {Delimiter::comma, Delimiter::tab, Delimiter::blanks}) {
    Lines lines(text);
    for (int i = 0; i < 2 && lines.next(); ++i) {
      split(lines.cells(), candidate, cells);
      if (is_row(cells)) return candidate;
    }
  }
  Lines lines(text);
  lines.next();
  return lines.cells().find(',') != std::string_view::npos ? Delimiter::comma
                                                           : Delimiter::blanks;
}

// What a first look over the file tells.
struct Layout {
  Delimiter delimiter = Delimiter::blanks;
  std::size_t header_cells = 0;  // 0: no header
  bool labels = false;
  std::size_t rows = 0;
};

// Whether a first line names columns: no cell of it is a number, or its corner
// is empty and it counts the columns, as pandas writes them.
bool is_header(const std::vector<std::string_view>& cells) {
  if (std::none_of(cells.begin(), cells.end(), is_number)) return true;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i] != std::to_string(i - 1)) return false;
  }
  return cells[0].empty();
}

Layout layout_of(std::string_view text) {
  Layout layout;
  layout.delimiter = find_delimiter(text);
  std::vector<std::string_view> cells;
  std::size_t names = 0;  // rows that begin with no number
  Lines lines(text);
  for (bool first = true; lines.next(); first = false) {
    split(lines.cells(), layout.delimiter, cells);
    if (first && is_header(cells)) {
      Lines peek = lines;
      std::vector<std::string_view> second;
      if (peek.next()) split(peek.cells(), layout.delimiter, second);
      if (std::any_of(second.begin(), second.end(), is_number)) {
        layout.header_cells = cells.size();
        layout.labels = cells[0].empty();  // the first column has no name: an index
        continue;
      }
    }
    ++layout.rows;
    names += !is_number(cells.front());
  }
  layout.labels = layout.labels || 2 * names > layout.rows;
  return layout;
}

std::string label_of(std::string_view cell) {
  std::string label;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    label += cell[i];
    if (cell[i] == '"' && i + 1 < cell.size() && cell[i + 1] == '"') ++i;
  }
  return label;
}

// Gathers the rows of a file and holds them against each other.
class Table {
 public:
  Table(const std::string& path, const Layout& layout) : path_(path), layout_(layout) {}

  void add_row(const Lines& line, const std::vector<std::string_view>& cells) {
    const std::size_t first = layout_.labels ? 1 : 0;
    if (layout_.labels) labels_.push_back(label_of(cells[0]));
    for (std::size_t i = first; i < cells.size(); ++i) add_cell(line.number(), i, cells[i]);
    const std::size_t width = cells.size() - first;
    if (block_rows_.empty()) {
      start(line.number(), width, cells.size());
    } else if (width != width_) {
      fail("line " + std::to_string(line.number()) + " has " + count_of(width) + ", line " +
           std::to_string(block_lines_[0]) + " has " + std::to_string(width_));
    } else if (line.after_blank()) {
      start_block(line.number());
    }
    ++block_rows_.back();
  }

  Archive archive() && {
    if (block_rows_.empty()) fail("no rows of numbers");
    for (std::size_t b = 1; b < block_rows_.size(); ++b) {
      if (block_rows_[b] != block_rows_[0]) {
        fail("the sequence at line " + std::to_string(block_lines_[b]) + " has " +
             std::to_string(block_rows_[b]) + " rows, the one at line " +
             std::to_string(block_lines_[0]) + " has " + std::to_string(block_rows_[0]) +
             " (a blank line begins a new sequence)");
      }
    }
    Member member;
    member.dtype = DType::f64;
    member.dtype_name = "number";
    if (block_rows_.size() > 1) member.shape.push_back(block_rows_.size());
    member.shape.insert(member.shape.end(), {block_rows_[0], width_});
    const auto numbers = std::make_shared<const std::vector<double>>(std::move(numbers_));
    const Bytes bytes = Bytes::share(numbers, std::as_bytes(std::span(*numbers)));
    member.fetch = [bytes] { return bytes; };

    Archive archive;
    archive.path = path_;
    archive.container = "text";
    archive.members.push_back(std::move(member));
    if (layout_.labels) archive.lists["tokens"] = std::move(labels_);
    return archive;
  }

  void reserve(std::size_t count) { numbers_.reserve(count); }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(path_ + ": " + what); }

  static std::string count_of(std::size_t numbers) {
    return std::to_string(numbers) + (numbers == 1 ? " number" : " numbers");
  }

  void add_cell(std::size_t line, std::size_t index, std::string_view cell) {
    double value = 0.0;
    const auto result = parse_number(cell, value);
    if (result.ec == std::errc()) {
      numbers_.push_back(value);
      return;
    }
    constexpr std::size_t kMost = 40;
    const std::string shown = cell.empty() ? "an empty cell"
                                           : "\"" + printable(cell.substr(0, kMost)) +
                                                 (cell.size() > kMost ? "…\"" : "\"");
    fail("line " + std::to_string(line) + ", column " + std::to_string(index + 1) + ": " +
         shown +
         (result.ec == std::errc::result_out_of_range ? " is beyond what a double holds"
                                                      : " is no number") +
         (numbers_.empty() && begins_as_word(cell)
              ? "; a line holds the numbers of one token, not words"
              : ""));
  }

  void start(std::size_t line, std::size_t width, std::size_t cells) {
    if (width == 0) fail("line " + std::to_string(line) + " has a label and no numbers");
    if (layout_.header_cells != 0 && layout_.header_cells != cells &&
        layout_.header_cells != width) {
      fail("the header has " + std::to_string(layout_.header_cells) + " names, line " +
           std::to_string(line) + " has " + count_of(width));
    }
    width_ = width;
    start_block(line);
  }
  void start_block(std::size_t line) {
    block_lines_.push_back(line);
    block_rows_.push_back(0);
  }

  const std::string& path_;
  const Layout& layout_;
  std::vector<double> numbers_;
  std::vector<std::string> labels_;
  std::size_t width_ = 0;
  std::vector<std::size_t> block_lines_;  // where each sequence begins
  std::vector<std::size_t> block_rows_;
};

}  // namespace

std::from_chars_result parse_number(std::string_view cell, double& value) {
  // from_chars takes no plus sign.
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  const char* const end = cell.data() + cell.size();
  auto result = std::from_chars(cell.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too small is 0, or the least number above it, as everywhere else.
    long double wide = 1;
    const bool read = std::from_chars(cell.data(), end, wide).ec == std::errc();
    if (read && std::abs(wide) < 1) {
      value = static_cast<double>(wide);
      result.ec = std::errc();
    }
  }
  if (result.ec == std::errc() && result.ptr != end) result.ec = std::errc::invalid_argument;
  return result;
}

Archive open_text(const Bytes& bytes, const std::string& path) {
  const std::string_view text = without_byte_order_mark(bytes.text());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw Error(path + ": UTF-16 text, expected UTF-8");
  }
  const Layout layout = layout_of(text);

  Table table(path, layout);
  std::vector<std::string_view> cells;
  Lines lines(text);
  if (layout.header_cells != 0) lines.next();
  bool first = true;
  while (lines.next()) {
    split(lines.cells(), layout.delimiter, cells);
    if (first) {
      // All rows like the first, but never more than two bytes a number allow.
      const std::size_t most = text.size() / 2 + 1;
      const std::size_t count =
          std::min(checked_multiply(layout.rows, cells.size()).value_or(most), most);
      require_memory(count * sizeof(double), path);
      table.reserve(count);
    }
    table.add_row(lines, cells);
    first = false;
  }
  return std::move(table).archive();
}

}  // namespace mha
