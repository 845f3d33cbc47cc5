#include "layer/latent.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "kernels/gemm.h"
#include "kernels/norm.h"

namespace mha {
namespace {

// Head i of a matrix whose heads lie side by side.
template <typename View>
View head_of(const View& heads, std::size_t i, std::size_t width) {
  return heads.col_block(i * width, width);
}

template <typename T>
void compress(ConstMatrixView<T> source, const Tensor<T>& W, const Tensor<T>& norm, double eps,
              MatrixView<T> latents) {
  gemm(T{1}, source, W.matrix(), T{0}, latents);
  rms_norm<T>(latents, norm.values(), {}, eps, latents);
}

}  // namespace

template <typename T>
void latent_queries(const LatentWeights<T>& weights, const AttentionSizes& sizes, double eps,
                    ConstMatrixView<T> x, MatrixView<T> latents, MatrixView<T> q) {
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  ConstMatrixView<T> source = x;
  if (sizes.q_rank > 0) {
    compress(x, weights.W_DQ, weights.q_latent_norm, eps, latents);
    source = latents;
  }
  for (std::size_t i = 0; i < sizes.n_heads; ++i) {
    const MatrixView<T> head = head_of(q, i, sizes.d_head);
    gemm(T{1}, source, head_of(weights.W_UQ.matrix(), i, d_nope), T{0},
         head.col_block(0, d_nope));
    if (sizes.d_rope == 0) continue;
    gemm(T{1}, source, head_of(weights.W_QR.matrix(), i, sizes.d_rope), T{0},
         head.col_block(d_nope, sizes.d_rope));
  }
}

template <typename T>
void latent_keys(const LatentWeights<T>& weights, const AttentionSizes& sizes, double eps,
                 ConstMatrixView<T> key, MatrixView<T> latents, MatrixView<T> k) {
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  compress(key, weights.W_DKV, weights.kv_latent_norm, eps, latents);
  for (std::size_t i = 0; i < sizes.n_kv_heads && !is_absorbed(weights); ++i) {
    gemm(T{1}, latents, head_of(weights.W_UK.matrix(), i, d_nope), T{0},
         head_of(k, i, sizes.d_head).col_block(0, d_nope));
  }
  if (sizes.d_rope == 0) return;
  const MatrixView<T> turning = k.col_block(d_nope, sizes.d_rope);  // of head 0, one for all
  gemm(T{1}, key, weights.W_KR.matrix(), T{0}, turning);
  for (std::size_t row = 0; row < k.rows; ++row) {
    for (std::size_t i = 1; i < sizes.n_kv_heads; ++i) {
      std::copy_n(turning.row(row), sizes.d_rope, turning.row(row) + i * sizes.d_head);
    }
  }
}

template <typename T>
void absorb(AttentionWeights<T>& weights, AttentionSettings& settings) {
  assert(weights.latent);
  LatentWeights<T>& latent = *weights.latent;
  if (is_absorbed(latent)) return;
  AttentionSizes& sizes = weights.sizes;
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  Tensor<T> W_UQ({latent.W_UQ.shape()[0], sizes.n_heads * sizes.kv_rank});
  Tensor<T> W_O({sizes.n_heads * sizes.kv_rank, sizes.d_model});
  for (std::size_t i = 0; i < sizes.n_heads; ++i) {
    gemm_transposed(T{1}, head_of(std::as_const(latent.W_UQ).matrix(), i, d_nope),
                    head_of(std::as_const(latent.W_UK).matrix(), i, d_nope), T{0},
                    head_of(W_UQ.matrix(), i, sizes.kv_rank));
    gemm(T{1}, head_of(std::as_const(latent.W_UV).matrix(), i, sizes.d_v),
         std::as_const(weights.W_O).matrix().row_block(i * sizes.d_v, sizes.d_v), T{0},
         W_O.matrix().row_block(i * sizes.kv_rank, sizes.kv_rank));
  }
  settings.scale = scale_of(settings, sizes.d_head);
  latent.W_UQ = std::move(W_UQ);
  latent.W_UK = Tensor<T>();
  latent.W_UV = Tensor<T>();
  weights.W_O = std::move(W_O);
  sizes.n_kv_heads = 1;
  sizes.d_head = sizes.kv_rank + sizes.d_rope;
  sizes.d_v = sizes.kv_rank;
}

template void latent_queries(const LatentWeights<float>&, const AttentionSizes&, double,
                             ConstMatrixView<float>, MatrixView<float>, MatrixView<float>);
template void latent_keys(const LatentWeights<float>&, const AttentionSizes&, double,
                          ConstMatrixView<float>, MatrixView<float>, MatrixView<float>);
template void absorb(AttentionWeights<float>&, AttentionSettings&);
template void latent_queries(const LatentWeights<double>&, const AttentionSizes&, double,
                             ConstMatrixView<double>, MatrixView<double>, MatrixView<double>);
template void latent_keys(const LatentWeights<double>&, const AttentionSizes&, double,
                          ConstMatrixView<double>, MatrixView<double>, MatrixView<double>);
template void absorb(AttentionWeights<double>&, AttentionSettings&);

}  // namespace mha
