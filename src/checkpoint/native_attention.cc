#include "checkpoint/native_attention.h"

#include <array>

#include "checkpoint/native_latent.h"

namespace mha {
namespace {

// Splits W_Q and W_O into heads.
void settle_heads(const ShapeCheck& check, Projection& Q, Projection& O, HeadCount& n_heads) {
  settle(check, n_heads, Q);
  settle(check, n_heads, O);
  settle_by_config(n_heads);
  require_said(check, n_heads, Q);
  note_config(n_heads);
  check.split(Q, *n_heads.said, to_string(n_heads) + ", d_model " + std::to_string(Q.rows));
  check.split(O, *n_heads.said, to_string(n_heads));
}

// Splits W_K and W_V into as many heads as their shapes, the file or W_Q tell.
void settle_kv_heads(const ShapeCheck& check, const Projection& Q, Projection& K,
                     Projection& V, const HeadCount& n_heads, HeadCount& n_kv_heads) {
  settle(check, n_kv_heads, K);
  settle(check, n_kv_heads, V);
  // A config whose n_heads was overruled means other heads than these.
  if (!overruled(n_heads)) settle_by_config(n_kv_heads);
  // Side by side: a key is as wide as a query, which tells how many there are.
  if (!n_kv_heads.said) {
    const std::size_t count = K.cols / Q.cols;
    const bool fits = count > 0 && K.cols % Q.cols == 0 && *n_heads.said % count == 0;
    n_kv_heads.said = fits ? count : *n_heads.said;
    n_kv_heads.source = fits ? "shape of " + check.full_name("W_K") : "as n_heads";
  }
  note_config(n_kv_heads);
  if (*n_heads.said % *n_kv_heads.said != 0) {
    check.fail("n_kv_heads " + std::to_string(*n_kv_heads.said) + " (" + n_kv_heads.source +
               ") does not divide n_heads " + std::to_string(*n_heads.said) + " (" +
               n_heads.source + ")");
  }
  check.split(K, *n_kv_heads.said, to_string(n_kv_heads));
  check.split(V, *n_kv_heads.said, to_string(n_kv_heads));
}

}  // namespace

AttentionSizes find_attention(ShapeCheck& check, HeadCount& n_heads, HeadCount& n_kv_heads) {
  if (is_latent(check)) return find_latent(check, n_heads, n_kv_heads);
  for (const char* name : {"W_Q", "W_K", "W_V", "W_O"}) {
    check.require_there(name, "W_Q, W_K, W_V and W_O");
  }
  Projection Q = check.projection("W_Q", Heads::in_columns);
  Projection K = check.projection("W_K", Heads::in_columns);
  Projection V = check.projection("W_V", Heads::in_columns);
  Projection O = check.projection("W_O", Heads::in_rows);
  require_heads(check, n_heads, Q.rows);
  require_heads(check, n_kv_heads, Q.rows);
  settle_heads(check, Q, O, n_heads);
  settle_kv_heads(check, Q, K, V, n_heads, n_kv_heads);

  AttentionSizes sizes{Q.rows,           K.rows, V.rows, *n_heads.said,
                       *n_kv_heads.said, Q.cols, V.cols};
  const std::string of_heads = to_string(n_heads);
  const std::string of_kv_heads = to_string(n_kv_heads);
  const std::string of_d_model = check.from("d_model", sizes.d_model, "W_Q");
  const std::string of_d_head = check.from("d_head", sizes.d_head, "W_Q");
  const std::string of_d_v = check.from("d_v", sizes.d_v, "W_V");
  check.require(K, sizes.n_kv_heads, sizes.d_key, sizes.d_head,
                of_kv_heads + "; " + of_d_head);
  check.require(V, sizes.n_kv_heads, sizes.d_value, sizes.d_v, of_kv_heads);
  check.require(O, sizes.n_heads, sizes.d_v, sizes.d_model,
                of_heads + "; " + of_d_v + "; " + of_d_model);
  check.take("W_Q", Q);
  check.take("W_K", K);
  check.take("W_V", V);
  check.take("W_O", O);
  check.take_of_heads("b_Q", sizes.n_heads, sizes.d_head, of_heads + "; " + of_d_head);
  check.take_of_heads("b_K", sizes.n_kv_heads, sizes.d_head, of_kv_heads + "; " + of_d_head);
  check.take_of_heads("b_V", sizes.n_kv_heads, sizes.d_v, of_kv_heads + "; " + of_d_v);
  check.take("b_O", {sizes.d_model}, of_d_model);

  sizes.bias_key = check.has("bias_k") || check.has("bias_v");
  if (sizes.bias_key) {
    check.require_there("bias_k", "bias_k and bias_v together");
    check.require_there("bias_v", "bias_k and bias_v together");
    check.take_of_heads("bias_k", sizes.n_kv_heads, sizes.d_head,
                        of_kv_heads + "; " + of_d_head);
    check.take_of_heads("bias_v", sizes.n_kv_heads, sizes.d_v, of_kv_heads + "; " + of_d_v);
  }
  return sizes;
}

}  // namespace mha
