#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/error.h"
#include "base/memory.h"
#include "files/json.h"
#include "files/json_events.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = JsonNode::Kind;

constexpr std::size_t kMaxDepth = 16;

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return printable(text.size() <= kMost ? text : text.substr(0, kMost) + "…");
}

// Turns the parser's events into nodes.
class Builder : public JsonEvents {
 public:
  explicit Builder(const std::string& where) : where_(where) {}

  JsonNode take() { return std::move(root_); }

  void null() override { scalar({}, "null"); }
  void boolean(bool value) override {
    JsonNode node;
    node.kind = Kind::boolean;
    node.text = value ? "true" : "false";
    node.number = value ? 1.0 : 0.0;
    if (list_) {
      cell(Kind::booleans, node.number, false, node.text);
    } else {
      scalar(std::move(node), "a boolean");
    }
  }
  void number(double value, bool natural, std::string_view text) override {
    if (list_) return cell(Kind::numbers, value, natural, "a number");
    JsonNode node;
    node.kind = Kind::number;
    node.number = value;
    node.natural = natural;
    node.text = text;
    scalar(std::move(node), "a number");
  }
  void string(std::string& text) override {
    if (list_) return string_cell(text);
    JsonNode node;
    node.kind = Kind::string;
    node.text = std::move(text);
    scalar(std::move(node), "a string");
  }

  void start_object() override {
    if (list_) {
      if (list_->counts != Shape{0} || list_->rank != 0) {
        fail_cell("an object", expected_cell());
      }
      list_.reset();
      open(Kind::objects);
    }
    open(Kind::object);
  }
  void key(std::string& name) override {
    Frame& frame = frames_.back();
    frame.key = name;
    if (!frame.seen.insert(name).second) fail(path() + " is given twice");
  }
  void end_object() override { close(); }

  void start_array() override {
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
  }
  void end_array() override {
    if (list_) {
      end_level();
    } else {
      close();  // a list of objects
    }
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

  void scalar(JsonNode&& node, const std::string& found) {
    if (list_) fail_cell(found, expected_cell());
    require_place(found);
    put(std::move(node));
  }

  // A number or boolean inside a list.
  void cell(Kind kind, double value, bool natural, const std::string& found) {
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
  }
  void string_cell(std::string& text) {
    List& list = *list_;
    const bool first = list.node.kind == Kind::null && list.counts == Shape{0};
    if (list.node.kind != Kind::strings && !first) {
      fail_cell("\"" + shortened(text) + "\"", expected_cell());
    }
    list.node.kind = Kind::strings;
    place_cell("a string");
    list.node.strings.push_back(std::move(text));
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
  require_room(bytes.text(), where);
  Builder builder(where);
  read_json_events(bytes.text(), where, builder);
  return builder.take();
}

}  // namespace mha
