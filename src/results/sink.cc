#include "results/sink.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/error.h"
#include "base/memory.h"

namespace mha {
namespace {

constexpr std::size_t kNotChosen = std::numeric_limits<std::size_t>::max();

}  // namespace

std::size_t offset_of(const Place& place, const Shape& shape, std::size_t heads,
                      [[maybe_unused]] std::size_t rows, std::size_t cols) {
  assert(shape.size() >= 2);
  const std::size_t tensor_rows = shape[shape.size() - 2];
  assert(cols == shape.back());
  assert(place.head < heads);
  assert(place.first_row <= tensor_rows && rows <= tensor_rows - place.first_row);
  // Counted in elements, so that no product below has overflowed either.
  assert(rows == 0 || cols == 0 ||
         place.item < element_count(shape) / (heads * tensor_rows * cols));
  return ((place.item * heads + place.head) * tensor_rows + place.first_row) * cols;
}

template <typename T>
void Sinks<T>::add(Step step, Sink<T>& sink) {
  sinks_[step].push_back(&sink);
}

template <typename T>
bool Sinks<T>::wants(Step step) const {
  return sinks_.contains(step);
}

template <typename T>
void Sinks<T>::rows(Step step, const Place& place, ConstMatrixView<T> block) {
  const auto found = sinks_.find(step);
  if (found == sinks_.end()) return;
  for (Sink<T>* sink : found->second) sink->rows(place, block);
}

template <typename T>
bool Sinks<T>::any_order(Step step) const {
  const auto found = sinks_.find(step);
  return found != sinks_.end() && std::ranges::all_of(found->second, [](const Sink<T>* sink) {
           return sink->any_order();
         });
}

template <typename T>
Collect<T>::Collect(Shape shape, std::size_t heads, const std::string& what) : heads_(heads) {
  const std::size_t count = element_count(shape, what);
  const auto bytes = checked_multiply(count, sizeof(T));
  require_memory(bytes.value_or(std::numeric_limits<std::size_t>::max()),
                 what + " " + to_string(shape));
  tensor_ = Tensor<T>(std::move(shape));
}

template <typename T>
void Collect<T>::rows(const Place& place, ConstMatrixView<T> block) {
  T* to = tensor_.data() + offset_of(place, tensor_.shape(), heads_, block.rows, block.cols);
  for (std::size_t i = 0; i < block.rows; ++i) {
    to = std::copy_n(block.row(i), block.cols, to);
  }
}

template <typename T>
SelectHeads<T>::SelectHeads(std::size_t n_heads, std::vector<std::size_t> heads, bool average)
    : place_of_(n_heads, kNotChosen), average_(average) {
  if (heads.empty()) {
    for (std::size_t head = 0; head < n_heads; ++head) heads.push_back(head);
  }
  for (const std::size_t head : heads) {
    const std::string text = std::to_string(head);
    if (head >= n_heads) {
      throw Error("--map-heads: head " + text + " is not there, heads are 0 to " +
                  std::to_string(n_heads - 1));
    }
    if (place_of_[head] != kNotChosen) {
      throw Error("--map-heads: head " + text + " is named twice");
    }
    place_of_[head] = chosen_++;
  }
}

template <typename T>
bool SelectHeads<T>::any_order() const {
  return !average_ &&
         std::ranges::all_of(sinks_, [](const Sink<T>* sink) { return sink->any_order(); });
}

template <typename T>
void SelectHeads<T>::pass_on(const Place& place, ConstMatrixView<T> block) {
  for (Sink<T>* sink : sinks_) sink->rows(place, block);
}

template <typename T>
void SelectHeads<T>::rows(const Place& place, ConstMatrixView<T> block) {
  assert(place.head < place_of_.size());
  const std::size_t chosen_place = place_of_[place.head];
  if (chosen_place == kNotChosen) return;
  if (!average_) {
    pass_on({place.item, chosen_place, place.first_row}, block);
    return;
  }

  // The heads of one row range come one after another: the first makes room,
  // the last sends the mean on.
  if (seen_ == 0) {
    const Shape shape{block.rows, block.cols};
    if (sum_.shape() != shape) {
      sum_ = Tensor<double>(shape);
      mean_ = Tensor<T>(shape);
    }
    std::ranges::fill(sum_.values(), 0.0);
  }
  assert(sum_.shape() == (Shape{block.rows, block.cols}));
  for (std::size_t i = 0; i < block.rows; ++i) {
    double* sum = sum_.matrix().row(i);
    const T* row = block.row(i);
    for (std::size_t j = 0; j < block.cols; ++j) sum[j] += static_cast<double>(row[j]);
  }
  if (++seen_ < chosen_) return;

  seen_ = 0;
  const auto heads = static_cast<double>(chosen_);
  std::ranges::transform(sum_.values(), mean_.values().begin(),
                         [heads](double sum) { return static_cast<T>(sum / heads); });
  const Tensor<T>& mean = mean_;
  pass_on({place.item, 0, place.first_row}, mean.matrix());
}

template class Sinks<float>;
template class Sinks<double>;
template class Collect<float>;
template class Collect<double>;
template class SelectHeads<float>;
template class SelectHeads<double>;

}  // namespace mha
