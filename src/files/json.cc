#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "files/content.h"
#include "files/json_events.h"
#include "files/names.h"

namespace mha {
namespace {

using Json = nlohmann::json;

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return printable(text.size() <= kMost ? text : text.substr(0, kMost) + "…");
}

// "line 3, column 17" of the byte at `offset`; columns count bytes from 1.
std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return "line " + std::to_string(lines + 1) + ", column " +
         std::to_string(offset - line_start + 1);
}

// The parser's events as ours, its errors as ours.
class Relay {
 public:
  Relay(std::string_view text, const std::string& where, JsonEvents& events)
      : text_(text), where_(where), events_(events) {}

  bool null() { return events_.null(), true; }
  bool boolean(bool value) { return events_.boolean(value), true; }
  bool number_integer(Json::number_integer_t value) { return integer(value, false); }
  bool number_unsigned(Json::number_unsigned_t value) {
    return integer(value, static_cast<double>(value) <= kExactIntegers);
  }
  bool number_float(Json::number_float_t value, const std::string& text) {
    return events_.number(value, false, text), true;
  }
  bool string(std::string& text) { return events_.string(text), true; }
  bool binary(Json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return events_.start_object(), true; }
  bool key(std::string& name) { return events_.key(name), true; }
  bool end_object() { return events_.end_object(), true; }
  bool start_array(std::size_t) { return events_.start_array(), true; }
  bool end_array() { return events_.end_array(), true; }

  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& error) {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      fail_at(position, "the number " + shortened(token) + " is too large for a double");
    }
    const std::size_t last =
        std::min(position - std::min<std::size_t>(position, 1), text_.size());
    if (last == text_.size()) fail_at(position, "the JSON ends too early");
    // "[json.exception…] parse error at line 1, column 5: syntax error while
    // parsing value - invalid literal; last read: '…'"
    std::string reason = error.what();
    if (const auto dash = reason.find(" - "); dash != reason.npos) reason.erase(0, dash + 3);
    reason.erase(std::min(reason.find("; last read"), reason.size()));
    // The word that the parser left at its first bad byte.
    const auto is_word = [&](std::size_t i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      return std::isalnum(c) || c == '-' || c == '+' || c == '.' || c == '_';
    };
    const bool left_word = reason.starts_with("invalid literal") ||
                           reason.starts_with("invalid number") || is_word(last);
    std::size_t begin = last;
    while (left_word && begin > 0 && is_word(begin - 1)) --begin;
    std::size_t end = begin;
    while (end < text_.size() && is_word(end)) ++end;
    const std::string word = shortened(std::string(text_.substr(begin, end - begin)));
    if (word.find("nan") != word.npos || word.find("NaN") != word.npos ||
        word.find("nf") != word.npos) {
      fail_at(begin + 1, word + " is no JSON number");
    }
    fail_at(begin + 1, "not JSON: " + printable(reason) + (word.empty() ? "" : " at " + word));
  }

 private:
  [[noreturn]] void fail_at(std::size_t position, const std::string& what) const {
    const std::size_t offset =
        std::min(position - std::min<std::size_t>(position, 1), text_.size());
    throw Error(where_ + ": " + line_and_column(text_, offset) + ": " + what);
  }
  template <typename Integer>
  bool integer(Integer value, bool natural) {
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    events_.number(static_cast<double>(value), natural, {text.data(), end});
    return true;
  }

  std::string_view text_;
  const std::string& where_;
  JsonEvents& events_;
};

}  // namespace

void read_json_events(std::string_view text, const std::string& where, JsonEvents& events) {
  text = without_byte_order_mark(text);
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw Error(where + ": empty, expected JSON");
  Relay relay(text, where, events);
  Json::sax_parse(text.begin(), text.end(), &relay);
}

std::string json_quoted(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mha
