// Rows of the table of naming schemes: images, and CLIP's two towers.

#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

Scheme vit() {
  const Bias qkv_bias = bias_group("qkv bias");
  return {
      .name = "vit",
      .title = "ViT, DeiT (Hugging Face)",
      .tensors = join({linear("Q", {"attention.attention.query"}, qkv_bias),
                       linear("K", {"attention.attention.key"}, qkv_bias),
                       linear("V", {"attention.attention.value"}, qkv_bias),
                       linear("O", {"attention.output.dense"}, with_bias()),
                       layer_norm("norm1", "layernorm_before"),
                       layer_norm("norm2", "layernorm_after"),
                       linear("1", {"intermediate.dense"}, with_bias()),
                       linear("2", {"output.dense"}, with_bias())}),
      .attention = "attention.",
      .last_norm = layer_norm("norm", "../layernorm", Need::together, bias_group("norm")),
      .model_types = {"vit", "deit", "vit_mae", "vit_msn"},
      .defaults = {{"norm", "pre"}, {"activation", "gelu"}, {"eps", "1e-12"}},
  };
}

Scheme timm() {
  return {
      .name = "timm-vit",
      .title = "ViT (timm)",
      .tensors = join({fused_linear("attn.qkv", bias_group("qkv bias")),
                       linear("O", {"attn.proj"}, with_bias()), layer_norm("norm1", "norm1"),
                       layer_norm("norm2", "norm2"), linear("1", {"mlp.fc1"}, with_bias()),
                       linear("2", {"mlp.fc2"}, with_bias())}),
      .attention = "attn.",
      .last_norm = layer_norm("norm", "norm", Need::together, bias_group("norm")),
      // timm's towers of CLIP, of another activation and epsilon.
      .not_beside = {"norm_pre.weight"},
      .defaults = {{"norm", "pre"}, {"activation", "gelu"}, {"eps", "1e-06"}},
  };
}

Scheme torchvision() {
  return {
      .name = "torchvision-vit",
      .title = "ViT (torchvision)",
      .tensors = join({multihead("self_attention.", with_bias()), layer_norm("norm1", "ln_1"),
                       layer_norm("norm2", "ln_2"),
                       linear("1", {"mlp.0", "mlp.linear_1"}, with_bias()),
                       linear("2", {"mlp.3", "mlp.linear_2"}, with_bias())}),
      .last_norm = layer_norm("norm", "../ln", Need::together, bias_group("norm")),
      .defaults = {{"norm", "pre"}, {"activation", "gelu"}, {"eps", "1e-06"}},
  };
}

Scheme google_vit() {
  const auto dense = [](const std::string& what, const std::string& name) {
    return Rules{{"W_" + what, {name + ".kernel"}, Form::in_out},
                 {"b_" + what, {name + ".bias"}}};
  };
  const auto norm = [](const std::string& native, const std::string& name) {
    return Rules{{native + ".weight", {name + ".scale"}},
                 {native + ".bias", {name + ".bias"}}};
  };
  return {
      .name = "google-vit",
      .title = "ViT (Google, Flax)",
      .tensors = join({head_axis("MultiHeadDotProductAttention_1.", "out"),
                       norm("norm1", "LayerNorm_0"), norm("norm2", "LayerNorm_2"),
                       dense("1", "MlpBlock_3.Dense_0"), dense("2", "MlpBlock_3.Dense_1")}),
      .last_norm =
          {{"norm.weight", {"encoder_norm.scale"}, Form::vector, Need::together, "norm"},
           {"norm.bias", {"encoder_norm.bias"}, Form::vector, Need::together, "norm"}},
      .defaults = {{"norm", "pre"}, {"activation", "gelu_tanh"}, {"eps", "1e-06"}},
  };
}

// Hugging Face's: the vision tower and, causal, the text tower.
Scheme clip(Scheme tower) {
  tower.tensors =
      join({linear("Q", {"self_attn.q_proj"}, with_bias()),
            linear("K", {"self_attn.k_proj"}, with_bias()),
            linear("V", {"self_attn.v_proj"}, with_bias()),
            linear("O", {"self_attn.out_proj"}, with_bias()),
            layer_norm("norm1", "layer_norm1"), layer_norm("norm2", "layer_norm2"),
            linear("1", {"mlp.fc1"}, with_bias()), linear("2", {"mlp.fc2"}, with_bias())});
  tower.attention = "self_attn.";
  tower.by_config = true;
  // SigLIP pools by a head of its own.
  tower.not_beside = {"../head.weight", "../head.probe"};
  return tower;
}

// OpenAI's, and open_clip's.
Scheme openai_clip(Scheme tower) {
  tower.tensors = join({multihead("attn.", with_bias()), layer_norm("norm1", "ln_1"),
                        layer_norm("norm2", "ln_2"), linear("1", {"mlp.c_fc"}, with_bias()),
                        linear("2", {"mlp.c_proj"}, with_bias())});
  return tower;
}

}  // namespace

std::vector<Scheme> vision_schemes() {
  const Settings clip_defaults = {
      {"norm", "pre"}, {"activation", "quick_gelu"}, {"eps", "1e-05"}};
  Settings causal_defaults = clip_defaults;
  causal_defaults.emplace_back("causal", "true");
  const auto last = [](const std::string& name) {
    return layer_norm("norm", name, Need::together, bias_group("norm"));
  };
  return {vit(),
          timm(),
          torchvision(),
          google_vit(),
          clip({.name = "clip-vision",
                .title = "CLIP's vision tower (Hugging Face)",
                .last_norm = last("../post_layernorm"),
                .model_types = {"clip", "clip_vision_model"},
                .under = {"vision_model"},
                .beside = {"../pre_layrnorm.weight"},  // sic
                .sections = {"vision_config"},
                .defaults = clip_defaults}),
          clip({.name = "clip-text",
                .title = "CLIP's text tower (Hugging Face)",
                .last_norm = last("../final_layer_norm"),
                .other_words = "into byte pairs (BPE)",
                .model_types = {"clip", "clip_text_model"},
                .under = {"text_model"},
                .beside = {"../final_layer_norm.weight"},
                .sections = {"text_config"},
                .defaults = causal_defaults}),
          openai_clip({.name = "openai-clip-vision",
                       .title = "CLIP's vision tower (OpenAI)",
                       .last_norm = last("../ln_post"),
                       .under = {"visual"},
                       .beside = {"../ln_pre.weight"},
                       .defaults = clip_defaults}),
          openai_clip({.name = "openai-clip-text",
                       .title = "CLIP's text tower (OpenAI)",
                       .last_norm = last("../ln_final"),
                       .other_words = "into byte pairs (BPE)",
                       .not_under = {"visual"},
                       .beside = {"../ln_final.weight"},
                       .defaults = causal_defaults,
                       .aside = {"attn_mask"}})};
}

}  // namespace mha
