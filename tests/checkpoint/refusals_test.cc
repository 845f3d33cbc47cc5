// What a scheme does not know or nobody does is never passed over.

#include "catch.h"
#include "checkpoint/load.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

using Lines = std::vector<std::string>;

TEST_CASE("a tensor of a layer that the scheme does not know is refused") {
  const Names layers = stacked("encoder.layer.", 2, bert_layer());
  CHECK(translate_error(layers + Names{{"encoder.layer.1.adapter.weight", {4}}}) ==
        "w.safetensors: encoder.layer.1.adapter.weight is no tensor of scheme bert");
  CHECK(translate_error(without(layers, "encoder.layer.1.output.dense.bias") +
                        Names{{"encoder.layer.1.output.dense.bais", {4}}})
            .ends_with("is no tensor of scheme bert, did you mean "
                       "encoder.layer.1.output.dense.bias?"));
  CHECK(translate_error(torch_layer() + Names{{"adapter.weight", {4}}}) ==
        "w.safetensors: adapter.weight is no tensor of scheme torch-layer");
}

TEST_CASE("beside bare attention the rest of a model is left aside, but no part of it") {
  CHECK(translated(torch_layer() + Names{{"position_ids", {1, 9}}}).unused ==
        Lines{"position_ids"});
  CHECK(translated(article() + Names{{"embedding.weight", {5, 4}}}).unused ==
        Lines{"embedding.weight"});
  CHECK(translate_error(article() + Names{{"W_q.scale", {1}}}) ==
        "w.safetensors: W_q.scale is no tensor of scheme article");
  CHECK(translate_error(with_prefix("a.", article()) + Names{{"a.gate.weight", {4, 4}}}) ==
        "w.safetensors: a.gate.weight is no tensor of scheme article");
}

TEST_CASE("a layer of an unknown kind is not run as its attention, unless asked for") {
  const Names layers =
      stacked("blocks.", 1, article(), ".attn.") + Names{{"blocks.0.ff.0.weight", {6, 4}}};
  CHECK(translate_error(layers) ==
        "w.safetensors: blocks.0.ff.0.weight stands beside attention in its layer, and no "
        "scheme knows such a layer; for its attention alone give --prefix blocks.0.attn.");
  TranslateOptions options;
  options.prefix = "blocks.0.attn.";
  const Translated result = translated(layers, "", options);
  CHECK(result.scheme == "article");
  CHECK(result.unused == Lines{"blocks.0.ff.0.weight"});
}

TEST_CASE("what a layer has and nobody does is refused by name") {
  const auto [name, why] = GENERATE(table<std::string, std::string>(
      {{"mlp.experts.0.gate_proj.weight", "experts are not done"},
       {"mlp.gate.weight", "experts are not done"},
       {"ls1.gamma", "LayerScale is not done"},
       {"layer_scale1.lambda1", "LayerScale is not done"},
       {"gamma_1", "LayerScale is not done"},
       {"self_attn.q_norm.weight", "norms of q and k are not done"},
       {"pre_feedforward_layernorm.weight", "layers of four norms are not done"},
       {"self_attn.sinks", "attention sinks are not done"},
       {"self_attn.q_proj.lora_A.weight",
        "a LoRA adapter is not applied: merge it into the weights first"},
       {"self_attn.q_proj.weight_scale_inv",
        "quantised weights are not done: save them as floats"}}));
  const std::string full = "model.layers.0." + name;
  CHECK(translate_error(stacked("model.layers.", 1, llama_layer()) + Names{{full, {2}}}) ==
        "w.safetensors: " + full + ": " + why);
  // Without what it belongs to.
  CHECK(translate_error({{"model.x." + name, {2}}}) ==
        "w.safetensors: model.x." + name + ": " + why);
}

TEST_CASE("what nobody does is named before what is merely unknown") {
  CHECK(
      translate_error(stacked("model.layers.", 1, llama_layer()) +
                      Names{{"model.layers.0.a_weight", {4}},
                            {"model.layers.0.self_attn.q_norm.weight", {2}}}) ==
      "w.safetensors: model.layers.0.self_attn.q_norm.weight: norms of q and k are not done");
  // DINOv2: ViT's attention in layers of another kind.
  Names attention;
  for (const auto& one : bert_layer()) {
    if (one.first.find("attention.") != 0 || one.first.find("Norm") != one.first.npos)
      continue;
    attention.push_back(one);
    const std::size_t self = attention.back().first.find("self.");
    if (self != std::string::npos) attention.back().first.replace(self, 4, "attention");
  }
  CHECK(translate_error(
            stacked("encoder.layer.", 1,
                    attention + Names{{"a.weight", {4}}, {"layer_scale1.lambda1", {4}}})) ==
        "w.safetensors: encoder.layer.0.layer_scale1.lambda1: LayerScale is not done");
}

TEST_CASE("layers before those that are not done can be run") {
  const Names names = stacked("model.layers.", 3, llama_layer()) +
                      Names{{"model.layers.1.mlp.experts.0.up_proj.weight", {6, 4}},
                            {"model.layers.2.mlp.gate.weight", {3, 4}}};
  const Translated result = translated(names);
  CHECK(result.not_done ==
        "w.safetensors: model.layers.1.mlp.experts.0.up_proj.weight: experts are not done");
  CHECK(shapes_of(result).contains("layers.0.W_Q"));
  CHECK_FALSE(shapes_of(result).contains("layers.1.W_Q"));
  ModelOptions options;
  options.n_heads = 2;
  const Archive file = file_of(names);
  CHECK(error_of([&] { open_model(file, options); }) ==
        result.not_done + "; layers 0 to 0 can run, by --layer");
  options.layers = LayerRange{1, 1};
  CHECK(error_of([&] { open_model(file, options); }).starts_with(result.not_done));
  options.layers = LayerRange{0, 0};
  CHECK(open_model(file, options).layers.size() == 1);
}

TEST_CASE("rotary tables are left aside where positions turn, else refused") {
  const Names table = {{"model.layers.0.self_attn.rotary_emb.inv_freq", {1}}};
  CHECK(translated(stacked("model.layers.", 1, llama_layer()) + table).unused ==
        Lines{"model.layers.0.self_attn.rotary_emb.inv_freq"});
  const std::string place = GENERATE("attn.rotary_emb.inv_freq", "attn.rope.freqs_cis");
  const Names names = with_prefix("attn.", article()) + Names{{place, {1}}};
  CHECK(translate_error(names) == "w.safetensors: " + place +
                                      ": a rotary table, and nothing says which channels it "
                                      "turns: give --rope halves or pairs");
  CHECK(translate_error(names, R"({"rope": "pairs"})") == "no error");
  TranslateOptions options;
  options.rope = true;
  CHECK(translate_error(names, "", options) == "no error");
}

TEST_CASE("a rotary table in what holds the layers is seen too") {
  const Names layers = stacked("net.layers.", 1, torch_layer());
  CHECK(translate_error(layers + Names{{"net.rotary.inv_freq", {2}}})
            .starts_with("w.safetensors: net.rotary.inv_freq: a rotary table"));
  CHECK(translate_error(layers + Names{{"other.rotary.inv_freq", {2}}}) == "no error");
}

TEST_CASE("the scheme says how matrices lie; a shape that fits only otherwise is an error") {
  Names turned = stacked("layer.", 1, bert_layer());
  for (auto& [name, shape] : turned) {
    if (name == "layer.0.intermediate.dense.weight") shape = {4, 6};
  }
  CHECK(translate_error(turned) ==
        "w.safetensors: layer.0.intermediate.dense.weight is [4, 6], expected [out, in] with "
        "d_model 4 as its in: it fits only the other way round, [in, out]");
  // nanoGPT's nn.Linear under GPT-2's names.
  Names nano = stacked("h.", 1, gpt2_layer());
  for (auto& [name, shape] : nano) {
    if (name == "h.0.attn.c_attn.weight") shape = {12, 4};
  }
  CHECK(
      translate_error(nano) ==
      "w.safetensors: h.0.attn.c_attn.weight is [12, 4], expected [in, out] with d_model 4 as "
      "its in: it fits only the other way round, [out, in]");
}

TEST_CASE("a shape that the form cannot have is refused") {
  CHECK(translate_error({{"in_proj_weight", {12}}, {"out_proj.weight", {4, 4}}}) ==
        "w.safetensors: in_proj_weight is [12], expected [out, in]");
  CHECK(translate_error({{"in_proj_weight", {11, 4}}, {"out_proj.weight", {4, 4}}}) ==
        "w.safetensors: in_proj_weight is [11, 4], expected [out, in] with 3 equal parts in "
        "out");
  CHECK(translate_error({{"in_proj_weight", {4, 12}}, {"out_proj.weight", {4, 4}}}) ==
        "w.safetensors: in_proj_weight is [4, 12], expected [out, in] with 3 equal parts in "
        "out; it would fit as the other orientation");
}

TEST_CASE("a stack with a hole is refused") {
  CHECK(translate_error(with_prefix("layer.0.", bert_layer()) +
                        with_prefix("layer.2.", bert_layer())) ==
        "w.safetensors: there are layers 0 and 2, but none of scheme bert between them");
}
