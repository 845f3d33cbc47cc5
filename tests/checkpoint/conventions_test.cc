// Conventions that are often taken for one another: mistaken once in a loaded
// checkpoint, each puts the result far from its golden. A mix-up in a scheme
// therefore fails scheme_golden_test.cc.
#include <functional>
#include <numeric>
#include <utility>

#include "scheme_golden.h"

namespace mha {
namespace {

using Mistake = std::function<void(Layer<double>&)>;

struct Convention {
  std::string what;
  SchemeGolden golden;
  Mistake mistake;  // made in every layer
};

const SchemeGolden kBert = {"bert/model.safetensors", "bert", {}};
const SchemeGolden kVit = {"vit/model.safetensors", "vit", {}};
const SchemeGolden kTimm = {"timm_vit/model.safetensors", "timm", with_heads(4)};
const SchemeGolden kArticle = {"article/model.safetensors", "article", with_heads(4)};
const SchemeGolden kGpt2 = {"gpt2/pytorch_model.bin", "gpt2", {}};
const SchemeGolden kLlama = {"llama/model.safetensors", "llama", {}};
const SchemeGolden kMistral = {"mistral/model.safetensors", "mistral", {}};
const SchemeGolden kDeepSeek = {"deepseek_v2/model.safetensors", "deepseek", {}};
const SchemeGolden kModernBert = {"modernbert/model.safetensors", "modernbert", {}};
const SchemeGolden kNomic = {"nomic_bert/model.safetensors", "nomic-bert", {}};
const SchemeGolden kT5 = {"t5/model.safetensors", "t5", with_prefix("encoder.")};
const SchemeGolden kT5Gated = {"t5_gated/model.safetensors", "t5", {}};
const SchemeGolden kClipText = {"clip/model.safetensors", "clip", with_prefix("text_model."),
                                "text.npz"};

Mistake activation(Activation other) {
  return [other](Layer<double>& layer) { layer.settings.activation = other; };
}
Mistake eps(double other) {
  return [other](Layer<double>& layer) { layer.settings.eps = other; };
}
Mistake rope(Rope other) {
  return [other](Layer<double>& layer) { layer.settings.attention.rope = other; };
}
Mistake theta(double other) {
  return [other](Layer<double>& layer) { layer.settings.attention.rope_theta = other; };
}
Mistake causal(Causal other) {
  return [other](Layer<double>& layer) { layer.settings.attention.causal = other; };
}
// Where a layer has a window, one key more or less.
Mistake window(int more) {
  return [more](Layer<double>& layer) {
    auto& width = layer.settings.attention.window;
    if (width) *width = static_cast<std::size_t>(static_cast<int>(*width) + more);
  };
}

void transpose(Tensor<double>& square) {
  const auto values = square.matrix();
  REQUIRE(values.rows == values.cols);
  for (std::size_t i = 0; i < values.rows; ++i) {
    for (std::size_t j = 0; j < i; ++j) std::swap(values(i, j), values(j, i));
  }
}

// Column j of the result is column order(j) of W, row i is row order(i).
template <typename Order>
void reorder_columns(Tensor<double>& W, Order order) {
  const std::vector<double> from(W.values().begin(), W.values().end());
  const auto to = W.matrix();
  for (std::size_t i = 0; i < to.rows; ++i) {
    for (std::size_t j = 0; j < to.cols; ++j) to(i, j) = from[i * to.cols + order(j)];
  }
}
template <typename Order>
void reorder_rows(Tensor<double>& W, Order order) {
  const std::vector<double> from(W.values().begin(), W.values().end());
  const auto to = W.matrix();
  for (std::size_t i = 0; i < to.rows; ++i) {
    for (std::size_t j = 0; j < to.cols; ++j) to(i, j) = from[order(i) * to.cols + j];
  }
}

// Heads as every n_heads-th column, as if an output were [d_head, n_heads].
void deal_heads_out(Layer<double>& layer) {
  const AttentionSizes& sizes = layer.attention.sizes;
  reorder_columns(layer.attention.W_Q, [&](std::size_t j) {
    return j % sizes.d_head * sizes.n_heads + j / sizes.d_head;
  });
}

// Query head r reads kv head r % n_kv_heads: the heads in an order in which
// that is their group's.
void tile_kv_heads(Layer<double>& layer) {
  const AttentionSizes& sizes = layer.attention.sizes;
  const std::size_t group = sizes.n_heads / sizes.n_kv_heads;
  const auto from = [&](std::size_t place, std::size_t width) {
    const std::size_t head = place / width;
    return (head % group * sizes.n_kv_heads + head / group) * width + place % width;
  };
  reorder_columns(layer.attention.W_Q, [&](std::size_t j) { return from(j, sizes.d_head); });
  reorder_rows(layer.attention.W_O, [&](std::size_t i) { return from(i, sizes.d_v); });
}

std::vector<Convention> conventions() {
  return {
      {"gelu by tanh for gelu by erf", kBert, activation(Activation::gelu_tanh)},
      {"quick_gelu for gelu", kBert, activation(Activation::quick_gelu)},
      {"gelu by erf for gelu_new", kGpt2, activation(Activation::gelu)},
      {"gelu for quick_gelu", kClipText, activation(Activation::gelu)},
      {"gelu for relu", kT5, activation(Activation::gelu)},
      {"gelu for silu", kLlama, activation(Activation::gelu)},
      {"BERT's eps for PyTorch's", kTimm, eps(1e-12)},
      {"PyTorch's eps for timm's", kTimm, eps(1e-5)},
      {"PyTorch's eps for the config's", kGpt2, eps(1e-5)},
      {"pre-norm for post-norm", kBert,
       [](Layer<double>& layer) { layer.settings.norm = NormPlacement::pre; }},
      {"post-norm for pre-norm", kVit,
       [](Layer<double>& layer) { layer.settings.norm = NormPlacement::post; }},
      {"layer norm for RMS norm", kLlama,
       [](Layer<double>& layer) { layer.settings.norm_type = NormType::layer; }},
      {"the two norms swapped", kVit,
       [](Layer<double>& layer) { std::swap(layer.norm1, layer.norm2); }},
      {"W_Q transposed", kArticle, [](Layer<double>& l) { transpose(l.attention.W_Q); }},
      {"W_O transposed", kArticle, [](Layer<double>& l) { transpose(l.attention.W_O); }},
      {"[in, out] taken for [out, in]", kGpt2,
       [](Layer<double>& l) { transpose(l.attention.W_O); }},
      {"queries and keys swapped", kBert,
       [](Layer<double>& l) { std::swap(l.attention.W_Q, l.attention.W_K); }},
      {"keys and values swapped", kBert,
       [](Layer<double>& l) { std::swap(l.attention.W_K, l.attention.W_V); }},
      {"heads dealt out over the columns", kArticle, deal_heads_out},
      {"kv heads tiled for repeated", kLlama, tile_kv_heads},
      {"rotary pairs for halves", kLlama, rope(Rope::pairs)},
      {"no rotary positions", kNomic, rope(Rope::none)},
      {"rotary halves for pairs", kDeepSeek, rope(Rope::halves)},
      {"the usual theta for the config's", kLlama, theta(10000.0)},
      {"the usual theta for nomic-bert's", kNomic, theta(10000.0)},
      {"the global theta everywhere", kModernBert, theta(8000.0)},
      {"the norms' eps in the latents", kDeepSeek,
       [](Layer<double>& l) { l.settings.attention.latent_eps = l.settings.eps; }},
      {"a window one wider", kMistral, window(+1)},
      {"a window one narrower", kMistral, window(-1)},
      {"a window one wider on both sides", kModernBert, window(+1)},
      {"a window one narrower on both sides", kModernBert, window(-1)},
      {"windows dropped", kModernBert,
       [](Layer<double>& l) { l.settings.attention.window.reset(); }},
      {"not causal", kGpt2, causal(Causal::off)},
      {"causal", kBert, causal(Causal::start)},
      {"the gate's halves swapped", kModernBert,
       [](Layer<double>& l) { std::swap(l.feed_forward.W_G, l.feed_forward.W_1); }},
      {"fc11 taken for the gate", kNomic,
       [](Layer<double>& l) { std::swap(l.feed_forward.W_G, l.feed_forward.W_1); }},
      {"wi_1 taken for the gate", kT5Gated,
       [](Layer<double>& l) { std::swap(l.feed_forward.W_G, l.feed_forward.W_1); }},
      {"scores scaled where T5 does not", kT5,
       [](Layer<double>& l) { l.settings.attention.scale.reset(); }},
      {"T5's far distance", kT5,
       [](Layer<double>& l) { l.settings.attention.relative_distance = 128; }},
  };
}

}  // namespace

TEST_CASE("a convention mistaken for another is far from the golden") {
  for (const Convention& convention : conventions()) {
    CAPTURE(convention.what);
    const Archive archive = open_archive(scheme_path(convention.golden.file));
    const ModelOptions& options = convention.golden.options;
    auto encoder = read_model<double>(open_model(archive, options), options);
    for (Layer<double>& layer : encoder.layers) convention.mistake(layer);
    // The nearest, the two gelus, are 1.5e-4 apart; f32 is held to 1e-5.
    CHECK(run_golden(encoder, expected_of(convention.golden)).y > 1e-4);
  }
}

TEST_CASE("options say what a checkpoint should have said otherwise") {
  const Archive expected = expected_of(kBert);
  const Archive archive = open_archive(scheme_path(kBert.file));
  const auto off_by = [&](const ModelOptions& options) {
    const auto encoder = read_model<double>(open_model(archive, options), options);
    return run_golden(encoder, expected).y;
  };
  ModelOptions options;
  CHECK(off_by(options) < 1e-12);
  SECTION("--activation") {
    options.activation = Activation::gelu_tanh;
    CHECK(off_by(options) > 1e-4);
    options.activation = Activation::gelu;
    CHECK(off_by(options) < 1e-12);
  }
  SECTION("--norm") {
    options.norm = NormPlacement::pre;
    CHECK(off_by(options) > 1e-2);
  }
  SECTION("--eps") {
    options.eps = 1e-2;
    CHECK(off_by(options) > 1e-4);
  }
  SECTION("--causal") {
    options.causal = Causal::start;
    CHECK(off_by(options) > 1e-2);
  }
  SECTION("--rope") {
    options.rope = Rope::halves;
    CHECK(off_by(options) > 1e-2);
  }
  SECTION("--scale") {
    options.scale = 1.0;
    CHECK(off_by(options) > 1e-2);
  }
}

}  // namespace mha
