#include "checkpoint/native_latent.h"

#include <algorithm>
#include <array>

namespace mha {
namespace {

constexpr std::array<const char*, 9> kNames = {"W_DKV",
                                               "W_UQ",
                                               "W_UK",
                                               "W_UV",
                                               "W_DQ",
                                               "W_QR",
                                               "W_KR",
                                               "q_latent_norm.weight",
                                               "kv_latent_norm.weight"};

// Two tensors of which none makes sense alone.
void require_both(const ShapeCheck& check, const char* one, const char* other) {
  if (!check.has(one) && !check.has(other)) return;
  const std::string both = std::string(one) + " and " + other + " together";
  check.require_there(one, both);
  check.require_there(other, both);
}

void require_set(const ShapeCheck& check) {
  for (const char* name : {"W_UQ", "W_DKV", "kv_latent_norm.weight", "W_UK", "W_UV", "W_O"}) {
    check.require_there(name,
                        "latent attention's W_UQ, W_DKV, kv_latent_norm.weight, W_UK, "
                        "W_UV and W_O");
  }
  require_both(check, "W_DQ", "q_latent_norm.weight");
  require_both(check, "W_QR", "W_KR");
  for (const char* name : {"W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V", "bias_k", "bias_v"}) {
    if (!check.has(name)) continue;
    check.fail(check.name_in_file(name) + " stands beside " + check.name_in_file("W_DKV") +
               ", but latent attention has no " + name);
  }
}

}  // namespace

bool is_latent(const ShapeCheck& check) {
  return std::any_of(kNames.begin(), kNames.end(), [&](auto name) { return check.has(name); });
}

AttentionSizes find_latent(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads) {
  require_set(check);
  const bool turns = check.has("W_QR");
  AttentionSizes sizes;
  const Shape& DKV = check.matrix("W_DKV", 0, "[d_model, kv_rank]", "");
  sizes.d_model = sizes.d_key = sizes.d_value = DKV[0];
  sizes.kv_rank = DKV[1];
  const std::string of_d_model = check.from("d_model", sizes.d_model, "W_DKV");
  const std::string of_kv_rank = check.from("kv_rank", sizes.kv_rank, "W_DKV");
  if (check.has("W_DQ")) {
    const std::string expected = "[" + std::to_string(sizes.d_model) + ", q_rank]";
    sizes.q_rank = check.matrix("W_DQ", sizes.d_model, expected, of_d_model)[1];
  }
  const std::size_t q_source = sizes.q_rank > 0 ? sizes.q_rank : sizes.d_model;
  const std::string of_q_source =
      sizes.q_rank > 0 ? check.from("q_rank", sizes.q_rank, "W_DQ") : of_d_model;

  Projection UQ = check.projection("W_UQ", Heads::in_columns);
  Projection QR = check.projection("W_QR", Heads::in_columns);
  Projection UK = check.projection("W_UK", Heads::in_columns);
  Projection UV = check.projection("W_UV", Heads::in_columns);
  Projection O = check.projection("W_O", Heads::in_rows);
  require_heads(check, n_heads, sizes.d_model);
  for (const Projection* projection : {&UQ, &QR, &UK, &UV, &O}) {
    settle(check, n_heads, *projection);
  }
  settle_by_config(n_heads);
  require_said(check, n_heads, UQ);
  note_config(n_heads);
  const std::string of_heads = to_string(n_heads);
  for (Projection* projection : {&UQ, &QR, &UK, &UV, &O}) {
    if (projection->parts != nullptr) check.split(*projection, *n_heads.said, of_heads);
  }
  settle_by_config(n_kv_heads);
  if (n_kv_heads.said && n_kv_heads.said != n_heads.said) {
    check.fail("n_kv_heads is " + std::to_string(*n_kv_heads.said) + " (" + n_kv_heads.source +
               "), but latent attention has as many as n_heads, " +
               std::to_string(*n_heads.said) + " (" + n_heads.source + ")");
  }
  if (!n_kv_heads.said) n_kv_heads.source = "as n_heads";
  n_kv_heads.said = n_heads.said;

  sizes.n_heads = sizes.n_kv_heads = *n_heads.said;
  sizes.d_rope = turns ? QR.cols : 0;
  sizes.d_head = UQ.cols + sizes.d_rope;
  sizes.d_v = UV.cols;
  const std::string of_d_nope = check.from("d_nope", UQ.cols, "W_UQ");
  const std::string of_d_v = check.from("d_v", sizes.d_v, "W_UV");
  check.require(UQ, sizes.n_heads, q_source, UQ.cols, of_heads + "; " + of_q_source);
  check.require(UK, sizes.n_heads, sizes.kv_rank, UQ.cols,
                of_heads + "; " + of_kv_rank + "; " + of_d_nope);
  check.require(UV, sizes.n_heads, sizes.kv_rank, sizes.d_v, of_heads + "; " + of_kv_rank);
  check.require(O, sizes.n_heads, sizes.d_v, sizes.d_model,
                of_heads + "; " + of_d_v + "; " + of_d_model);
  if (turns) {
    check.require(QR, sizes.n_heads, q_source, sizes.d_rope, of_heads + "; " + of_q_source);
    check.take("W_QR", QR);
    check.take("W_KR", {sizes.d_model, sizes.d_rope},
               of_d_model + "; " + check.from("d_rope", sizes.d_rope, "W_QR"));
  }
  check.take("W_UQ", UQ);
  check.take("W_UK", UK);
  check.take("W_UV", UV);
  check.take("W_O", O);
  check.take("b_O", {sizes.d_model}, of_d_model);
  check.take("W_DKV", {sizes.d_model, sizes.kv_rank}, of_d_model);
  check.take("kv_latent_norm.weight", {sizes.kv_rank}, of_kv_rank);
  check.take("W_DQ", {sizes.d_model, sizes.q_rank}, of_d_model);
  check.take("q_latent_norm.weight", {sizes.q_rank}, of_q_source);
  return sizes;
}

}  // namespace mha
