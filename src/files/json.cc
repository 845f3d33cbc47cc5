#include "files/json.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/memory.h"
#include "files/content.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = JsonNode::Kind;
using Json = nlohmann::json;

constexpr std::size_t kMaxDepth = 16;
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

// Turns the parser's events into nodes.
class Builder {
 public:
  Builder(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  JsonNode take() { return std::move(root_); }

  bool null() { return scalar({}, "null"); }
  bool boolean(bool value) {
    JsonNode node;
    node.kind = Kind::boolean;
    node.text = value ? "true" : "false";
    node.number = value ? 1.0 : 0.0;
    return list_ ? cell(Kind::booleans, node.number, false, node.text)
                 : scalar(std::move(node), "a boolean");
  }
  bool number_integer(Json::number_integer_t value) {
    return number(static_cast<double>(value), false, [&] { return std::to_string(value); });
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    const auto number_value = static_cast<double>(value);
    return number(number_value, number_value <= kExactIntegers,
                  [&] { return std::to_string(value); });
  }
  bool number_float(Json::number_float_t value, const std::string& text) {
    return number(value, false, [&] { return text; });
  }
  bool string(std::string& text) {
    if (list_) return string_cell(text);
    JsonNode node;
    node.kind = Kind::string;
    node.text = std::move(text);
    return scalar(std::move(node), "a string");
  }
  bool binary(Json::binary_t&) { return false; }  // JSON text has none

  bool start_object(std::size_t) {
    if (list_) {
      if (list_->counts != Shape{0} || list_->rank != 0) {
        fail_cell("an object", expected_cell());
      }
      list_.reset();
      open(Kind::objects);
    }
    open(Kind::object);
    return true;
  }
  bool key(std::string& name) {
    Frame& frame = frames_.back();
    frame.key = name;
    if (!frame.seen.insert(name).second) fail(path() + " is given twice");
    return true;
  }
  bool end_object() {
    close();
    return true;
  }

  bool start_array(std::size_t) {
    require_depth();
    if (list_) {
      List& list = *list_;
      if (list.rank != 0 && list.counts.size() == list.rank)
        fail_cell("a list", expected_cell());
      list.counts.push_back(0);
    } else {
      require_place("a list");
      list_ = List{};
    }
    return true;
  }
  bool end_array() {
    if (!list_) {
      close();  // a list of objects
      return true;
    }
    end_level();
    return true;
  }

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
  // An object or a list of objects that is still open.
  struct Frame {
    JsonNode node;
    std::string key;  // of the value that comes next
    std::unordered_set<std::string> seen;
  };
  // A list of numbers, booleans or strings that is still open.
  struct List {
    JsonNode node;          // its kind is null until the first cell tells
    Shape counts{0};        // so far, at each open level
    std::size_t rank = 0;   // once known; at least 1
    std::vector<bool> set;  // whether the shape's axis is known
  };

  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& what) const {
    const std::size_t offset =
        std::min(position - std::min<std::size_t>(position, 1), text_.size());
    fail(line_and_column(text_, offset) + ": " + what);
  }

  // Where the next value goes: "heads[1].W_Q".
  std::string path() const {
    std::string name;
    for (const Frame& frame : frames_) {
      if (frame.node.kind == Kind::objects) {
        name += "[" + std::to_string(frame.node.children.size()) + "]";
      } else {
        name += (name.empty() ? "" : ".") + shortened(frame.key);
      }
    }
    return name;
  }
  // A place in the open list: the first `levels` of `index`.
  std::string cell_name(const Shape& index, std::size_t levels) const {
    std::string name = path();
    for (std::size_t level = 0; level < levels; ++level) {
      name += "[" + std::to_string(index[level]) + "]";
    }
    return name;
  }
  [[noreturn]] void fail_cell(const std::string& found, const std::string& expected) const {
    fail(cell_name(list_->counts, list_->counts.size()) + " is " + found + ", expected " +
         expected);
  }
  std::string expected_cell() const {
    switch (list_->node.kind) {
      case Kind::booleans: return "true or false like the cells before it";
      case Kind::strings: return "a string like those before it";
      case Kind::numbers: return "a number like the cells before it";
      default: return "a number";
    }
  }

  // Before one more level is opened.
  void require_depth() const {
    if (frames_.size() + (list_ ? list_->counts.size() : 0) < kMaxDepth) return;
    const std::string place = path();
    fail((place.empty() ? "" : place + " is ") + "nested more than " +
         std::to_string(kMaxDepth) + " levels deep");
  }
  // A list of objects holds nothing else.
  void require_place(const std::string& found) const {
    if (!frames_.empty() && frames_.back().node.kind == Kind::objects) {
      fail(path() + " is " + found + ", expected an object like those before it");
    }
  }

  void open(Kind kind) {
    require_depth();
    frames_.emplace_back().node.kind = kind;
  }
  void close() {
    JsonNode node = std::move(frames_.back().node);
    frames_.pop_back();
    put(std::move(node));
  }
  void put(JsonNode&& node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Kind::object) frame.node.keys.push_back(frame.key);
    frame.node.children.push_back(std::move(node));
  }

  bool scalar(JsonNode&& node, const std::string& found) {
    if (list_) fail_cell(found, expected_cell());
    require_place(found);
    put(std::move(node));
    return true;
  }
  template <typename Text>
  bool number(double value, bool natural, Text text) {
    if (list_) return cell(Kind::numbers, value, natural, "a number");
    JsonNode node;
    node.kind = Kind::number;
    node.number = value;
    node.natural = natural;
    node.text = text();
    return scalar(std::move(node), "a number");
  }

  // A number or boolean inside a list.
  bool cell(Kind kind, double value, bool natural, const std::string& found) {
    List& list = *list_;
    if (list.node.kind == Kind::null) {
      list.node.kind = kind;
      list.node.natural = kind == Kind::numbers;
    } else if (list.node.kind != kind) {
      fail_cell(found, expected_cell());
    }
    place_cell(found);
    list.node.natural = list.node.natural && natural;
    list.node.numbers.push_back(value);
    return true;
  }
  bool string_cell(std::string& text) {
    List& list = *list_;
    const bool first = list.node.kind == Kind::null && list.counts == Shape{0};
    if (list.node.kind != Kind::strings && !first) {
      fail_cell("\"" + shortened(text) + "\"", expected_cell());
    }
    list.node.kind = Kind::strings;
    place_cell("a string");
    list.node.strings.push_back(std::move(text));
    return true;
  }
  // The first cell tells how deep the list is.
  void place_cell(const std::string& found) {
    List& list = *list_;
    if (list.rank == 0) set_rank(list);
    if (list.counts.size() != list.rank) {
      fail_cell(found, "a list like " + cell_name(Shape(list.rank, 0), list.counts.size()));
    }
    ++list.counts.back();
  }
  static void set_rank(List& list) {
    list.rank = list.counts.size();
    list.node.shape.assign(list.rank, 0);
    list.set.assign(list.rank, false);
  }

  void end_level() {
    List& list = *list_;
    if (list.rank == 0) set_rank(list);  // [[]]
    const std::size_t level = list.counts.size() - 1;
    const std::size_t count = list.counts.back();
    if (level + 1 < list.rank && count == 0) {  // [[[1]], []]
      list.counts.pop_back();
      fail_cell("empty", "a list like " + cell_name(Shape(list.rank, 0), level));
    }
    if (list.set[level] && list.node.shape[level] != count) {
      const std::string things = level + 1 < list.rank ? " lists, " : " numbers, ";
      fail(cell_name(list.counts, level) + " has " + std::to_string(count) + things +
           cell_name(Shape(list.rank, 0), level) + " has " +
           std::to_string(list.node.shape[level]));
    }
    list.node.shape[level] = count;
    list.set[level] = true;
    list.counts.pop_back();
    if (!list.counts.empty()) {
      ++list.counts.back();
      return;
    }
    JsonNode node = std::move(list.node);
    if (node.kind == Kind::null) {  // no cells
      node.kind = Kind::numbers;
      node.natural = true;
    }
    list_.reset();
    put(std::move(node));
  }

  std::string_view text_;
  const std::string& where_;
  JsonNode root_;
  std::vector<Frame> frames_;
  std::optional<List> list_;
};

// An upper bound for what the nodes take, since a short text can name many.
void require_room(std::string_view text, const std::string& where) {
  std::size_t numbers = 0;
  std::size_t nodes = 1;
  for (const char c : text) {
    numbers += c == ',';
    nodes += c == ':' || c == '{';
  }
  // A growing vector holds its old and its new half at once.
  require_memory(3 * sizeof(double) * numbers + 2 * sizeof(JsonNode) * nodes,
                 where + ": reading JSON of " + format_bytes(text.size()));
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr
                             : &children[static_cast<std::size_t>(found - keys.begin())];
}

std::optional<Shape> JsonNode::naturals() const {
  if (kind != Kind::numbers || !natural || shape.size() != 1) return std::nullopt;
  return Shape(numbers.begin(), numbers.end());
}

JsonNode parse_json(const Bytes& bytes, const std::string& where) {
  const std::string_view text = without_byte_order_mark(bytes.text());
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw Error(where + ": empty, expected JSON");
  require_room(text, where);
  Builder builder(text, where);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace mha
