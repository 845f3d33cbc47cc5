#pragma once

#include <cstddef>
#include <string>

#include "files/whole_file.h"
#include "results/sink.h"

namespace mha {

// Streams a tensor [batch, heads, rows, cols] to a .npy file block by block,
// so that memory does not grow with n².
template <typename T>
class NpyStream final : public Sink<T> {
 public:
  // `shape`: as the file shall say it; `heads` matrices to a batch item.
  // Throws Error(Fault::system) where the disk has too little room, saying how
  // much is needed. REQUIRES: a path that is not "-" nor a pipe.
  NpyStream(const std::string& path, Shape shape, std::size_t heads);
  void rows(const Place& place, ConstMatrixView<T> block) override;
  WholeFile& file() { return file_; }

 private:
  Shape shape_;
  std::size_t heads_;
  std::string header_;
  WholeFile file_;
};

}  // namespace mha
