#pragma once

#include <cstddef>
#include <string>

#include "checkpoint/found_tensor.h"
#include "checkpoint/native_names.h"
#include "files/archive.h"

namespace mha {

// Where the heads stand in a matrix whose heads lie side by side.
enum class Heads { in_columns, in_rows };

// A projection's sizes as its file shape tells them.
struct Projection {
  const Parts* parts = nullptr;  // none: it is not there
  Heads side = Heads::in_columns;
  std::size_t heads = 0;  // 0: they lie side by side, the count must come from elsewhere
  std::size_t rows = 0;   // of one head; of the file's matrix where heads is 0
  std::size_t cols = 0;
};

// Holds the tensors of one layer against sizes and collects those that fit.
// Whatever does not fit throws Error that names tensor, found and expected
// shape and `why` it is expected: "d_model 4 from W_Q".
class ShapeCheck {
 public:
  // `file` as it was opened, of whose tensors the layer's are views.
  ShapeCheck(const Archive& file, const LayerParts& layer) : file_(file), layer_(layer) {}

  bool has(const std::string& name) const { return layer_.find(name) != nullptr; }
  // "layers.2.W_Q"
  std::string full_name(const std::string& name) const { return layer_.prefix + name; }
  // What the file calls a tensor that is there.
  std::string name_in_file(const std::string& name) const;
  // "W_Q is [2, 4, 3]", or "q.weight [12, 4] (as W_Q) is [4, 12]".
  std::string found_shape(const Member& member) const;
  // "d_model 4 from W_Q"
  std::string from(const char* size, std::size_t value, const std::string& name) const;
  // "W_2 is missing, expected WHAT"
  void require_there(const std::string& name, const std::string& what) const;

  // A tensor of [heads, rows, cols], of [rows, cols] a head or with the heads
  // side by side; parts is null where it is not there.
  Projection projection(const std::string& name, Heads side) const;
  // Splits heads that lie side by side into `count`.
  void split(Projection& projection, std::size_t count, const std::string& why) const;
  void require(const Projection& projection, std::size_t heads, std::size_t rows,
               std::size_t cols, const std::string& why) const;
  // The shape of a matrix of `rows` rows, 0: any number.
  const Shape& matrix(const std::string& name, std::size_t rows, const std::string& expected,
                      const std::string& why) const;

  void take(const std::string& name, const Projection& projection);
  // Of exactly this shape; nothing happens where it is not there.
  void take(const std::string& name, const Shape& shape, const std::string& why);
  // [heads, width], [heads * width] or [width] a head, likewise.
  void take_of_heads(const std::string& name, std::size_t heads, std::size_t width,
                     const std::string& why);

  const FoundTensors& taken() const { return taken_; }

  [[noreturn]] void fail(const std::string& what) const;

 private:
  const Archive& file_;
  const LayerParts& layer_;
  FoundTensors taken_;
};

}  // namespace mha
