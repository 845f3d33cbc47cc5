#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/json.h"
#include "files/json_events.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::size_t kMaxDepth = 64;
// Keys repeat those of the objects around them, so that a short text can make
// much of itself.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// A string as JSON spells it.
std::string quoted(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      json += "\\u00";
      json += {kHex[byte >> 4], kHex[byte & 15]};
      continue;
    }
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + '"';
}

class Flattener : public JsonEvents {
 public:
  explicit Flattener(const std::string& where) : where_(where) {}

  std::vector<ConfigEntry> take() { return std::move(entries_); }

  void null() override { scalar(Kind::null, "null"); }
  void boolean(bool value) override { scalar(Kind::boolean, value ? "true" : "false"); }
  void number(double, bool, std::string_view text) override {
    scalar(Kind::number, std::string(text));
  }
  void string(std::string& text) override { scalar(Kind::string, std::move(text)); }

  void start_object() override {
    require_depth();
    if (in_list()) return open_in_list('{');
    Object object;
    object.prefix = objects_.empty() ? "" : key_of_next() + ".";
    objects_.push_back(std::move(object));
  }
  void key(std::string& name) override {
    if (in_list()) {
      next_in_list();
      list_ += quoted(name) + ": ";
      nested_.back().after_key = true;
      return;
    }
    Object& object = objects_.back();
    if (!object.seen.insert(name).second) {
      throw Error(where_ + ": " + printable(object.prefix + name) + " is given twice");
    }
    object.key = std::move(name);
  }
  void end_object() override {
    if (in_list()) return close_in_list('}');
    const bool empty = objects_.back().seen.empty();
    objects_.pop_back();
    if (empty && !objects_.empty()) add(Kind::object, "{}");
  }
  void start_array() override {
    if (objects_.empty()) refuse("a list");
    require_depth();
    open_in_list('[');
  }
  void end_array() override {
    close_in_list(']');
    if (in_list()) return;
    add(Kind::list, std::exchange(list_, {}));
    entries_.back().items = std::exchange(items_, {});
  }

 private:
  using Kind = ConfigEntry::Kind;
  // An object that is still open and stands in no list.
  struct Object {
    std::string prefix;  // of its keys: "rope_scaling."
    std::string key;     // of the value that comes next
    std::unordered_set<std::string> seen;
  };
  // A list that is still open, or what is open within it.
  struct Nested {
    std::size_t begin;  // in list_
    bool empty = true;
    bool after_key = false;
  };

  bool in_list() const { return !nested_.empty(); }
  std::string key_of_next() const { return objects_.back().prefix + objects_.back().key; }
  [[noreturn]] void refuse(const std::string& found) const {
    throw Error(where_ + ": is " + found + ", expected an object of settings");
  }
  void require_depth() const {
    if (objects_.size() + nested_.size() < kMaxDepth) return;
    throw Error(where_ + ": " + printable(objects_.front().key) + " is nested more than " +
                std::to_string(kMaxDepth) + " levels deep");
  }

  void scalar(Kind kind, std::string text) {
    if (in_list()) {
      next_in_list();
      list_ += kind == Kind::string ? quoted(text) : text;
      if (nested_.size() == 1) items_.push_back(std::move(text));
      return;
    }
    if (objects_.empty()) refuse(kind == Kind::string ? "a string" : text);
    add(kind, std::move(text));
  }
  void add(Kind kind, std::string value) {
    ConfigEntry entry{key_of_next(), std::move(value), kind, {}};
    bytes_ += sizeof(ConfigEntry) + entry.key.size() + entry.value.size();
    if (bytes_ > kMostBytes) {
      throw Error(where_ + ": has more than " + format_bytes(kMostBytes) +
                  " of settings, which is no model's config");
    }
    entries_.push_back(std::move(entry));
  }

  void next_in_list() {
    Nested& nested = nested_.back();
    if (!nested.empty && !nested.after_key) list_ += ", ";
    nested.empty = false;
    nested.after_key = false;
  }
  void open_in_list(char bracket) {
    if (in_list()) next_in_list();
    nested_.push_back({list_.size()});
    list_ += bracket;
  }
  void close_in_list(char bracket) {
    list_ += bracket;
    const std::size_t begin = nested_.back().begin;
    nested_.pop_back();
    if (nested_.size() == 1) items_.push_back(list_.substr(begin));
  }

  const std::string& where_;
  std::vector<ConfigEntry> entries_;
  std::size_t bytes_ = 0;
  std::vector<Object> objects_;
  std::vector<Nested> nested_;
  std::string list_;                // its text so far
  std::vector<std::string> items_;  // of it
};

}  // namespace

std::vector<ConfigEntry> parse_config(const Bytes& bytes, const std::string& where) {
  Flattener flattener(where);
  read_json_events(bytes.text(), where, flattener);
  return flattener.take();
}

}  // namespace mha
