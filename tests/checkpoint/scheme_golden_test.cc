// Every naming scheme: a checkpoint in the family's own names and config gives
// what the family computes (tests/golden/README.md).
#include "scheme_golden.h"

#include <filesystem>
#include <set>

#include "checkpoint/save.h"

namespace mha {
namespace {

const std::vector<SchemeGolden>& goldens() {
  static const std::vector<SchemeGolden> all = {
      {"article/model.safetensors", "article", with_heads(4)},
      {"article/article.pt", "article", with_heads(4)},
      {"bare_projections/model.safetensors", "q_proj", with_heads(4)},
      {"multihead/model.safetensors", "multihead", with_heads(4)},
      {"multihead/multihead.pt", "multihead", with_heads(4)},
      {"multihead_separate/model.safetensors", "multihead-separate", with_heads(4)},
      {"multihead_bias_kv/model.safetensors", "multihead-separate", {}},
      {"multihead_bias_kv/model.safetensors", "multihead-separate",
       with_config("multihead_bias_kv/without_zero.json"), "without_zero.npz"},
      {"torch_layer/model.safetensors", "torch-layer", with_heads(4)},
      {"torch_layer/layer.pt", "torch-layer", with_heads(4)},
      {"torch_encoder/model.safetensors", "torch-layer", {}},
      {"torch_encoder/encoder.pt", "torch-layer", {}},
      {"bert/model.safetensors", "bert", {}},
      {"bert/pytorch_model.bin", "bert", {}},
      {"bert_wrapped/checkpoint.pt", "bert", {}},
      {"roberta/model.safetensors.index.json", "roberta", {}},
      {"electra/model.safetensors", "electra", {}},
      {"distilbert/pytorch_model.bin", "distilbert", {}},
      {"nomic_bert/model.safetensors", "nomic-bert", {}},
      {"vit/model.safetensors", "vit", {}},
      {"deit/model.safetensors", "vit", {}},
      {"timm_vit/model.safetensors", "timm-vit", with_heads(4)},
      {"google_vit/vit.npz", "google-vit", {}},
      {"clip/model.safetensors", "clip-text", with_prefix("text_model."), "text.npz"},
      {"clip/model.safetensors", "clip-vision", with_prefix("vision_model."), "vision.npz"},
      {"openai_clip/clip.pt", "openai-clip-text", with_heads(4, "transformer."), "text.npz"},
      {"openai_clip/clip.pt", "openai-clip-vision", with_heads(4, "visual."), "vision.npz"},
      {"whisper/model.safetensors", "whisper", with_prefix("model.encoder.")},
      {"openai_whisper/whisper.pt", "openai-whisper", with_heads(4, "encoder.")},
      {"bart/model.safetensors", "bart", with_prefix("model.encoder.")},
      {"t5/model.safetensors", "t5", with_prefix("encoder.")},
      {"t5_gated/model.safetensors", "t5-gated", {}},
      {"modernbert/model.safetensors", "modernbert", {}},
      {"gpt2/pytorch_model.bin", "gpt2", {}},
      {"llama/model.safetensors", "llama", {}},
      {"mistral/model.safetensors", "mistral", {}},
      {"qwen2/model.safetensors", "qwen2", {}},
      {"qwen2/model.safetensors", "qwen2", with_config("qwen2/windowed.json"), "windowed.npz"},
      {"deepseek_v2/model.safetensors", "deepseek", {}},
      {"deepseek_v2_lite/model.safetensors", "deepseek-lite", {}},
      {"flax_attention/weights.npz", "flax", {}},
      {"keras_attention/weights.npz", "keras", {}},
      {"transformer_lens/hooked.pt", "transformer-lens", {}},
  };
  return all;
}

}  // namespace

TEMPLATE_TEST_CASE("a checkpoint of every scheme gives what its family computes", "", float,
                   double) {
  for (const SchemeGolden& golden : goldens()) {
    CAPTURE(golden.file, golden.expected);
    try {
      const Archive archive = open_archive(scheme_path(golden.file));
      const OpenedModel model = open_model(archive, golden.options);
      CHECK(model.translated.scheme == golden.scheme);
      CHECK_FALSE(model.translated.evidence.empty());
      const auto encoder = read_model<TestType>(model, golden.options);
      const Distances off = run_golden(encoder, expected_of(golden));
      // Relative to the largest number. Weights and x are exact in f32 and what
      // is expected was computed in double: up to four layers of sums of some
      // dozen terms stand between.
      CHECK(off.y <= (sizeof(TestType) == 4 ? 1e-5 : 1e-12));
      CHECK(off.maps <= (sizeof(TestType) == 4 ? 1e-5 : 1e-12));
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
}

TEST_CASE("every checkpoint among the goldens is in the table") {
  std::set<std::string> folders;
  for (const SchemeGolden& golden : goldens()) {
    folders.insert(golden.file.substr(0, golden.file.find('/')));
  }
  for (const auto& entry : std::filesystem::directory_iterator(scheme_path(""))) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    CHECK(folders.count(entry.path().filename().string()) == 1);
  }
}

TEST_CASE("the layers of a stack, loaded one by one, show the maps of the whole") {
  for (const SchemeGolden& golden : goldens()) {
    CAPTURE(golden.file, golden.expected);
    const Archive archive = open_archive(scheme_path(golden.file));
    const Archive expected = expected_of(golden);
    const auto maps = read<double>(expected, "maps");
    const std::size_t layers = maps.shape()[0];
    if (layers == 1) continue;
    auto x = read<double>(expected, "x");
    for (std::size_t k = 0; k < layers; ++k) {
      CAPTURE(k);
      ModelOptions options = golden.options;
      options.layers = LayerRange{k, k};
      const auto encoder = read_model<double>(open_model(archive, options), options);
      REQUIRE(encoder.layers.size() == 1);
      CHECK(encoder.layers[0].index == k);
      CHECK(encoder.norm.weight.empty());
      MapsOfLayers<double> found(
          encoder, check_inputs<double>(encoder.layers[0].attention.sizes, {x, x, x}));
      AttentionFindings findings;
      x = encode(encoder, {}, {x, x, x}, found, findings);
      Tensor<double> layer({maps.size() / layers});
      std::copy_n(maps.data() + k * layer.size(), layer.size(), layer.data());
      CHECK(distance(found.values(), layer) <= 1e-12);
    }
  }
}

TEST_CASE("saved under native names, a checkpoint of every scheme computes the same bits") {
  for (const SchemeGolden& golden : goldens()) {
    CAPTURE(golden.file, golden.expected);
    const Archive archive = open_archive(scheme_path(golden.file));
    const OpenedModel opened = open_model(archive, golden.options);
    const auto encoder = read_model<double>(opened, golden.options);
    const Archive expected = expected_of(golden);
    const Distances before = run_golden(encoder, expected);
    const auto check_saved = [&](Archive saved) {
      saved.path = "saved";  // no config.json beside it
      const OpenedModel model = open_model(saved, {});
      CHECK(model.translated.scheme == "native");
      const Distances after = run_golden(read_model<double>(model, {}), expected);
      CHECK(after.y == before.y);
      CHECK(after.maps == before.maps);
    };
    check_saved(native_archive(encoder));                 // what was read
    check_saved(native_archive(opened, golden.options));  // tensor by tensor
  }
}

TEST_CASE("latent attention absorbed gives what the naive form gives") {
  for (const char* file :
       {"deepseek_v2/model.safetensors", "deepseek_v2_lite/model.safetensors"}) {
    CAPTURE(file);
    ModelOptions options;
    options.absorb = true;
    const Archive archive = open_archive(scheme_path(file));
    const auto encoder = read_model<double>(open_model(archive, options), options);
    const Distances off = run_golden(encoder, expected_of({file, "", {}}));
    CHECK(off.y <= 1e-12);
    CHECK(off.maps <= 1e-12);
  }
}

}  // namespace mha
