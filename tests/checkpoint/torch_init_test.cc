// PyTorch's draws to the bit: tests/golden/make_torch_goldens.py made the same
// calls, and the bit patterns here are what PyTorch 1.13 printed.

#include "checkpoint/torch_init.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "catch.h"
#include "support/error_of.h"
#include "support/golden.h"

namespace mha {
namespace {

using Values = std::vector<float>;

Values randn(TorchRandom& random, std::size_t count) {
  Values values(count);
  random.normal(values, 0.0, 1.0);
  return values;
}

Values uniform(TorchRandom& random, std::size_t count, double low, double high) {
  Values values(count);
  random.uniform(values, low, high);
  return values;
}

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return bits_of(a) == bits_of(b);
}

void append(Values& to, std::span<const float> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// nn.Linear's parameters in PyTorch's order.
Values linear(TorchRandom& random, std::size_t in, std::size_t out) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  Values values = uniform(random, in * out, -bound, bound);
  append(values, uniform(random, out, -bound, bound));
  return values;
}

// [out, in] of PyTorch as our [in, out].
Values turned(const Tensor<float>& W) {
  Values values;
  for (std::size_t i = 0; i < W.shape()[1]; ++i) {
    for (std::size_t o = 0; o < W.shape()[0]; ++o) {
      values.push_back(W.data()[o * W.shape()[1] + i]);
    }
  }
  return values;
}

// The parameters of one case of torch_modules.npz.
class Case {
 public:
  explicit Case(std::string name) : name_(std::move(name) + ".") {}

  Tensor<float> at(const std::string& key) const { return read<float>(archive_, name_ + key); }
  bool is(const std::string& key, const Tensor<float>& ours) const {
    return same_bits(at(key).values(), ours.values());
  }
  bool is_turned(const std::string& key, const Tensor<float>& ours) const {
    return same_bits(turned(at(key)), ours.values());
  }
  // The thirds of in_proj_weight.
  bool is_packed(const std::string& prefix, const AttentionWeights<float>& ours) const {
    const Tensor<float> packed = at(prefix + "in_proj_weight");
    const std::size_t d_model = packed.shape()[1];
    bool same = true;
    const Tensor<float>* const thirds[] = {&ours.W_Q, &ours.W_K, &ours.W_V};
    for (std::size_t part = 0; part < 3; ++part) {
      Tensor<float> third({d_model, d_model});
      std::copy_n(packed.data() + part * third.size(), third.size(), third.data());
      same = same && same_bits(turned(third), thirds[part]->values());
    }
    return same;
  }
  // Whether torch.randn(1, 4, 8) after the module gives what it gave.
  bool is_next(TorchRandom& random) const {
    return same_bits(at("next").values(), randn(random, 32));
  }

 private:
  Archive archive_ = open_archive(source_path("tests/golden/torch_modules.npz"));
  std::string name_;
};

}  // namespace

TEST_CASE("uniform numbers are torch.rand's and uniform_'s") {
  TorchRandom random(0);
  CHECK(bits_of(uniform(random, 4, 0.0, 1.0)) ==
        std::vector<std::uint32_t>{0x3efe1558, 0x3f44aa2f, 0x3db533a8, 0x3e073300});
  random = TorchRandom(0);
  CHECK(bits_of(uniform(random, 4, -0.3, 0.3)) ==
        std::vector<std::uint32_t>{0xbb133267, 0x3e24cba4, 0xbe7cd6e8, 0xbe62149a});
}

TEST_CASE("normal numbers are torch.randn's, under 16 and from 16 on") {
  TorchRandom random(0);
  CHECK(bits_of(randn(random, 5)) == std::vector<std::uint32_t>{0x3fc53f5c, 0xbe963c50,
                                                                0xc00b7149, 0x3f1184b6,
                                                                0xbf8ad1a1});
  random = TorchRandom(0);
  CHECK(bits_of(randn(random, 16)) ==
        std::vector<std::uint32_t>{0xbf901b85, 0xbf93808a, 0xbe804bd6, 0xbede255d, 0x3f594515,
                                   0x3f312783, 0xbea1cc6d, 0xc0075fc1, 0x3ea50138, 0xbfa1b4f4,
                                   0x3eb330ff, 0x3e9dc3bb, 0x3df56f77, 0x3f9e6b93, 0x3f8ef28e,
                                   0xbe7d367c});
  random = TorchRandom(0);
  const auto twenty = bits_of(randn(random, 20));
  CHECK(std::vector(twenty.begin(), twenty.begin() + 8) ==
        std::vector<std::uint32_t>{0xbf901b85, 0xbf93808a, 0xbe804bd6, 0xbede255d, 0x3f194d8b,
                                   0xbfc70d5b, 0xbeaec6ca, 0x3fed2f4e});
  CHECK(std::vector(twenty.begin() + 16, twenty.end()) ==
        std::vector<std::uint32_t>{0x3f6e8c30, 0x3fa12737, 0x4000519a, 0x3d5c1b3a});
  random = TorchRandom(42);
  const auto matrix = bits_of(randn(random, 24));
  CHECK(std::vector(matrix.begin(), matrix.begin() + 4) ==
        std::vector<std::uint32_t>{0x3ff6a529, 0x3fbe5f53, 0x3f669567, 0xc006c0db});
  CHECK(std::vector(matrix.end() - 4, matrix.end()) ==
        std::vector<std::uint32_t>{0xbf178d59, 0xbd812d24, 0xbf541c22, 0x3ea96b85});
}

TEST_CASE("a Linear layer draws its weight, then its bias, and randn goes on from there") {
  TorchRandom random(0);
  CHECK(bits_of(linear(random, 4, 4)) ==
        std::vector<std::uint32_t>{
            0xbb755400, 0x3e89545e, 0xbed2b316, 0xbebc6680, 0xbe4532f4, 0x3e094bec, 0xbc224f40,
            0x3ecaface, 0xbd35bf70, 0x3e077b4c, 0xbe1abbac, 0xbdc94870, 0xbef491b8, 0xbea98b52,
            0xbe530ee8, 0x3c97bb00, 0x3e4a6960, 0x3e999b18, 0xbead8d8c, 0xbe5ef4fc});
  CHECK(bits_of(randn(random, 12)) ==
        std::vector<std::uint32_t>{0xbf18bd18, 0x3e3a67c6, 0xbf5b4f07, 0x3f8ce099, 0xbf891cab,
                                   0x3dfb4aca, 0xbf10fa2f, 0x3ebf08e2, 0xbf6459ce, 0xbfc12a71,
                                   0x3ebda439, 0x3fba6ead});
}

TEST_CASE("a row of mixed calls draws what torch drew, for seeds of any sign and size") {
  const Archive golden = open_archive(source_path("tests/golden/torch_random.npz"));
  const auto [name, seed] =
      GENERATE(table<std::string, std::uint64_t>({{"seed0", 0},
                                                  {"seed1", 1},
                                                  {"seed42", 42},
                                                  {"seed4294967301", (1ULL << 32U) + 5},
                                                  {"seed-1", ~0ULL}}));
  TorchRandom random(seed);
  Values drawn;
  for (std::size_t count = 1; count <= 40; ++count) append(drawn, randn(random, count));
  append(drawn, uniform(random, 7, -0.3, 0.3));
  append(drawn, linear(random, 5, 3));
  append(drawn, randn(random, 3));
  for (const std::size_t count : {33U, 5U}) {
    Values values(count);
    random.normal(values, 0.25, 0.02);
    append(drawn, values);
  }
  const Values thousand = randn(random, 1000);
  append(drawn, std::span(thousand).last(24));
  append(drawn, uniform(random, 4, 0.0, 1.0));
  INFO(name);
  CHECK(same_bits(drawn, read<float>(golden, name).values()));
}

TEST_CASE("four Linear layers are the article's module, and its input comes next") {
  TorchRandom random(0);
  const auto encoder = torch_init({.d_model = 8, .n_heads = 2}, random);
  const auto& ours = encoder.layers.at(0).attention;
  const auto article = read_weights<float>(open_archive(source_path("models/article.json")));
  CHECK(same_bits(ours.W_Q.values(), article.W_Q.values()));
  CHECK(same_bits(ours.W_K.values(), article.W_K.values()));
  CHECK(same_bits(ours.W_V.values(), article.W_V.values()));
  CHECK(same_bits(ours.W_O.values(), article.W_O.values()));
  CHECK(same_bits(ours.b_Q.values(), article.b_Q.values()));
  CHECK(same_bits(ours.b_K.values(), article.b_K.values()));
  CHECK(same_bits(ours.b_V.values(), article.b_V.values()));
  CHECK(same_bits(ours.b_O.values(), article.b_O.values()));
  const auto x = read<float>(open_archive(source_path("data/article-x.npy")), "");
  CHECK(same_bits(randn(random, 32), x.values()));
}

TEST_CASE("nn.MultiheadAttention draws its output first, then queries, keys and values") {
  TorchRandom random(0);
  const Case golden("multihead");
  const auto encoder = torch_init(
      {.module = TorchModule::multihead_attention, .d_model = 8, .n_heads = 2}, random);
  const auto& ours = encoder.layers.at(0).attention;
  CHECK(golden.is_packed("", ours));
  CHECK(golden.is_turned("out_proj.weight", ours.W_O));
  CHECK(golden.is("out_proj.bias", ours.b_O));
  CHECK(ours.b_Q.size() == 8);
  CHECK(ours.b_Q.data()[0] == 0.0F);
  CHECK(golden.is_next(random));
}

TEST_CASE("nn.MultiheadAttention without biases draws fewer numbers") {
  TorchRandom random(7);
  const Case golden("no_bias");
  const auto encoder = torch_init(
      {.module = TorchModule::multihead_attention, .d_model = 6, .n_heads = 3, .bias = false},
      random);
  const auto& ours = encoder.layers.at(0).attention;
  CHECK(golden.is_packed("", ours));
  CHECK(golden.is_turned("out_proj.weight", ours.W_O));
  CHECK(ours.b_Q.empty());
  CHECK(ours.b_O.empty());
  CHECK(golden.is_next(random));
}

TEST_CASE("nn.MultiheadAttention draws keys and values of other widths apart") {
  TorchRandom random(1);
  const Case golden("widths");
  const auto encoder = torch_init({.module = TorchModule::multihead_attention,
                                   .d_model = 6,
                                   .n_heads = 2,
                                   .d_key = 5,
                                   .d_value = 3,
                                   .bias_key = true,
                                   .zero_key = true},
                                  random);
  const auto& ours = encoder.layers.at(0).attention;
  CHECK(golden.is_turned("q_proj_weight", ours.W_Q));
  CHECK(golden.is_turned("k_proj_weight", ours.W_K));
  CHECK(golden.is_turned("v_proj_weight", ours.W_V));
  CHECK(golden.is("bias_k", ours.bias_k));
  CHECK(golden.is("bias_v", ours.bias_v));
  CHECK(ours.sizes.d_key == 5);
  CHECK(ours.sizes.d_value == 3);
  CHECK(ours.sizes.bias_key);
  CHECK(ours.sizes.zero_key);
  CHECK(golden.is_next(random));
}

TEST_CASE("nn.MultiheadAttention draws a learned key from 16 numbers on in blocks") {
  TorchRandom random(2);
  const Case golden("bias_kv");
  const auto encoder = torch_init({.module = TorchModule::multihead_attention,
                                   .d_model = 18,
                                   .n_heads = 3,
                                   .bias_key = true},
                                  random);
  const auto& ours = encoder.layers.at(0).attention;
  CHECK(golden.is_packed("", ours));
  CHECK(golden.is("bias_k", ours.bias_k));
  CHECK(golden.is("bias_v", ours.bias_v));
  CHECK(golden.is_next(random));
}

TEST_CASE("nn.TransformerEncoderLayer draws attention, then its feed-forward") {
  TorchRandom random(0);
  const Case golden("layer");
  const auto encoder = torch_init({.module = TorchModule::transformer_encoder_layer,
                                   .d_model = 8,
                                   .n_heads = 2,
                                   .d_ff = 10,
                                   .norm = NormPlacement::pre,
                                   .activation = Activation::gelu},
                                  random);
  const auto& layer = encoder.layers.at(0);
  CHECK(golden.is_packed("self_attn.", layer.attention));
  CHECK(golden.is_turned("self_attn.out_proj.weight", layer.attention.W_O));
  CHECK(golden.is_turned("linear1.weight", layer.feed_forward.W_1));
  CHECK(golden.is("linear1.bias", layer.feed_forward.b_1));
  CHECK(golden.is_turned("linear2.weight", layer.feed_forward.W_2));
  CHECK(golden.is("linear2.bias", layer.feed_forward.b_2));
  CHECK(golden.is("norm1.weight", layer.norm1.weight));
  CHECK(golden.is("norm1.bias", layer.norm1.bias));
  CHECK(golden.is("norm2.weight", layer.norm2.weight));
  CHECK(golden.is("norm2.bias", layer.norm2.bias));
  CHECK(layer.settings.part == Part::layer);
  CHECK(layer.settings.norm == NormPlacement::pre);
  CHECK(layer.settings.activation == Activation::gelu);
  CHECK(golden.is_next(random));
}

TEST_CASE("nn.TransformerEncoder copies one layer, which draws nothing") {
  TorchRandom random(3);
  const Case golden("stack");
  const auto encoder = torch_init({.module = TorchModule::transformer_encoder_layer,
                                   .d_model = 4,
                                   .n_heads = 2,
                                   .d_ff = 10,
                                   .n_layers = 2},
                                  random);
  REQUIRE(encoder.layers.size() == 2);
  for (const auto& layer : encoder.layers) {
    const std::string prefix = "layers." + std::to_string(layer.index) + ".";
    CHECK(golden.is_packed(prefix + "self_attn.", layer.attention));
    CHECK(golden.is_turned(prefix + "linear2.weight", layer.feed_forward.W_2));
  }
  CHECK(encoder.layers[1].index == 1);
  CHECK(golden.is_next(random));
}

TEST_CASE("sizes that make no module are refused") {
  TorchRandom random(0);
  CHECK(error_of([&] { torch_init({.d_model = 0, .n_heads = 1}, random); }) ==
        "d_model is 0, expected 1 or more");
  CHECK(error_of([&] { torch_init({.d_model = 8, .n_heads = 0}, random); }) ==
        "n_heads is 0, expected 1 or more");
  CHECK(error_of([&] { torch_init({.d_model = 8, .n_heads = 3}, random); }) ==
        "n_heads 3 does not divide d_model 8");
  CHECK(error_of([&] {
          torch_init({.d_model = std::size_t{1} << 40U, .n_heads = 1}, random);
        }).find("needs") != std::string::npos);
}

}  // namespace mha
