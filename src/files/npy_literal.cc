#include "files/npy_literal.h"

#include <charconv>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::size_t kMostAxes = 64;  // numpy 2 allows as many

class Parser {
 public:
  Parser(std::string_view text, std::size_t offset, const std::string& where)
      : text_(text), offset_(offset), where_(where) {}

  NpyLiteral parse() {
    NpyLiteral literal;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::size_t start = skip_blanks();
      const std::string key = parse_string("a key");
      expect(':');
      if (key == "descr") {
        once(has_descr, key, start);
        parse_descr(literal);
      } else if (key == "fortran_order") {
        once(has_order, key, start);
        literal.fortran_order = parse_bool();
      } else if (key == "shape") {
        once(has_shape, key, start);
        literal.shape = parse_shape();
      } else {
        throw Error(place(start) + "unknown key '" + printable(key) +
                    "', expected descr, fortran_order and shape");
      }
      if (!accept(',') && peek() != '}') fail("',' or '}'");
    }
    if (skip_blanks() != text_.size()) fail("nothing after '}'");
    for (const auto& [has, key] :
         {std::pair{has_descr, "descr"}, {has_order, "fortran_order"}, {has_shape, "shape"}}) {
      if (!has) throw Error(where_ + ": the header has no key '" + key + "'");
    }
    return literal;
  }

 private:
  std::string place(std::size_t position) const {
    return where_ + ": header, byte " + std::to_string(offset_ + position) + ": ";
  }

  [[noreturn]] void fail(const std::string& expected) const {
    const std::string found = position_ < text_.size()
                                  ? "'" + printable(text_.substr(position_, 1)) + "'"
                                  : "the end";
    throw Error(place(position_) + "expected " + expected + ", found " + found);
  }

  void once(bool& seen, const std::string& key, std::size_t position) const {
    if (seen) throw Error(place(position) + "key '" + key + "' stands there twice");
    seen = true;
  }

  // The next character, '\0' at the end.
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  std::size_t skip_blanks() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n\f").find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
    return position_;
  }

  bool accept(char c) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }

  bool accept_word(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  // Names of dtypes and keys hold no quotes; a backslash only keeps the
  // character behind it from ending the string.
  std::string parse_string(const std::string& what) {
    skip_blanks();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(what + " in quotes");
    const std::size_t begin = ++position_;
    while (position_ < text_.size() && text_[position_] != quote) {
      position_ += text_[position_] == '\\' ? 2 : 1;
    }
    if (position_ >= text_.size()) {
      throw Error(place(begin - 1) + "this quote is never closed");
    }
    return std::string(text_.substr(begin, position_++ - begin));
  }

  bool parse_bool() {
    skip_blanks();
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("True or False");
  }

  void parse_descr(NpyLiteral& literal) {
    skip_blanks();
    literal.structured = peek() == '[' || peek() == '(';
    literal.descr = literal.structured ? skip_brackets() : parse_string("a dtype");
  }

  // A list of fields as it is written.
  std::string skip_brackets() {
    const std::size_t begin = position_;
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (position_ == text_.size()) fail("']' of descr");
      if (c == '\'' || c == '"') {
        parse_string("a field");
        continue;
      }
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      ++position_;
    } while (depth > 0);
    return std::string(text_.substr(begin, position_ - begin));
  }

  Shape parse_shape() {
    Shape shape;
    skip_blanks();
    if (peek() != '(') fail("a tuple as shape");
    ++position_;
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("',' or ')'");
      if (shape.size() == kMostAxes) {
        throw Error(place(position_) + "a shape of more than " + std::to_string(kMostAxes) +
                    " axes");
      }
      shape.push_back(parse_axis());
      comma = accept(',');
    }
    if (shape.size() == 1 && !comma) {
      throw Error(place(position_ - 1) + "(" + std::to_string(shape[0]) +
                  ") is a number, a shape of one axis is (" + std::to_string(shape[0]) + ",)");
    }
    return shape;
  }

  std::size_t parse_axis() {
    skip_blanks();
    const char* begin = text_.data() + position_;
    std::size_t axis = 0;
    const auto [end, failure] = std::from_chars(begin, text_.data() + text_.size(), axis);
    if (failure == std::errc::result_out_of_range) fail("an axis below 2^64");
    if (failure != std::errc()) fail("an axis that is a whole number, not negative");
    position_ += static_cast<std::size_t>(end - begin);
    if (peek() == 'L') ++position_;  // Python 2 wrote its long integers so
    return axis;
  }

  std::string_view text_;
  std::size_t offset_;
  const std::string& where_;
  std::size_t position_ = 0;
};

}  // namespace

NpyLiteral parse_npy_literal(std::string_view text, std::size_t offset,
                             const std::string& where) {
  return Parser(text, offset, where).parse();
}

}  // namespace mha
