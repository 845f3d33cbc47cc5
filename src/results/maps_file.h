#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "files/whole_file.h"
#include "results/sink.h"
#include "tensor/tensor.h"

namespace mha {

// Streams a tensor [batch, heads, rows, cols] to a .npy file block by block,
// so that memory does not grow with n².
template <typename T>
class NpyStream final : public Sink<T> {
 public:
  // `shape`: as the file shall say it; `heads` matrices to a batch item.
  // REQUIRES: file.seekable(); the file outlives the stream.
  NpyStream(WholeFile& file, Shape shape, std::size_t heads);
  void rows(const Place& place, ConstMatrixView<T> block) override;
  bool any_order() const override { return true; }

  // Bytes of such a file, so that it can be opened only where the disk has room.
  // Throws Error where no disk could hold the shape.
  static std::size_t file_size(const std::string& path, const Shape& shape);

 private:
  WholeFile& file_;
  Shape shape_;
  std::size_t heads_;
  std::size_t header_size_;
};

// What a .npz file of maps says beside them.
struct MapsMembers {
  std::string axes;                        // "batch,heads,queries,keys"
  std::vector<std::size_t> layers;         // along the layer axis; empty: there is none
  std::vector<std::string> heads;          // their names, where not all are there
  std::vector<std::string> queries, keys;  // labels; empty: none
};

// Writes the maps as the member `maps`, and beside them the text `axes`, and
// where there are some the numbers `layers` and the texts `heads`, `queries` and `keys`.
template <typename T>
void write_maps_npz(WholeFile& file, const Tensor<T>& maps, const MapsMembers& members);

}  // namespace mha
