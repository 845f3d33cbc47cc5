#include <cmath>

#include "catch.h"
#include "checkpoint/native_json.h"

using namespace mha;
using namespace mha::native;

namespace {

// d_model 4, 2 heads of d_nope 3, d_rope 2 and d_v 5, ranks 6 and 7.
Fields latent() {
  return {{"W_DQ", counted({4, 6})},    {"q_latent_norm.weight", counted({6})},
          {"W_UQ", counted({2, 6, 3})}, {"W_QR", counted({2, 6, 2})},
          {"W_DKV", counted({4, 7})},   {"kv_latent_norm.weight", counted({7})},
          {"W_UK", counted({2, 7, 3})}, {"W_UV", counted({2, 7, 5})},
          {"W_KR", counted({4, 2})},    {"W_O", counted({2, 5, 4})}};
}

std::string spoilt(const std::string& name, const Shape& shape) {
  return refusal(with(latent(), {{name, counted(shape)}}));
}

}  // namespace

TEST_CASE("latent attention is found by its native names") {
  const Loaded loaded = load(latent());
  const AttentionSizes& sizes = loaded.weights().sizes;
  CHECK(sizes.d_model == 4);
  CHECK(sizes.d_key == 4);
  CHECK(sizes.d_value == 4);
  CHECK(sizes.n_heads == 2);
  CHECK(sizes.n_kv_heads == 2);
  CHECK(sizes.d_head == 5);
  CHECK(sizes.d_v == 5);
  CHECK(sizes.q_rank == 6);
  CHECK(sizes.kv_rank == 7);
  CHECK(sizes.d_rope == 2);
  REQUIRE(loaded.weights().latent);
  const LatentWeights<double>& weights = *loaded.weights().latent;
  CHECK(weights.W_DQ.shape() == Shape{4, 6});
  CHECK(weights.q_latent_norm.shape() == Shape{6});
  CHECK(weights.W_UQ.shape() == Shape{6, 6});
  CHECK(weights.W_QR.shape() == Shape{6, 4});
  CHECK(weights.W_DKV.shape() == Shape{4, 7});
  CHECK(weights.kv_latent_norm.shape() == Shape{7});
  CHECK(weights.W_UK.shape() == Shape{7, 6});
  CHECK(weights.W_UV.shape() == Shape{7, 10});
  CHECK(weights.W_KR.shape() == Shape{4, 2});
  CHECK(loaded.weights().W_O.shape() == Shape{10, 4});
  CHECK(loaded.weights().W_Q.empty());
  // Head 0 counts from 0 in rows of 2, head 1 from 12.
  CHECK(numbers(weights.W_QR) == Numbers{0, 1, 12, 13, 2, 3, 14, 15, 4,  5,  16, 17,
                                         6, 7, 18, 19, 8, 9, 20, 21, 10, 11, 22, 23});
  CHECK(in_force(loaded, "d_head") == "5 (shape of W_UQ)");
  CHECK(in_force(loaded, "q_rank") == "6 (shape of W_DQ)");
  CHECK(in_force(loaded, "kv_rank") == "7 (shape of W_DKV)");
  CHECK(in_force(loaded, "d_rope") == "2 (shape of W_QR)");
  CHECK(in_force(loaded, "latent_eps") == "1e-06 (default)");
  CHECK(in_force(load(with(latent(), {{"latent_eps", "1e-5"}})), "latent_eps") ==
        "1e-05 (w.json)");
}

TEST_CASE("latent attention's heads may lie side by side") {
  const Fields beside = with(latent(), {{"W_UQ", counted({6, 6})},
                                        {"W_QR", counted({6, 4})},
                                        {"W_UK", counted({7, 6})},
                                        {"W_UV", counted({7, 10})},
                                        {"W_O", counted({10, 4})}});
  const Loaded loaded = load(beside, heads(2));
  CHECK(loaded.weights().sizes.d_head == 5);
  CHECK(loaded.weights().sizes.d_v == 5);
  CHECK(
      refusal(beside) ==
      "w.json: W_UQ is [6, 6], heads side by side, and nothing says how many: give --n-heads, "
      "or --config with the model's config.json");
  CHECK(refusal(beside, heads(5)) ==
        "w.json: W_UQ is [6, 6]: its 6 columns do not split into 5 heads (n_heads 5, "
        "--n-heads)");
}

TEST_CASE("queries need no latent, and nothing needs to turn") {
  Fields fields = without(without(latent(), "W_DQ"), "q_latent_norm.weight");
  fields = with(fields, {{"W_UQ", counted({2, 4, 3})}, {"W_QR", counted({2, 4, 2})}});
  CHECK(load(fields).weights().sizes.q_rank == 0);
  CHECK(load(fields).weights().latent->W_DQ.empty());
  fields = without(without(fields, "W_QR"), "W_KR");
  CHECK(load(fields).weights().sizes.d_rope == 0);
  CHECK(load(fields).weights().sizes.d_head == 3);
}

TEST_CASE("latent shapes are held against each other") {
  CHECK(spoilt("W_DQ", {5, 6}) ==
        "w.json: W_DQ is [5, 6], expected [4, q_rank] (d_model 4 from W_DKV)");
  CHECK(spoilt("q_latent_norm.weight", {5}) ==
        "w.json: q_latent_norm.weight is [5], expected [6] (q_rank 6 from W_DQ)");
  CHECK(spoilt("W_UQ", {2, 5, 3}) ==
        "w.json: W_UQ is [2, 5, 3], expected [2, 6, 3] (n_heads 2, shape of W_UQ; q_rank 6 "
        "from W_DQ)");
  CHECK(spoilt("W_QR", {3, 6, 2}) ==
        "w.json: W_QR holds 3 heads, n_heads is 2 (shape of W_UQ)");
  CHECK(spoilt("W_QR", {2, 4, 2}) ==
        "w.json: W_QR is [2, 4, 2], expected [2, 6, 2] (n_heads 2, shape of W_UQ; q_rank 6 "
        "from W_DQ)");
  CHECK(spoilt("W_UK", {2, 7, 4}) ==
        "w.json: W_UK is [2, 7, 4], expected [2, 7, 3] (n_heads 2, shape of W_UQ; kv_rank 7 "
        "from W_DKV; d_nope 3 from W_UQ)");
  CHECK(spoilt("W_UV", {2, 6, 5}) ==
        "w.json: W_UV is [2, 6, 5], expected [2, 7, 5] (n_heads 2, shape of W_UQ; kv_rank 7 "
        "from W_DKV)");
  CHECK(spoilt("W_KR", {4, 3}) ==
        "w.json: W_KR is [4, 3], expected [4, 2] (d_model 4 from W_DKV; d_rope 2 from W_QR)");
  CHECK(spoilt("kv_latent_norm.weight", {6}) ==
        "w.json: kv_latent_norm.weight is [6], expected [7] (kv_rank 7 from W_DKV)");
  CHECK(spoilt("W_DKV", {7}) == "w.json: W_DKV is [7], expected [d_model, kv_rank]");
  CHECK(spoilt("W_O", {2, 4, 4}) ==
        "w.json: W_O is [2, 4, 4], expected [2, 5, 4] (n_heads 2, shape of W_UQ; d_v 5 from "
        "W_UV; d_model 4 from W_DKV)");
}

TEST_CASE("what latent attention lacks or cannot have is named") {
  CHECK(refusal(without(latent(), "W_UK")) ==
        "w.json: W_UK is missing, expected latent attention's W_UQ, W_DKV, "
        "kv_latent_norm.weight, W_UK, W_UV and W_O");
  CHECK(refusal(without(latent(), "W_DQ")) ==
        "w.json: W_DQ is missing, expected W_DQ and q_latent_norm.weight together");
  CHECK(refusal(without(latent(), "W_KR")) ==
        "w.json: W_KR is missing, expected W_QR and W_KR together");
  CHECK(refusal(with(latent(), {{"W_K", counted({2, 4, 5})}})) ==
        "w.json: W_K stands beside W_DKV, but latent attention has no W_K");
  CHECK(refusal(latent(), kv_heads(1)) ==
        "w.json: n_kv_heads is 1 (--n-kv-heads), but latent attention has as many as n_heads, "
        "2 (shape of W_UQ)");
  CHECK(refusal(latent(), heads(0)) ==
        "w.json: n_heads is 0 (--n-heads), expected one head or more for d_model 4");
}

TEST_CASE("latent attention is absorbed on demand") {
  ModelOptions options;
  options.absorb = true;
  const Loaded loaded = load(latent(), options);
  CHECK(loaded.weights().latent->W_UK.empty());
  CHECK(loaded.weights().sizes.n_kv_heads == 1);
  // The scale stays that of the heads as the file has them.
  CHECK(loaded.settings().scale == 1.0 / std::sqrt(5.0));
  CHECK(loaded.opened.layers[0].sizes.attention.n_kv_heads == 2);
}
