#pragma once

#include <algorithm>
#include <string>

#include "files/archive.h"
#include "layer/attention.h"

// Weights, inputs and masks as the files in tests/golden, models and data hold
// them.
namespace mha {

inline std::string source_path(const std::string& name) {
  return std::string(MHA_SOURCE_DIR) + "/" + name;
}

template <typename T>
Tensor<T> read(const Archive& archive, const std::string& name) {
  return read_tensor<T>(archive, archive.at(name));
}

// One tensor of the native layout, [heads, rows, cols]: a member of that name,
// or one a head, `heads[0].W_Q` …; empty where there is none.
template <typename T>
Tensor<T> stacked(const Archive& archive, const std::string& name) {
  if (archive.find(name) != nullptr) return read<T>(archive, name);
  Tensor<T> result;
  const auto member = [&](std::size_t head) {
    return archive.find("heads[" + std::to_string(head) + "]." + name);
  };
  std::size_t heads = 0;
  while (member(heads) != nullptr) ++heads;
  for (std::size_t head = 0; head < heads; ++head) {
    const auto one = read_tensor<T>(archive, *member(head));
    if (head == 0) {
      Shape shape = one.shape();
      shape.insert(shape.begin(), heads);
      result = Tensor<T>(std::move(shape));
    }
    std::copy_n(one.data(), one.size(), result.data() + head * one.size());
  }
  return result;
}

// [heads, in, out] to [in, heads * out].
template <typename T>
Tensor<T> side_by_side(const Tensor<T>& W) {
  const std::size_t heads = W.shape()[0];
  const std::size_t in = W.shape()[1];
  const std::size_t out = W.shape()[2];
  Tensor<T> result({in, heads * out});
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < in; ++i) {
      std::copy_n(W.matrix(h).row(i), out, result.matrix().row(i) + h * out);
    }
  }
  return result;
}

// Of a file whose kv heads are as many as its heads.
template <typename T>
AttentionWeights<T> read_weights(const Archive& archive) {
  const auto W_Q = stacked<T>(archive, "W_Q");
  const auto W_K = stacked<T>(archive, "W_K");
  const auto W_V = stacked<T>(archive, "W_V");
  AttentionWeights<T> weights;
  weights.sizes = {W_Q.shape()[1], W_K.shape()[1], W_V.shape()[1], W_Q.shape()[0],
                   W_K.shape()[0], W_Q.shape()[2], W_V.shape()[2]};
  weights.W_Q = side_by_side(W_Q);
  weights.W_K = side_by_side(W_K);
  weights.W_V = side_by_side(W_V);
  weights.W_O = stacked<T>(archive, "W_O");
  weights.W_O.reshape({W_V.shape()[0] * W_V.shape()[2], W_Q.shape()[1]});
  weights.b_Q = stacked<T>(archive, "b_Q");
  weights.b_K = stacked<T>(archive, "b_K");
  weights.b_V = stacked<T>(archive, "b_V");
  weights.b_O = stacked<T>(archive, "b_O");
  weights.bias_k = stacked<T>(archive, "bias_k");
  weights.bias_v = stacked<T>(archive, "bias_v");
  weights.sizes.bias_key = !weights.bias_k.empty();
  weights.sizes.zero_key = archive.settings.count("add_zero_attn") == 1;
  return weights;
}

// drop_mask, keep_mask and add_mask, where the file has them.
template <typename T>
Mask<T> read_mask(const Archive& archive, const MaskAxes& axes) {
  Mask<T> mask;
  for (const std::string name : {"drop_mask", "keep_mask"}) {
    if (archive.find(name) == nullptr) continue;
    const auto values = read<float>(archive, name);
    Tensor<std::uint8_t> drop(values.shape());
    for (std::size_t i = 0; i < values.size(); ++i) {
      drop.data()[i] = (values.data()[i] != 0.0F) == (name == "drop_mask") ? 1 : 0;
    }
    mask.drop.push_back(broadcast_mask(std::move(drop), axes, name));
  }
  if (archive.find("add_mask") != nullptr) {
    mask.add.push_back(broadcast_mask(read<T>(archive, "add_mask"), axes, "add_mask"));
  }
  return mask;
}

}  // namespace mha
