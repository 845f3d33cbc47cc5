#include "files/torch_rebuild.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = PickleValue::Kind;
using Index = std::uint32_t;

constexpr std::size_t kMostAxes = 64;  // as torch

// torch/storage.py, _dtype_to_storage_type_map; later types have no storage of
// their own.
struct KnownType {
  std::string_view storage;
  std::string_view name;
  DType dtype;
  std::size_t item_size;
};
constexpr std::array kKnownTypes = {
    KnownType{"FloatStorage", "float32", DType::f32, 4},
    KnownType{"DoubleStorage", "float64", DType::f64, 8},
    KnownType{"HalfStorage", "float16", DType::f16, 2},
    KnownType{"BFloat16Storage", "bfloat16", DType::bf16, 2},
    KnownType{"LongStorage", "int64", DType::i64, 8},
    KnownType{"IntStorage", "int32", DType::i32, 4},
    KnownType{"ShortStorage", "int16", DType::i16, 2},
    KnownType{"CharStorage", "int8", DType::i8, 1},
    KnownType{"ByteStorage", "uint8", DType::u8, 1},
    KnownType{"BoolStorage", "bool", DType::boolean, 1},
    KnownType{"UntypedStorage", "uint8", DType::u8, 1},
    KnownType{"ComplexFloatStorage", "complex64", DType::other, 8},
    KnownType{"ComplexDoubleStorage", "complex128", DType::other, 16},
    KnownType{"QInt8Storage", "qint8", DType::other, 1},
    KnownType{"QUInt8Storage", "quint8", DType::other, 1},
    KnownType{"QInt32Storage", "qint32", DType::other, 4},
    KnownType{"", "uint16", DType::u16, 2},
    KnownType{"", "uint32", DType::u32, 4},
    KnownType{"", "uint64", DType::u64, 8},
    KnownType{"", "float8_e4m3fn", DType::other, 1},
    KnownType{"", "float8_e5m2", DType::other, 1},
};

void set_type(TorchStorage& storage, std::string_view name, std::string_view KnownType::*key) {
  storage.dtype = DType::other;
  storage.dtype_name = printable(name);
  storage.item_size = 0;
  for (const KnownType& known : kKnownTypes) {
    if (known.*key != name) continue;
    storage.dtype = known.dtype;
    storage.dtype_name = known.name;
    storage.item_size = known.item_size;
    return;
  }
}

std::string_view after_last_dot(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

// Functions that give a tensor, and which argument of theirs matters.
bool gives_its_first(std::string_view function) {
  return function == "torch._utils._rebuild_parameter" ||
         function == "torch._utils._rebuild_parameter_with_state" ||
         function == "torch.nn.parameter.Parameter";
}
bool gives_from_type(std::string_view function) {
  return function == "torch._tensor._rebuild_from_type_v2" ||
         function == "torch._tensor._rebuild_from_type";
}
// (storage, offset, size, stride, …)
bool gives_from_storage(std::string_view function) {
  return function == "torch._utils._rebuild_tensor" ||
         function == "torch._utils._rebuild_tensor_v2" ||
         function == "torch._utils._rebuild_tensor_v3" ||
         function == "torch._utils._rebuild_qtensor";
}
// What is called in the end, and with what, where the value is a tensor.
struct Rebuild {
  std::string_view function;
  const std::vector<Index>* arguments;
};

std::optional<Rebuild> rebuild_of(const Pickle& pickle, Index index) {
  Index callee = pickle.callee_of(index);
  Index arguments = pickle[index].arguments;
  // A parameter of a parameter of itself has no end.
  for (int step = 0; step < 8; ++step) {
    const std::string_view function = pickle.name_of(callee);
    const std::vector<Index>* given = pickle.tuple_of(arguments);
    if (given == nullptr) return std::nullopt;
    if (gives_from_storage(function)) return Rebuild{function, given};
    if (gives_its_first(function) && !given->empty()) {
      const Index first = given->front();
      callee = pickle.callee_of(first);
      arguments = pickle[first].arguments;
    } else if (gives_from_type(function) && given->size() >= 3) {
      callee = given->front();
      arguments = (*given)[2];
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::size_t natural(const Pickle& pickle, Index index, const std::string& what,
                    const std::string& where) {
  const PickleValue& value = pickle[index];
  if (value.kind == Kind::integer && value.integer >= 0) {
    return static_cast<std::size_t>(value.integer);
  }
  const std::string found = value.kind == Kind::integer
                                ? std::to_string(value.integer)
                                : "a value of type " + describe(pickle, index);
  throw Error(where + ": " + what + " is " + found +
              ", expected a whole number, not negative");
}

// A tuple of them, or torch.Size of one.
Shape naturals(const Pickle& pickle, Index index, const std::string& what,
               const std::string& where) {
  if (pickle.name_of(pickle.callee_of(index)) == "torch.Size") {
    const std::vector<Index>* given = pickle.tuple_of(pickle[index].arguments);
    if (given != nullptr && given->size() == 1) index = given->front();
  }
  const std::vector<Index>* items = pickle.tuple_of(index);
  if (items == nullptr) {
    throw Error(where + ": " + what + " is a value of type " + describe(pickle, index) +
                ", expected a tuple");
  }
  if (items->size() > kMostAxes) {
    throw Error(where + ": " + what + " has " + std::to_string(items->size()) +
                " axes, expected at most " + std::to_string(kMostAxes));
  }
  Shape values;
  for (const Index item : *items) values.push_back(natural(pickle, item, what, where));
  return values;
}

}  // namespace

bool is_torch_tensor(const Pickle& pickle, std::uint32_t index) {
  return rebuild_of(pickle, index).has_value();
}

TorchTensor torch_tensor(const Pickle& pickle, std::uint32_t index, std::string name,
                         const std::string& path) {
  const Rebuild rebuild = rebuild_of(pickle, index).value();
  const std::vector<Index>& given = *rebuild.arguments;
  const std::string where = path + (name.empty() ? "" : ": " + printable(name));
  const bool has_dtype = rebuild.function.ends_with("_v3");
  if (given.size() < (has_dtype ? 7 : 4)) {
    throw Error(where + ": " + std::string(after_last_dot(rebuild.function)) + " has " +
                std::to_string(given.size()) + " arguments, expected more");
  }
  auto storage = torch_storage(pickle, given[0], where);
  if (!storage) {
    throw Error(where + ": its storage is a value of type " + describe(pickle, given[0]));
  }
  TorchTensor tensor;
  tensor.name = std::move(name);
  tensor.storage = std::move(*storage);
  if (has_dtype) {  // over bytes
    const std::size_t bytes =
        tensor.storage.numel * std::max<std::size_t>(tensor.storage.item_size, 1);
    set_type(tensor.storage, after_last_dot(pickle.name_of(given[6])), &KnownType::name);
    tensor.storage.numel = bytes / std::max<std::size_t>(tensor.storage.item_size, 1);
  }
  tensor.offset = natural(pickle, given[1], "storage offset", where);
  tensor.shape = naturals(pickle, given[2], "size", where);
  tensor.strides = naturals(pickle, given[3], "stride", where);
  if (tensor.shape.size() != tensor.strides.size()) {
    throw Error(where + ": size " + to_string(tensor.shape) + " and stride " +
                to_string(tensor.strides) + " have not the same axes");
  }
  return tensor;
}

// ('storage', class, key, location, numel[, view of another])
std::optional<TorchStorage> torch_storage(const Pickle& pickle, std::uint32_t index,
                                          const std::string& where) {
  if (pickle[index].kind != Kind::persistent) return std::nullopt;
  const std::vector<Index>* id = pickle.tuple_of(pickle[index].items[0]);
  if (id == nullptr || id->size() < 5 || pickle.text_of(id->front()) != "storage") {
    return std::nullopt;
  }
  TorchStorage storage;
  std::string_view type = after_last_dot(pickle.name_of((*id)[1]));
  if (type == "_UntypedStorage") type = "UntypedStorage";
  set_type(storage, type, &KnownType::storage);
  storage.key = pickle.text_of((*id)[2]);
  storage.numel = natural(pickle, (*id)[4], "number of elements of a storage", where);
  if (id->size() > 5 && pickle[(*id)[5]].kind != Kind::none) {
    throw Error(where + ": its storage is a view of another one, which is not read");
  }
  if (!checked_multiply(storage.numel, std::max<std::size_t>(storage.item_size, 1))) {
    throw Error(where + ": a storage of " + std::to_string(storage.numel) +
                " elements is too large");
  }
  return storage;
}

void require_inside(const TorchTensor& tensor, std::size_t bytes, const std::string& where) {
  const TorchStorage& storage = tensor.storage;
  if (storage.item_size == 0) return;  // an unknown type, which nobody reads
  if (storage.numel > bytes / storage.item_size) {
    throw Error(where + ": its storage " + printable(storage.key) + " needs " +
                std::to_string(storage.numel * storage.item_size) + " bytes for " +
                std::to_string(storage.numel) + " of " + storage.dtype_name + ", found " +
                std::to_string(bytes));
  }
  if (element_count(tensor.shape, where) == 0) return;
  std::optional<std::size_t> last = tensor.offset;
  for (std::size_t axis = 0; last && axis < tensor.shape.size(); ++axis) {
    const auto reach = checked_multiply(tensor.shape[axis] - 1, tensor.strides[axis]);
    const bool fits = reach && *reach <= ~std::size_t{0} - *last;
    last = fits ? std::optional(*last + *reach) : std::nullopt;
  }
  if (!last || *last >= storage.numel) {
    throw Error(where + ": shape " + to_string(tensor.shape) + " with strides " +
                to_string(tensor.strides) + " from element " + std::to_string(tensor.offset) +
                " on reaches past its storage of " + std::to_string(storage.numel) +
                " elements");
  }
}

}  // namespace mha
