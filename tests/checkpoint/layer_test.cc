#include "catch.h"
#include "checkpoint/native_json.h"

using namespace mha;
using namespace mha::native;

namespace {

Fields gated_layer() { return with(whole_layer(), {{"W_G", counted({4, 3})}}); }

}  // namespace

TEST_CASE("a whole layer is found by its native names") {
  const Loaded loaded = load(with(gated_layer(), {{"b_G", counted({3})}}));
  const Layer<double>& layer = loaded.layer();
  CHECK(layer.settings.part == Part::layer);
  CHECK(numbers(layer.norm1.weight) == Numbers{0, 1, 2, 3});
  CHECK(numbers(layer.norm1.bias) == Numbers{0, 1, 2, 3});
  CHECK(layer.norm2.weight.shape() == Shape{4});
  CHECK(layer.norm2.bias.shape() == Shape{4});
  CHECK(layer.feed_forward.W_1.shape() == Shape{4, 3});
  CHECK(numbers(layer.feed_forward.W_1) == Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(layer.feed_forward.b_1.shape() == Shape{3});
  CHECK(layer.feed_forward.W_2.shape() == Shape{3, 4});
  CHECK(layer.feed_forward.b_2.shape() == Shape{4});
  CHECK(layer.feed_forward.W_G.shape() == Shape{4, 3});
  CHECK(layer.feed_forward.b_G.shape() == Shape{3});
  CHECK(loaded.opened.layers[0].sizes.d_ff == 3);
  CHECK(loaded.opened.layers[0].sizes.gated);
  CHECK(in_force(loaded, "d_ff") == "3 (shape of W_1)");
  CHECK(in_force(loaded, "gated") == "true (there is W_G)");
  CHECK(in_force(load(whole_layer()), "gated") == "false (there is no W_G)");
}

TEST_CASE("a layer runs as far as is asked, by default as far as the file goes") {
  CHECK(load(stacked()).layer().settings.part == Part::attention);
  const Loaded attention = load(whole_layer(), part(Part::attention));
  CHECK(attention.layer().settings.part == Part::attention);
  // What does not run is not read.
  CHECK(attention.layer().feed_forward.W_1.empty());
  CHECK(attention.layer().norm1.weight.empty());
  CHECK(attention.opened.layers[0].sizes.d_ff == 3);
  const Loaded pre = load(with(whole_layer(), {{"norm", "\"pre\""}}), part(Part::attention));
  CHECK(pre.layer().norm1.weight.shape() == Shape{4});
  CHECK(pre.layer().norm2.weight.empty());
  CHECK(refusal(stacked(), part(Part::layer)) ==
        "w.json: W_1 is missing, expected a feed-forward, W_1 and W_2, for --part layer");
}

TEST_CASE("a part of a layer without the other is named") {
  CHECK(refusal(without(whole_layer(), "W_2")) ==
        "w.json: W_2 is missing, expected a feed-forward's W_1 and W_2");
  CHECK(refusal(without(whole_layer(), "W_1")) ==
        "w.json: W_1 is missing, expected a feed-forward's W_1 and W_2");
  CHECK(refusal(with(stacked(), {{"b_2", counted({4})}})) ==
        "w.json: W_1 is missing, expected a feed-forward's W_1 and W_2");
  CHECK(refusal(with(whole_layer(), {{"b_G", counted({3})}})) ==
        "w.json: W_G is missing, expected it with b_G");
  CHECK(refusal(without(whole_layer(), "norm1.weight")) ==
        "w.json: norm1.weight is missing, expected it with norm1.bias");
  const Fields no_norm2 = without(without(whole_layer(), "norm2.weight"), "norm2.bias");
  CHECK(refusal(no_norm2) ==
        "w.json: norm2.weight is missing, expected [4] (d_model): a whole layer has norm1 and "
        "norm2");
  CHECK(load(no_norm2, part(Part::attention)).layer().settings.part == Part::attention);
  CHECK(refusal(with(stacked(), {{"norm", "\"pre\""}})) ==
        "w.json: norm1.weight is missing, expected [4] (d_model): norm is pre (w.json)");
  CHECK(refusal(with(stacked(), {{"bias_k", counted({2, 2})}})) ==
        "w.json: bias_v is missing, expected bias_k and bias_v together");
}

TEST_CASE("a layer's shapes are held against each other") {
  const auto spoilt = [](const std::string& name, const Shape& shape) {
    return refusal(with(gated_layer(), {{name, counted(shape)}}));
  };
  CHECK(spoilt("W_1", {5, 3}) ==
        "w.json: W_1 is [5, 3], expected [4, d_ff] (d_model 4 from W_Q)");
  CHECK(spoilt("W_1", {4}) == "w.json: W_1 is [4], expected [4, d_ff] (d_model 4 from W_Q)");
  CHECK(spoilt("b_1", {4}) == "w.json: b_1 is [4], expected [3] (d_ff 3 from W_1)");
  CHECK(spoilt("W_2", {4, 3}) ==
        "w.json: W_2 is [4, 3], expected [3, 4] (d_ff 3 from W_1; d_model 4 from W_Q)");
  CHECK(spoilt("b_2", {3}) == "w.json: b_2 is [3], expected [4] (d_model 4 from W_Q)");
  CHECK(spoilt("W_G", {4, 4}) ==
        "w.json: W_G is [4, 4], expected [4, 3] (d_model 4 from W_Q; d_ff 3 from W_1)");
  CHECK(spoilt("b_G", {4}) == "w.json: b_G is [4], expected [3] (d_ff 3 from W_1)");
  CHECK(spoilt("norm1.weight", {3}) ==
        "w.json: norm1.weight is [3], expected [4] (d_model 4 from W_Q)");
  CHECK(spoilt("norm2.bias", {1, 4}) ==
        "w.json: norm2.bias is [1, 4], expected [4] (d_model 4 from W_Q)");
  CHECK(spoilt("relative_bias", {8, 3}) ==
        "w.json: relative_bias is [8, 3], expected [8, 2] (n_heads 2, shape of W_Q)");
  CHECK(spoilt("relative_bias", {8}) ==
        "w.json: relative_bias is [8], expected [buckets, 2] (n_heads 2, shape of W_Q)");
  for (const std::size_t buckets : {2, 5}) {
    CHECK(spoilt("relative_bias", {buckets, 2}) ==
          "w.json: relative_bias has " + std::to_string(buckets) +
              " buckets, expected an even number from 4 on");
  }
  const Fields with_bias = with(whole_layer(), {{"relative_bias", counted({8, 2})}});
  CHECK(refusal(with(with_bias, {{"relative_distance", "2"}})) ==
        "w.json: relative_distance is 2 (w.json), expected more than 2, a quarter of the "
        "buckets of relative_bias");
  CHECK(refusal(with(with_bias, {{"relative_distance", "3"}})) == "no error");
  CHECK(refusal(with(whole_layer(), {{"W_K", counted({2, 5, 2})}})) ==
        "w.json: W_K: d_key is 5, expected d_model 4: a whole layer attends to its own x");
  CHECK(refusal(with(whole_layer(), {{"W_V", counted({2, 6, 2})}})) ==
        "w.json: W_V: d_value is 6, expected d_model 4: a whole layer attends to its own x");
}

TEST_CASE("a learned key and value come in every form of the heads") {
  const Loaded loaded =
      load(with(stacked(), {{"bias_k", "[[1, 2], [3, 4]]"}, {"bias_v", "[5, 6, 7, 8]"}}));
  CHECK(loaded.weights().sizes.bias_key);
  CHECK(numbers(loaded.weights().bias_k) == Numbers{1, 2, 3, 4});
  CHECK(numbers(loaded.weights().bias_v) == Numbers{5, 6, 7, 8});
  CHECK(refusal(with(stacked(), {{"bias_k", "[1, 2, 3]"}, {"bias_v", "[5, 6, 7, 8]"}})) ==
        "w.json: bias_k is [3], expected [2, 2] or [4] (n_kv_heads 2, shape of W_K; d_head 2 "
        "from W_Q)");
  CHECK_FALSE(load(stacked()).weights().sizes.bias_key);
}

TEST_CASE("a setting says that a norm is not there") {
  const Fields no_norm1 = without(without(whole_layer(), "norm1.weight"), "norm1.bias");
  const Loaded loaded = load(with(no_norm1, {{"layers.0.norm1", "\"none\""}}));
  CHECK(loaded.layer().norm1.weight.empty());
  CHECK(in_force(loaded, "norm1") == "none (w.json)");
  CHECK(refusal(with(no_norm1, {{"norm1", "\"layer\""}})) ==
        "w.json: norm1 is \"layer\", expected none, or the tensor norm1.weight");
  CHECK(refusal(with(whole_layer(), {{"norm2", "\"none\""}})) ==
        "w.json: norm2 is none, but there is a tensor norm2.weight");
}
