#include "files/pickle.h"

#include <array>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = PickleValue::Kind;
using Index = std::uint32_t;

constexpr std::size_t kMostValues = std::size_t{1} << 21;  // on the stack too
constexpr unsigned kLastProtocol = 5;

class Machine {
 public:
  Machine(const Bytes& bytes, const std::string& where, std::size_t begin)
      : text_(bytes.text()), where_(where), at_(begin) {
    pickle_.bytes = bytes;
    pickle_.begin = begin;
    pickle_.values.emplace_back();  // None
  }

  Pickle run() {
    do {
      opcode_at_ = at_;
      opcode_ = take(1)[0];
    } while (step());
    pickle_.root = pop();
    pickle_.end = at_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(where_ + ", byte " + std::to_string(opcode_at_) + ": " + what);
  }

  // False at the end of the pickle.
  bool step() {
    switch (opcode_) {
      case '\x80': start(); break;
      case '\x95': require_frame(little(8)); break;
      case '.': return false;

      case 'N': push(0); break;
      case '\x88': push_number(Kind::boolean, 1); break;
      case '\x89': push_number(Kind::boolean, 0); break;
      case 'K': push_number(Kind::integer, static_cast<std::int64_t>(little(1))); break;
      case 'M': push_number(Kind::integer, static_cast<std::int64_t>(little(2))); break;
      case 'J': push_number(Kind::integer, static_cast<std::int32_t>(little(4))); break;
      case '\x8a': push_long(little(1)); break;
      case '\x8b': push_long(little(4)); break;
      case 'G': take(8), push_new(Kind::real); break;

      case 'X': push_text(Kind::text, little(4)); break;
      case '\x8c': push_text(Kind::text, little(1)); break;
      case '\x8d': push_text(Kind::text, little(8)); break;
      case 'U': push_text(Kind::text, little(1)); break;  // str of Python 2
      case 'T': push_text(Kind::text, little(4)); break;
      case 'C': push_text(Kind::bytes, little(1)); break;
      case 'B': push_text(Kind::bytes, little(4)); break;
      case '\x8e':
      case '\x96': push_text(Kind::bytes, little(8)); break;

      case ')': push_new(Kind::tuple); break;
      case '\x85': gather(Kind::tuple, 1); break;
      case '\x86': gather(Kind::tuple, 2); break;
      case '\x87': gather(Kind::tuple, 3); break;
      case 't': gather(Kind::tuple, above_mark()); break;
      case ']': push_new(Kind::list); break;
      case 'l': gather(Kind::list, above_mark()); break;
      case '}': push_new(Kind::dict); break;
      case 'd': {
        const std::size_t count = above_mark();
        require_pairs(count);
        gather(Kind::dict, count);
        break;
      }
      case '\x8f': push_new(Kind::set); break;
      case '\x91': gather(Kind::set, above_mark()); break;

      case '(': mark(); break;
      case '0': drop(); break;
      case '1': stack_.resize(stack_.size() - above_mark()); break;
      case '2': push(top()); break;

      case 'a': add(Kind::list, 1); break;
      case 'e': add(Kind::list, above_mark()); break;
      case '\x90': add(Kind::set, above_mark()); break;
      case 's': add(Kind::dict, 2); break;
      case 'u': add(Kind::dict, above_mark()); break;

      case 'q': remember(little(1)); break;
      case 'r': remember(little(4)); break;
      case '\x94': remember(memo_.size()); break;
      case 'h': recall(little(1)); break;
      case 'j': recall(little(4)); break;

      case 'c': {
        const std::string_view module = take_line();
        push_name(module, take_line());
        break;
      }
      case '\x93': {
        const std::string_view name = pop_text();
        push_name(pop_text(), name);
        break;
      }
      case 'R':
      case '\x81': call(); break;
      case '\x92': pop(), call(); break;  // keywords are left aside
      case 'b': build(); break;
      case 'Q': gather(Kind::persistent, 1); break;

      default: refuse_opcode();
    }
    return true;
  }

  [[noreturn]] void refuse_opcode() const {
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%02x", static_cast<std::uint8_t>(opcode_));
    fail(std::string("opcode ") + hex.data() +
         " is unknown, expected those that torch.save writes");
  }

  // What follows the opcode.
  std::string_view take(std::uint64_t count) {
    if (count > text_.size() - at_) {
      fail(std::to_string(count) + " bytes expected, " + std::to_string(text_.size() - at_) +
           " are left");
    }
    at_ += count;
    return text_.substr(at_ - count, count);
  }
  std::uint64_t little(std::size_t count) {
    const std::string_view field = take(count);
    std::uint64_t value = 0;
    while (count-- > 0) value = value << 8 | static_cast<std::uint8_t>(field[count]);
    return value;
  }
  std::string_view take_line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == text_.npos) fail("a name without an end");
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }
  void start() {
    const std::uint64_t protocol = little(1);
    if (protocol > kLastProtocol) {
      fail("protocol " + std::to_string(protocol) + ", expected at most " +
           std::to_string(kLastProtocol));
    }
  }
  void require_frame(std::uint64_t length) const {
    if (length > text_.size() - at_) fail("a frame that reaches past the end");
  }

  // The stack, of which nothing below the last mark may be taken.
  std::size_t reachable() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  void require(std::size_t count) const {
    if (reachable() < count) {
      fail("needs " + std::to_string(count) + " values on the stack, there are " +
           std::to_string(reachable()));
    }
  }
  Index top() const {
    require(1);
    return stack_.back();
  }
  Index pop() {
    const Index index = top();
    stack_.pop_back();
    return index;
  }
  std::string_view pop_text() {
    const PickleValue& value = pickle_.values[pop()];
    if (value.kind != Kind::text) fail("a name that is no text");
    return value.text;
  }
  void require_room(std::size_t used) const {
    if (used < kMostValues) return;
    fail("more than " + std::to_string(kMostValues) + " values, which no checkpoint has");
  }
  void mark() {
    require_room(marks_.size());
    marks_.push_back(stack_.size());
  }
  void drop() {
    if (reachable() == 0 && !marks_.empty()) {
      marks_.pop_back();
    } else {
      pop();
    }
  }
  // How many values lie above the last mark, which is gone then.
  std::size_t above_mark() {
    if (marks_.empty()) fail("needs a mark on the stack, there is none");
    const std::size_t count = reachable();
    marks_.pop_back();
    return count;
  }

  void push(Index index) {
    require_room(stack_.size());
    stack_.push_back(index);
  }
  PickleValue& push_new(Kind kind) {
    require_room(pickle_.values.size());
    push(static_cast<Index>(pickle_.values.size()));
    PickleValue& value = pickle_.values.emplace_back();
    value.kind = kind;
    return value;
  }
  void push_number(Kind kind, std::int64_t number) { push_new(kind).integer = number; }
  // Two's complement of as many bytes.
  void push_long(std::uint64_t count) {
    const std::string_view field = take(count);
    if (count > sizeof(std::int64_t)) {
      push_new(Kind::large_integer);
      return;
    }
    const bool negative = count > 0 && static_cast<std::uint8_t>(field[count - 1]) >= 0x80;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    while (count-- > 0) value = value << 8 | static_cast<std::uint8_t>(field[count]);
    push_number(Kind::integer, static_cast<std::int64_t>(value));
  }
  void push_text(Kind kind, std::uint64_t length) {
    const std::string_view text = take(length);
    push_new(kind).text = text;
  }
  void push_name(std::string_view module, std::string_view name) {
    std::string whole = std::string(module) + "." + std::string(name);
    const auto [known, is_new] = known_names_.try_emplace(std::move(whole), 0);
    if (!is_new) return push(known->second);
    pickle_.names.push_back(known->first);
    push_new(Kind::name).text = pickle_.names.back();
    known->second = stack_.back();
  }
  // The last `count` values as one.
  void gather(Kind kind, std::size_t count) {
    require(count);
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Index> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    push_new(kind).items = std::move(items);
  }

  // Adds the last `count` values to the one below them.
  void add(Kind kind, std::size_t count) {
    require(count + 1);
    if (kind == Kind::dict) require_pairs(count);
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    PickleValue& target = pickle_.values[*(first - 1)];
    // A call may be of anything: a class of lists or sets has no keys to tell.
    const bool has_keys = kind == Kind::dict;
    if (target.kind == kind || (target.kind == Kind::call && has_keys)) {
      target.items.insert(target.items.end(), first, stack_.end());
    } else if (target.kind != Kind::call) {
      fail("adds to a " + describe(pickle_, *(first - 1)));
    }
    stack_.erase(first, stack_.end());
  }
  void require_pairs(std::size_t count) const {
    if (count % 2 != 0) fail("a key without a value");
  }

  // A growing list of numbers from 0 on, as every pickler counts.
  void remember(std::uint64_t key) {
    if (key >= kMostValues) fail("remembers under " + std::to_string(key) + ", too large");
    if (key >= memo_.size()) memo_.resize(key + 1, kNothing);
    memo_[key] = top();
  }
  void recall(std::uint64_t key) {
    if (key >= memo_.size() || memo_[key] == kNothing) {
      fail("recalls " + std::to_string(key) + ", which was never remembered");
    }
    push(memo_[key]);
  }

  void call() {
    require(2);
    const Index arguments = pop();
    const Index callee = pop();
    PickleValue& value = push_new(Kind::call);
    value.callee = callee;
    value.arguments = arguments;
  }
  void build() {
    require(2);
    const Index state = pop();
    PickleValue& target = pickle_.values[top()];
    if (target.kind != Kind::call) fail("gives state to a " + describe(pickle_, top()));
    target.state = state;
  }

  static constexpr Index kNothing = ~Index{0};

  std::string_view text_;
  const std::string& where_;
  std::size_t at_;
  std::size_t opcode_at_ = 0;
  char opcode_ = 0;
  Pickle pickle_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::vector<Index> memo_;
  std::unordered_map<std::string, Index> known_names_;
};

}  // namespace

std::string_view Pickle::name_of(std::uint32_t index) const {
  return values[index].kind == Kind::name ? values[index].text : "";
}

std::string_view Pickle::text_of(std::uint32_t index) const {
  return values[index].kind == Kind::text ? values[index].text : "";
}

std::uint32_t Pickle::callee_of(std::uint32_t index) const {
  return values[index].kind == Kind::call ? values[index].callee : 0;
}

const std::vector<std::uint32_t>* Pickle::tuple_of(std::uint32_t index) const {
  return values[index].kind == Kind::tuple ? &values[index].items : nullptr;
}

Pickle read_pickle(const Bytes& bytes, const std::string& where, std::size_t begin) {
  return Machine(bytes, where, begin).run();
}

std::string describe(const Pickle& pickle, std::uint32_t index) {
  // A call of a call of … is named by what is called first.
  std::size_t steps = 0;
  while (pickle[index].kind == Kind::call && steps++ < 16) index = pickle[index].callee;
  const PickleValue& value = pickle[index];
  switch (value.kind) {
    case Kind::none: return "None";
    case Kind::boolean: return "bool";
    case Kind::integer:
    case Kind::large_integer: return "int";
    case Kind::real: return "float";
    case Kind::text: return "str";
    case Kind::bytes: return "bytes";
    case Kind::tuple: return "tuple";
    case Kind::list: return "list";
    case Kind::set: return "set";
    case Kind::dict: return "dict";
    case Kind::name: return printable(value.text);
    case Kind::call: return "call";
    case Kind::persistent: break;
  }
  // ('storage', class, …), ('module', class, …)
  const auto* id = pickle.tuple_of(value.items[0]);
  const std::string_view name =
      id != nullptr && id->size() > 1 ? pickle.name_of((*id)[1]) : "";
  return name.empty() ? "object outside the pickle" : printable(name);
}

}  // namespace mha
