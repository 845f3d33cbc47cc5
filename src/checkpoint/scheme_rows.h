#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "checkpoint/schemes.h"

namespace mha {

// What rows of the table are made of. A name stands without the ".weight" or
// ".bias" behind it.

// Whether a bias goes with a weight.
struct Bias {
  bool there = true;
  Need need = Need::always;
  std::string group{};
};
inline Bias with_bias() { return {}; }
inline Bias no_bias() { return {false}; }
// All biases of a group, or none.
inline Bias bias_group(std::string group) { return {true, Need::together, std::move(group)}; }

// nn.Linear: NAME.weight [out, in] and NAME.bias [out]. `what` is the letter of
// W_ and b_; other names for the same stand behind `name`.
Rules linear(const std::string& what, const std::vector<std::string>& names, const Bias& bias,
             const Cut& cut = {});
// Conv1D of GPT-2: NAME.weight [in, out].
Rules conv1d(const std::string& what, const std::string& name, const Cut& cut = {});
// q, k and v in one nn.Linear or Conv1D, one below the other.
Rules fused_linear(const std::string& name, const Bias& bias);
Rules fused_conv1d(const std::string& name);
// nn.MultiheadAttention: PREFIXin_proj_weight … PREFIXout_proj.
Rules multihead(const std::string& prefix, const Bias& bias);
// Flax and Keras: PREFIXquery.kernel [in, heads, out] …, the last one by `out`.
Rules head_axis(const std::string& prefix, const std::string& out);
// NAME.weight and NAME.bias (or gamma and beta) as norm1, norm2 or norm.
Rules layer_norm(const std::string& native, const std::string& name, Need need = Need::always,
                 const Bias& bias = with_bias());
Rules rms_norm(const std::string& native, const std::string& name);

// What stands in front of the layers, under `prefix`: word_embeddings,
// position_embeddings, LayerNorm, and token_type_embeddings where there are types.
Rules bert_embeddings(const std::string& prefix, bool token_types);

Rules join(std::initializer_list<Rules> parts);

// The row that is left of a layer's where a file holds its attention alone,
// with or without the prefix of attention's names.
Scheme attention_of(const Scheme& scheme);

// The rows, by the file that they stand in.
std::vector<Scheme> torch_schemes();
std::vector<Scheme> bert_schemes();
std::vector<Scheme> vision_schemes();
std::vector<Scheme> seq2seq_schemes();
std::vector<Scheme> decoder_schemes();
std::vector<Scheme> attention_schemes();
std::vector<Scheme> undone_schemes();

}  // namespace mha
