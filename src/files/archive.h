#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/bytes.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace mha {

// One named tensor of a file. Its shape, strides and offset have been held
// against its bytes before anybody sees it. Views: files/member_view.h.
struct Member {
  std::string name;    // "" where the file is one bare tensor (.npy, text, [[…]])
  std::string origin;  // its name in the file, where `name` is another one
  DType dtype = DType::other;
  std::string dtype_name;  // as the file spells it: "BF16", "<f4"
  Shape shape;
  // Elements from neighbour to neighbour along each axis, in any order, 0 where
  // an axis repeats; empty: row-major.
  Shape strides;
  std::size_t offset = 0;  // elements in front of the first one
  bool big_endian = false;
  std::function<Bytes()> fetch;  // the bytes it lies in; inflates what is deflated
};

// What stands in a file under a name and is no tensor.
struct Skipped {
  std::string name;
  std::string what;  // "int", "dict", "posix.system"
};

// A file of tensors, of whatever container, opened and validated.
struct Archive {
  std::string path;  // begins every message; "standard input" for "-"
  // "safetensors", "npz", "npy", "npy folder", "JSON", "text", "raw", "PyTorch
  // zip", "PyTorch legacy", "sharded safetensors", "sharded PyTorch"
  std::string container;
  std::vector<Member> members;
  std::map<std::string, std::string> settings;            // scalars and strings by name
  std::map<std::string, std::vector<std::string>> lists;  // lists of strings: "tokens"
  std::vector<Skipped> skipped;  // of a checkpoint: "epoch", "optimizer.param_groups"

  const Member* find(std::string_view name) const;
  // Throws Error that says what stands there instead of a tensor, or names the
  // nearest name and lists what there is.
  const Member& at(std::string_view name) const;
};

// Finds the container from the content, never from the name, and validates the
// whole of it. Throws Error that says what the content looks like where it is
// none of ours (a Git LFS pointer, HTML, a GGUF model, …). `path` may be a
// folder of .npy files, the index of shards that lie beside it, or "-".
Archive open_archive(const std::string& path);
// The same for bytes at hand; `path` begins every message.
Archive read_archive(const Bytes& bytes, const std::string& path);

// A member as T, row-major, widened or narrowed; integers and booleans become
// numbers. Throws Error for dtype text and other.
template <typename T>
Tensor<T> read_tensor(const Archive& archive, const Member& member);

// "w.npz: W_Q" with the name that the file uses, or the path alone for a bare
// tensor.
std::string where(const Archive& archive, const Member& member);

// Throws Error that names the first element that is NaN or infinite:
// "w.npz: W_Q[0, 2, 1] is nan; --allow-nonfinite lets it through".
template <typename T>
void require_finite(const Tensor<T>& tensor, const std::string& where);

}  // namespace mha
