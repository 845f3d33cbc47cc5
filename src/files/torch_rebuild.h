#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "files/pickle.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace mha {

// Elements that torch.save keeps outside its pickle.
struct TorchStorage {
  std::string key;
  DType dtype = DType::other;
  std::string dtype_name;     // "float32"
  std::size_t item_size = 0;  // bytes; 0 where the type is unknown
  std::size_t numel = 0;
};

struct TorchTensor {
  std::string name;  // "" where the pickle is one tensor
  TorchStorage storage;
  Shape shape;
  Shape strides;
  std::size_t offset = 0;
};

// Whether the value is a call of torch's functions that give a tensor (of which
// none is called); a parameter is its tensor.
bool is_torch_tensor(const Pickle& pickle, std::uint32_t index);

// What such a call says. Throws Error that begins with `path` and the name
// where its arguments make no sense. REQUIRES is_torch_tensor.
TorchTensor torch_tensor(const Pickle& pickle, std::uint32_t index, std::string name,
                         const std::string& path);

// The storage where the value is one. Throws Error that begins with `where` for
// one of nonsense.
std::optional<TorchStorage> torch_storage(const Pickle& pickle, std::uint32_t index,
                                          const std::string& where);

// That the storage has its elements in `bytes` and the tensor lies within it.
// Throws Error that begins with `where`.
void require_inside(const TorchTensor& tensor, std::size_t bytes, const std::string& where);

}  // namespace mha
