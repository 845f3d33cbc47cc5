// Rows of the table of naming schemes: PyTorch's own modules.

#include "checkpoint/scheme_rows.h"

namespace mha {

std::vector<Scheme> torch_schemes() {
  const Bias bias = bias_group("bias");  // bias=False drops all of them
  return {{
      .name = "torch-layer",
      .title = "nn.TransformerEncoderLayer, nn.TransformerEncoder",
      .tensors = join({multihead("self_attn.", bias),
                       layer_norm("norm1", "norm1", Need::always, bias),
                       layer_norm("norm2", "norm2", Need::always, bias),
                       linear("1", {"linear1"}, bias), linear("2", {"linear2"}, bias)}),
      .last_norm = layer_norm("norm", "norm", Need::together, bias_group("norm")),
      .defaults = {{"norm", "post"}, {"activation", "relu"}, {"eps", "1e-05"}},
  }};
}

}  // namespace mha
