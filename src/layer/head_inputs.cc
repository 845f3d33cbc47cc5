#include "layer/head_inputs.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <type_traits>

#include "kernels/rotary.h"
#include "layer/latent.h"
#include "layer/projection.h"

namespace mha {
namespace {

constexpr std::size_t kRowsAtATime = 512;  // more make no GEMM faster

template <typename T>
bool same_rows(ConstMatrixView<T> a, ConstMatrixView<T> b) {
  return a.data == b.data && a.rows == b.rows;
}

// Of a head, where it has a buffer of its own.
std::size_t concat_width(const AttentionSizes& sizes) {
  return sizes.d_v == sizes.d_head ? 0 : sizes.d_v;
}

}  // namespace

template <typename T>
std::size_t HeadInputs<T>::items_at_a_time(const AttentionSizes& sizes, const MaskAxes& axes) {
  // The reference is left plain: an item gives the same bits alone and in a batch.
  if (std::is_same_v<T, double> || sizes.columns(axes.n_keys) != axes.n_keys) return 1;
  const std::size_t rows = std::max<std::size_t>({axes.n_queries, axes.n_keys, 1});
  return std::clamp<std::size_t>(kRowsAtATime / rows, 1, std::max<std::size_t>(axes.batch, 1));
}

template <typename T>
std::size_t HeadInputs<T>::size_of(const AttentionSizes& sizes, const MaskAxes& axes) {
  return items_at_a_time(sizes, axes) *
         (axes.n_queries *
              (sizes.n_heads * (sizes.d_head + concat_width(sizes)) + sizes.q_rank) +
          sizes.columns(axes.n_keys) * sizes.n_kv_heads * (sizes.d_head + sizes.d_v) +
          axes.n_keys * sizes.kv_rank);
}

template <typename T>
HeadInputs<T>::HeadInputs(const AttentionWeights<T>& weights,
                          const AttentionSettings& settings, const MaskAxes& axes)
    : weights_(weights),
      settings_(settings),
      n_queries_(axes.n_queries),
      n_keys_(axes.n_keys),
      columns_(weights.sizes.columns(axes.n_keys)),
      positions_(first_positions(settings.causal, axes)),
      absorbed_(weights.latent && is_absorbed(*weights.latent)) {
  const AttentionSizes& sizes = weights.sizes;
  assert(weights.latent.has_value() == (sizes.kv_rank > 0));
  assert(!(weights.latent && sizes.bias_key));
  const std::size_t items = items_at_a_time(sizes, axes);
  q_ = Tensor<T>({items * n_queries_, sizes.n_heads * sizes.d_head});
  concat_ = Tensor<T>({items * n_queries_, sizes.n_heads * concat_width(sizes)});
  q_latents_ = Tensor<T>({items * n_queries_, sizes.q_rank});
  k_ = Tensor<T>({items * columns_, sizes.n_kv_heads * sizes.d_head});
  if (!absorbed_) {
    kv_latents_ = Tensor<T>({items * n_keys_, sizes.kv_rank});
    v_ = Tensor<T>({items * columns_, sizes.n_kv_heads * sizes.d_v});
  }
  // What stands behind the keys is the same for every item.
  std::size_t row = n_keys_;
  if (sizes.bias_key) {
    std::copy_n(weights.bias_k.data(), weights.bias_k.size(), k_.matrix().row(row));
    std::copy_n(weights.bias_v.data(), weights.bias_v.size(), v_.matrix().row(row));
    ++row;
  }
  if (sizes.zero_key) {
    std::fill_n(k_.matrix().row(row), k_.shape()[1], T{0});
    if (!absorbed_) std::fill_n(v_.matrix().row(row), v_.shape()[1], T{0});
  }
}

template <typename T>
void HeadInputs<T>::make(ConstMatrixView<T> x, ConstMatrixView<T> key,
                         ConstMatrixView<T> value) {
  const AttentionSizes& sizes = weights_.sizes;
  const MatrixView<T> q = q_.matrix().row_block(0, x.rows);
  const MatrixView<T> k = k_.matrix().row_block(0, key.rows);
  if (weights_.latent) {
    const MatrixView<T> latents = absorbed_ ? k.col_block(0, sizes.kv_rank)
                                            : kv_latents_.matrix().row_block(0, key.rows);
    latent_queries(*weights_.latent, sizes, settings_.latent_eps, x,
                   q_latents_.matrix().row_block(0, x.rows), q);
    latent_keys(*weights_.latent, sizes, settings_.latent_eps, key, latents, k);
    if (!absorbed_) {
      project<T>(latents, weights_.latent->W_UV, {}, v_.matrix().row_block(0, key.rows));
    }
  } else {
    project_inputs(x, key, value, q, k, v_.matrix().row_block(0, value.rows));
  }
  turn(q, sizes.n_heads, n_queries_, positions_.query);
  turn(k, sizes.n_kv_heads, n_keys_, positions_.key);
}

// What is made of the same rows is one product.
template <typename T>
void HeadInputs<T>::project_inputs(ConstMatrixView<T> x, ConstMatrixView<T> key,
                                   ConstMatrixView<T> value, MatrixView<T> q, MatrixView<T> k,
                                   MatrixView<T> v) {
  const std::array<ConstMatrixView<T>, 3> sources = {x, key, value};
  const std::array<Product<T>, 3> products = {product(weights_.W_Q, weights_.b_Q, q),
                                              product(weights_.W_K, weights_.b_K, k),
                                              product(weights_.W_V, weights_.b_V, v)};
  for (std::size_t first = 0; first < 3;) {
    std::size_t end = first + 1;
    while (end < 3 && same_rows(sources[first], sources[end])) ++end;
    linear(sources[first], std::span(products).subspan(first, end - first), Epilogue::none);
    first = end;
  }
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::q(std::size_t item) const {
  return q_.matrix().row_block(item * n_queries_, n_queries_);
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::k(std::size_t item) const {
  return k_.matrix().row_block(item * columns_, columns_);
}

template <typename T>
ConstMatrixView<T> HeadInputs<T>::v(std::size_t item) const {
  if (absorbed_) return k(item).col_block(0, weights_.sizes.kv_rank);
  return v_.matrix().row_block(item * columns_, columns_);
}

template <typename T>
MatrixView<T> HeadInputs<T>::concat(std::size_t item) {
  return concat_rows(item + 1).row_block(item * n_queries_, n_queries_);
}

template <typename T>
MatrixView<T> HeadInputs<T>::concat_rows(std::size_t items) {
  Tensor<T>& buffer = concat_.empty() ? q_ : concat_;
  return buffer.matrix().row_block(0, items * n_queries_);
}

// Rotary positions on what turns of each head; `rows` of an item.
template <typename T>
void HeadInputs<T>::turn(MatrixView<T> heads, std::size_t n_heads, std::size_t rows,
                         std::size_t first_position) {
  if (settings_.rope == Rope::none) return;
  for (std::size_t first = 0; first < heads.rows; first += rows) {
    rotate(heads.row_block(first, rows), n_heads,
           weights_.latent ? weights_.sizes.d_rope : weights_.sizes.d_head,
           settings_.rope == Rope::halves ? RotaryPairs::halves : RotaryPairs::neighbours,
           settings_.rope_theta, first_position);
  }
}

template class HeadInputs<float>;
template class HeadInputs<double>;

}  // namespace mha
