#include "files/raw.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "files/bytes.h"
#include "files/names.h"

namespace mha {
namespace {

struct Layout {
  std::size_t d_model = 0;
  std::size_t n_heads = 0;
  std::size_t d_head = 0;
  DType dtype = DType::f32;
  bool bias = false;
};

class LayoutParser {
 public:
  explicit LayoutParser(const std::string& text) : text_(text) {}

  Layout parse() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      read_item(rest.substr(0, comma));
      rest = comma == rest.npos ? "" : rest.substr(comma + 1);
    }
    if (layout_.d_model == 0) fail("d_model is missing");
    if (layout_.n_heads == 0) fail("n_heads is missing");
    if (layout_.d_head == 0) {
      if (layout_.d_model % layout_.n_heads != 0) {
        fail("d_model " + std::to_string(layout_.d_model) + " is not divisible by n_heads " +
             std::to_string(layout_.n_heads) + "; give d_head");
      }
      layout_.d_head = layout_.d_model / layout_.n_heads;
    }
    return layout_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("raw layout '" + printable(text_) + "': " + what);
  }

  void read_item(std::string_view item) {
    const std::size_t equals = item.find('=');
    const std::string key(item.substr(0, equals));
    const std::string value(equals == item.npos ? "" : item.substr(equals + 1));
    const std::vector<std::string> known = {"d_model", "n_heads", "d_head", "dtype", "bias"};
    for (const std::string& seen : seen_) {
      if (seen == key) fail(key + " stands there twice");
    }
    seen_.push_back(key);
    if (key == "d_model") {
      layout_.d_model = read_count(key, value);
    } else if (key == "n_heads") {
      layout_.n_heads = read_count(key, value);
    } else if (key == "d_head") {
      layout_.d_head = read_count(key, value);
    } else if (key == "dtype") {
      layout_.dtype = read_dtype(value);
    } else if (key == "bias") {
      if (equals != item.npos) fail("bias takes no value, it is there or not");
      layout_.bias = true;
    } else {
      fail("unknown key '" + printable(key) + "'" + did_you_mean(key, known) + " (there are " +
           list_of(known) + ")");
    }
  }

  std::size_t read_count(const std::string& key, const std::string& value) const {
    std::size_t count = 0;
    const char* last = value.data() + value.size();
    const auto [end, failure] = std::from_chars(value.data(), last, count);
    if (failure != std::errc() || end != last || count == 0) {
      fail(key + " is '" + printable(value) + "', expected a whole number from 1");
    }
    return count;
  }

  DType read_dtype(const std::string& value) const {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      if (value == name_of(dtype)) return dtype;
    }
    fail("dtype is '" + printable(value) + "', expected f32, f64, f16 or bf16");
  }

  const std::string& text_;
  Layout layout_;
  std::vector<std::string> seen_;
};

}  // namespace

Archive open_raw(const std::string& path, const std::string& layout) {
  const Layout l = LayoutParser(layout).parse();
  std::vector<std::pair<std::string, Shape>> tensors = {
      {"W_Q", {l.n_heads, l.d_model, l.d_head}},
      {"W_K", {l.n_heads, l.d_model, l.d_head}},
      {"W_V", {l.n_heads, l.d_model, l.d_head}},
      {"W_O", {l.n_heads, l.d_head, l.d_model}},
  };
  if (l.bias) {
    for (const char* name : {"b_Q", "b_K", "b_V"}) {
      tensors.push_back({name, {l.n_heads, l.d_head}});
    }
    tensors.push_back({"b_O", {l.d_model}});
  }

  const Bytes bytes = Bytes::open(path);
  Archive archive;
  archive.path = source_name(path);
  archive.container = "raw";
  std::size_t offset = 0;
  for (auto& [name, shape] : tensors) {
    const auto size = checked_multiply(
        element_count(shape, "raw layout '" + printable(layout) + "': " + name),
        size_of(l.dtype));
    if (!size || __builtin_add_overflow(offset, *size, &offset)) {
      throw Error("raw layout '" + printable(layout) + "': the tensors are too large");
    }
    Member member;
    member.name = name;
    member.dtype = l.dtype;
    member.dtype_name = std::string(name_of(l.dtype));
    member.shape = std::move(shape);
    member.fetch = [bytes, begin = offset - *size, length = *size] {
      return bytes.slice(begin, length);
    };
    archive.members.push_back(std::move(member));
  }
  if (offset != bytes.size()) {
    throw Error(archive.path + ": has " + std::to_string(bytes.size()) + " bytes, '" +
                printable(layout) + "' makes " + std::to_string(offset));
  }
  return archive;
}

}  // namespace mha
