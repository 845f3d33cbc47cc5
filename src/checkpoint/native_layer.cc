#include "checkpoint/native_layer.h"

#include <algorithm>
#include <array>

#include "checkpoint/native_attention.h"

namespace mha {
namespace {

void find_feed_forward(ShapeCheck& check, LayerSizes& sizes, const std::string& of_d_model) {
  constexpr std::array<const char*, 6> kNames = {"W_1", "b_1", "W_2", "b_2", "W_G", "b_G"};
  if (std::none_of(kNames.begin(), kNames.end(), [&](auto name) { return check.has(name); })) {
    return;
  }
  check.require_there("W_1", "a feed-forward's W_1 and W_2");
  check.require_there("W_2", "a feed-forward's W_1 and W_2");
  if (check.has("b_G")) check.require_there("W_G", "it with " + check.full_name("b_G"));
  const std::size_t d_model = sizes.attention.d_model;
  const std::string expected = "[" + std::to_string(d_model) + ", d_ff]";
  sizes.d_ff = check.matrix("W_1", d_model, expected, of_d_model)[1];
  sizes.gated = check.has("W_G");
  const std::string of_d_ff = check.from("d_ff", sizes.d_ff, "W_1");
  check.take("W_1", {d_model, sizes.d_ff}, of_d_model);
  check.take("b_1", {sizes.d_ff}, of_d_ff);
  check.take("W_G", {d_model, sizes.d_ff}, of_d_model + "; " + of_d_ff);
  check.take("b_G", {sizes.d_ff}, of_d_ff);
  check.take("W_2", {sizes.d_ff, d_model}, of_d_ff + "; " + of_d_model);
  check.take("b_2", {d_model}, of_d_model);
}

}  // namespace

LayerSizes find_layer(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads) {
  LayerSizes sizes;
  sizes.attention = find_attention(check, n_heads, n_kv_heads);
  const std::size_t d_model = sizes.attention.d_model;
  const std::string of_d_model =
      check.from("d_model", d_model, sizes.attention.kv_rank > 0 ? "W_DKV" : "W_Q");
  find_relative_bias(check, n_heads);
  find_norm(check, "norm1", d_model, of_d_model);
  find_norm(check, "norm2", d_model, of_d_model);
  find_feed_forward(check, sizes, of_d_model);
  return sizes;
}

void find_norm(ShapeCheck& check, const std::string& norm, std::size_t d_model,
               const std::string& why) {
  if (check.has(norm + ".bias")) {
    check.require_there(norm + ".weight", "it with " + check.full_name(norm + ".bias"));
  }
  check.take(norm + ".weight", {d_model}, why);
  check.take(norm + ".bias", {d_model}, why);
}

void find_relative_bias(ShapeCheck& check, const HeadCount& n_heads) {
  if (!check.has("relative_bias")) return;
  const std::string heads = std::to_string(*n_heads.said);
  const Shape& shape =
      check.matrix("relative_bias", 0, "[buckets, " + heads + "]", to_string(n_heads));
  if (shape[0] % 2 != 0 || shape[0] < 4) {
    check.fail(check.name_in_file("relative_bias") + " has " + std::to_string(shape[0]) +
               " buckets, expected an even number from 4 on");
  }
  check.take("relative_bias", {shape[0], *n_heads.said}, to_string(n_heads));
}

}  // namespace mha
