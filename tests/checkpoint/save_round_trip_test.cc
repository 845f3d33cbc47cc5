// What is written is read again, to the bit, over encoders of every kind.

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "checkpoint/load.h"
#include "checkpoint/save.h"
#include "files/archive_writer.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t count(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(engine_);
  }
  bool toss() { return count(0, 1) == 1; }
  double number() { return std::uniform_real_distribution<double>(-2, 2)(engine_); }
  // Half of the tensors hold nothing but floats.
  Tensor<double> tensor(Shape shape) {
    Tensor<double> result(std::move(shape));
    const bool floats = toss();
    for (double& value : result.values()) {
      value = number();
      if (floats) value = static_cast<double>(static_cast<float>(value));
    }
    return result;
  }
  Tensor<double> maybe(bool there, Shape shape) {
    return there ? tensor(std::move(shape)) : Tensor<double>();
  }
  template <typename Value>
  Value one_of() {
    return static_cast<Value>(count(0, value_names<Value>().size() - 1));
  }

 private:
  std::mt19937 engine_;
};

// Sizes that all layers share. Keys and values of other widths only where
// attention stands alone.
AttentionSizes roll_sizes(Dice& dice, bool alone) {
  AttentionSizes sizes;
  sizes.d_model = dice.count(2, 6);
  sizes.d_key = alone ? dice.count(2, 6) : sizes.d_model;
  sizes.d_value = alone ? dice.count(2, 6) : sizes.d_model;
  sizes.n_kv_heads = dice.count(1, 3);
  sizes.n_heads = sizes.n_kv_heads * dice.count(1, 2);
  sizes.d_head = 2 * dice.count(1, 3);
  sizes.d_v = dice.count(1, 4);
  if (dice.count(0, 3) != 0) {
    sizes.bias_key = dice.toss();
    sizes.zero_key = dice.toss();
    return sizes;
  }
  sizes.d_rope = 2 * dice.count(1, 2);
  sizes.d_head = dice.count(1, 3) + sizes.d_rope;
  sizes.kv_rank = dice.count(2, 5);
  sizes.q_rank = dice.toss() ? dice.count(2, 5) : 0;
  sizes.n_kv_heads = sizes.n_heads;
  sizes.d_key = sizes.d_value = sizes.d_model;
  return sizes;
}

LatentWeights<double> roll_latent(Dice& dice, const AttentionSizes& sizes) {
  const std::size_t d_nope = sizes.d_head - sizes.d_rope;
  const std::size_t q_rows = sizes.q_rank != 0 ? sizes.q_rank : sizes.d_model;
  LatentWeights<double> latent;
  latent.W_DQ = dice.maybe(sizes.q_rank != 0, {sizes.d_model, sizes.q_rank});
  latent.q_latent_norm = dice.maybe(sizes.q_rank != 0, {sizes.q_rank});
  latent.W_UQ = dice.tensor({q_rows, sizes.n_heads * d_nope});
  latent.W_QR = dice.tensor({q_rows, sizes.n_heads * sizes.d_rope});
  latent.W_DKV = dice.tensor({sizes.d_model, sizes.kv_rank});
  latent.kv_latent_norm = dice.tensor({sizes.kv_rank});
  latent.W_UK = dice.tensor({sizes.kv_rank, sizes.n_heads * d_nope});
  latent.W_UV = dice.tensor({sizes.kv_rank, sizes.n_heads * sizes.d_v});
  latent.W_KR = dice.tensor({sizes.d_model, sizes.d_rope});
  return latent;
}

AttentionWeights<double> roll_attention(Dice& dice, const AttentionSizes& shared,
                                        bool relative) {
  AttentionWeights<double> weights;
  AttentionSizes& sizes = weights.sizes;
  sizes = shared;
  const std::size_t d_model = sizes.d_model;
  const bool biases = dice.toss();
  if (sizes.kv_rank != 0) {
    weights.latent = roll_latent(dice, sizes);
  } else {
    const std::size_t q = sizes.n_heads * sizes.d_head;
    const std::size_t k = sizes.n_kv_heads * sizes.d_head;
    const std::size_t v = sizes.n_kv_heads * sizes.d_v;
    weights.W_Q = dice.tensor({d_model, q});
    weights.W_K = dice.tensor({sizes.d_key, k});
    weights.W_V = dice.tensor({sizes.d_value, v});
    weights.b_Q = dice.maybe(biases, {q});
    weights.b_K = dice.maybe(biases && dice.toss(), {k});
    weights.b_V = dice.maybe(biases, {v});
    weights.bias_k = dice.maybe(sizes.bias_key, {k});
    weights.bias_v = dice.maybe(sizes.bias_key, {v});
    weights.relative_bias = dice.maybe(relative, {8, sizes.n_heads});
  }
  weights.W_O = dice.tensor({sizes.n_heads * sizes.d_v, d_model});
  weights.b_O = dice.maybe(biases, {d_model});
  return weights;
}

NormWeights<double> roll_norm(Dice& dice, std::size_t d_model, NormType type) {
  return {dice.tensor({d_model}),
          dice.maybe(type == NormType::layer && dice.toss(), {d_model})};
}

LayerSettings roll_settings(Dice& dice, const AttentionWeights<double>& weights) {
  LayerSettings settings;
  AttentionSettings& attention = settings.attention;
  if (dice.toss()) attention.scale = 0.1 + dice.count(1, 9) / 7.0;
  if (dice.toss()) attention.softcap = 30.3;
  attention.causal = dice.one_of<Causal>();
  attention.rope = dice.one_of<Rope>();
  if (weights.latent && attention.rope == Rope::none) attention.rope = Rope::pairs;
  if (attention.rope != Rope::none && dice.toss()) attention.rope_theta = 1e6;
  if (dice.toss()) attention.window = dice.count(0, 9);
  if (!weights.relative_bias.empty()) attention.relative_distance = dice.count(9, 200);
  if (weights.latent && dice.toss()) attention.latent_eps = 3e-7;
  return settings;
}

Encoder<double> roll(unsigned seed) {
  Dice dice(seed);
  Encoder<double> encoder;
  const std::size_t n_layers = dice.count(1, 3);
  const bool whole = n_layers > 1 || dice.toss();
  const AttentionSizes sizes = roll_sizes(dice, !whole);
  const std::size_t d_model = sizes.d_model;
  const bool relative = dice.count(0, 3) == 0;
  const auto type = dice.one_of<NormType>();
  for (std::size_t index = 0; index < n_layers; ++index) {
    Layer<double> layer;
    layer.index = index;
    layer.attention = roll_attention(dice, sizes, relative);
    layer.settings = roll_settings(dice, layer.attention);
    layer.settings.part = whole ? Part::layer : Part::attention;
    if (whole) {
      const std::size_t d_ff = dice.count(1, 7);
      const bool gated = dice.toss();
      const bool biases = dice.toss();
      layer.settings.norm = dice.one_of<NormPlacement>();
      layer.settings.norm_type = type;
      layer.settings.activation = dice.one_of<Activation>();
      if (dice.toss()) layer.settings.eps = 1e-12;
      // A layer may do without a norm, as ModernBERT's first does.
      if (dice.count(0, 3) != 0) layer.norm1 = roll_norm(dice, d_model, type);
      if (dice.count(0, 7) != 0) layer.norm2 = roll_norm(dice, d_model, type);
      layer.feed_forward.W_1 = dice.tensor({d_model, d_ff});
      layer.feed_forward.b_1 = dice.maybe(biases, {d_ff});
      layer.feed_forward.W_G = dice.maybe(gated, {d_model, d_ff});
      layer.feed_forward.b_G = dice.maybe(gated && biases, {d_ff});
      layer.feed_forward.W_2 = dice.tensor({d_ff, d_model});
      layer.feed_forward.b_2 = dice.maybe(biases, {d_model});
    }
    encoder.layers.push_back(std::move(layer));
  }
  if (whole && dice.toss()) encoder.norm = roll_norm(dice, d_model, type);
  return encoder;
}

Archive write_and_open(const TempFolder& folder, const std::string& name,
                       const Archive& archive) {
  const std::string path = folder / name;
  WholeFile file(path);
  write_archive(file, archive_format_of_path(path), archive);
  file.commit();
  return open_archive(path);
}

void check_same(const char* name, const Tensor<double>& read, const Tensor<double>& written) {
  INFO(name);
  CHECK(read.shape() == written.shape());
  REQUIRE(read.size() == written.size());
  bool same = true;
  for (std::size_t i = 0; i < read.size(); ++i) {
    same = same && std::bit_cast<std::uint64_t>(read.data()[i]) ==
                       std::bit_cast<std::uint64_t>(written.data()[i]);
  }
  CHECK(same);
}

void check_same(const AttentionWeights<double>& read,
                const AttentionWeights<double>& written) {
  CHECK(read.sizes.n_heads == written.sizes.n_heads);
  CHECK(read.sizes.n_kv_heads == written.sizes.n_kv_heads);
  CHECK(read.sizes.d_head == written.sizes.d_head);
  CHECK(read.sizes.d_v == written.sizes.d_v);
  CHECK(read.sizes.bias_key == written.sizes.bias_key);
  CHECK(read.sizes.zero_key == written.sizes.zero_key);
  CHECK(read.sizes.q_rank == written.sizes.q_rank);
  CHECK(read.sizes.kv_rank == written.sizes.kv_rank);
  CHECK(read.sizes.d_rope == written.sizes.d_rope);
  check_same("W_Q", read.W_Q, written.W_Q);
  check_same("W_K", read.W_K, written.W_K);
  check_same("W_V", read.W_V, written.W_V);
  check_same("W_O", read.W_O, written.W_O);
  check_same("b_Q", read.b_Q, written.b_Q);
  check_same("b_K", read.b_K, written.b_K);
  check_same("b_V", read.b_V, written.b_V);
  check_same("b_O", read.b_O, written.b_O);
  check_same("bias_k", read.bias_k, written.bias_k);
  check_same("bias_v", read.bias_v, written.bias_v);
  check_same("relative_bias", read.relative_bias, written.relative_bias);
  REQUIRE(read.latent.has_value() == written.latent.has_value());
  if (!read.latent) return;
  check_same("W_DQ", read.latent->W_DQ, written.latent->W_DQ);
  check_same("q_latent_norm", read.latent->q_latent_norm, written.latent->q_latent_norm);
  check_same("W_UQ", read.latent->W_UQ, written.latent->W_UQ);
  check_same("W_QR", read.latent->W_QR, written.latent->W_QR);
  check_same("W_DKV", read.latent->W_DKV, written.latent->W_DKV);
  check_same("kv_latent_norm", read.latent->kv_latent_norm, written.latent->kv_latent_norm);
  check_same("W_UK", read.latent->W_UK, written.latent->W_UK);
  check_same("W_UV", read.latent->W_UV, written.latent->W_UV);
  check_same("W_KR", read.latent->W_KR, written.latent->W_KR);
}

void check_same(const LayerSettings& read, const LayerSettings& written) {
  CHECK(read.attention.softcap == written.attention.softcap);
  CHECK(read.attention.causal == written.attention.causal);
  CHECK(read.attention.rope == written.attention.rope);
  CHECK(read.attention.rope_theta == written.attention.rope_theta);
  CHECK(read.attention.window == written.attention.window);
  CHECK(read.attention.relative_distance == written.attention.relative_distance);
  CHECK(read.attention.latent_eps == written.attention.latent_eps);
  CHECK(read.norm == written.norm);
  CHECK(read.norm_type == written.norm_type);
  CHECK(read.activation == written.activation);
  CHECK(read.eps == written.eps);
  CHECK(read.part == written.part);
}

void check_same(const Encoder<double>& read, const Encoder<double>& written) {
  REQUIRE(read.layers.size() == written.layers.size());
  for (std::size_t i = 0; i < read.layers.size(); ++i) {
    INFO("layer " << i);
    const Layer<double>& a = read.layers[i];
    const Layer<double>& b = written.layers[i];
    check_same(a.settings, b.settings);
    CHECK(a.settings.attention.scale ==
          scale_of(b.settings.attention, b.sizes().attention.d_head));
    check_same(a.attention, b.attention);
    check_same("norm1.weight", a.norm1.weight, b.norm1.weight);
    check_same("norm1.bias", a.norm1.bias, b.norm1.bias);
    check_same("norm2.weight", a.norm2.weight, b.norm2.weight);
    check_same("norm2.bias", a.norm2.bias, b.norm2.bias);
    check_same("W_1", a.feed_forward.W_1, b.feed_forward.W_1);
    check_same("b_1", a.feed_forward.b_1, b.feed_forward.b_1);
    check_same("W_G", a.feed_forward.W_G, b.feed_forward.W_G);
    check_same("b_G", a.feed_forward.b_G, b.feed_forward.b_G);
    check_same("W_2", a.feed_forward.W_2, b.feed_forward.W_2);
    check_same("b_2", a.feed_forward.b_2, b.feed_forward.b_2);
  }
  check_same("norm.weight", read.norm.weight, written.norm.weight);
  check_same("norm.bias", read.norm.bias, written.norm.bias);
}

}  // namespace

TEST_CASE("every encoder comes back from every container, and from a conversion of it") {
  const TempFolder folder;
  const unsigned seed = GENERATE(range(0U, 40U));
  INFO("seed " << seed);
  const Encoder<double> encoder = roll(seed);
  const std::string name = std::vector<std::string>{"w.json", "w.npz", "w.bin"}[seed % 3];
  const OpenedModel model =
      open_model(write_and_open(folder, name, native_archive(encoder)), {});
  check_same(read_model<double>(model, {}), encoder);

  const std::string other =
      std::vector<std::string>{"c.safetensors", "c.json", "c.npz"}[seed % 3];
  const OpenedModel converted =
      open_model(write_and_open(folder, other, native_archive(model, {})), {});
  check_same(read_model<double>(converted, {}), encoder);
}
