#include "results/maps_file.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/npy.h"
#include "files/npz.h"
#include "files/zip.h"
#include "tensor/dtype.h"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little,
              "rows go to the file as they lie in memory");

template <typename T>
std::string header_of(const Shape& shape) {
  return npy_header(dtype_of<T>(), shape);
}

}  // namespace

template <typename T>
NpyStream<T>::NpyStream(WholeFile& file, Shape shape, std::size_t heads)
    : file_(file), shape_(std::move(shape)), heads_(heads) {
  const std::string header = header_of<T>(shape_);
  header_size_ = header.size();
  file_.write_at(0, std::as_bytes(std::span(header)));
}

template <typename T>
std::size_t NpyStream<T>::file_size(const std::string& path, const Shape& shape) {
  const auto bytes = checked_multiply(element_count(shape, path), sizeof(T));
  std::size_t total = 0;
  if (!bytes || __builtin_add_overflow(*bytes, header_of<T>(shape).size(), &total)) {
    throw Error(path + ": shape " + to_string(shape) + " is too large");
  }
  return total;
}

template <typename T>
void NpyStream<T>::rows(const Place& place, ConstMatrixView<T> block) {
  std::size_t offset =
      header_size_ + offset_of(place, shape_, heads_, block.rows, block.cols) * sizeof(T);
  if (block.stride == block.cols) {
    file_.write_at(offset, std::as_bytes(std::span(block.data, block.rows * block.cols)));
    return;
  }
  for (std::size_t i = 0; i < block.rows; ++i) {
    const auto bytes = std::as_bytes(std::span(block.row(i), block.cols));
    file_.write_at(offset, bytes);
    offset += bytes.size();
  }
}

template <typename T>
void write_maps_npz(WholeFile& file, const Tensor<T>& maps, const MapsMembers& members) {
  ZipWriter zip(file);
  add_npy(zip, "maps", maps);
  add_npy_text(zip, "axes", members.axes);
  if (!members.layers.empty()) {
    Tensor<float> layers({members.layers.size()});
    std::ranges::transform(members.layers, layers.data(),
                           [](std::size_t layer) { return static_cast<float>(layer); });
    add_npy(zip, "layers", layers);
  }
  for (const auto& [name, labels] :
       {std::pair("heads", &members.heads), std::pair("queries", &members.queries),
        std::pair("keys", &members.keys)}) {
    if (!labels->empty()) add_npy_texts(zip, name, *labels);
  }
  zip.finish();
}

template void write_maps_npz(WholeFile&, const Tensor<float>&, const MapsMembers&);
template void write_maps_npz(WholeFile&, const Tensor<double>&, const MapsMembers&);

template class NpyStream<float>;
template class NpyStream<double>;

}  // namespace mha
