#include "checkpoint/save.h"

#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "checkpoint/scheme_file.h"
#include "checkpoint/torch_init.h"
#include "files/archive.h"

using namespace mha;

namespace {

std::vector<std::string> names_of(const Archive& archive) {
  std::vector<std::string> names;
  for (const Member& member : archive.members) names.push_back(member.name);
  return names;
}

}  // namespace

TEST_CASE("a lone layer has bare names, heads an axis of their own") {
  TorchRandom random(0);
  const auto encoder = torch_init({.d_model = 6, .n_heads = 2}, random);
  const Archive archive = native_archive(encoder);
  CHECK(names_of(archive) ==
        std::vector<std::string>{"W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O"});
  CHECK(archive.at("W_Q").shape == Shape{2, 6, 3});
  CHECK(archive.at("b_Q").shape == Shape{2, 3});
  CHECK(archive.at("W_O").shape == Shape{2, 3, 6});
  CHECK(archive.at("b_O").shape == Shape{6});
  // Column c of head h is column 3 h + c of the matrix with heads side by side.
  const auto W_Q = read_tensor<float>(archive, archive.at("W_Q"));
  CHECK(W_Q.matrix(1)(4, 2) == encoder.layers[0].attention.W_Q.matrix()(4, 5));
  const auto W_O = read_tensor<float>(archive, archive.at("W_O"));
  CHECK(W_O.matrix(1)(2, 4) == encoder.layers[0].attention.W_O.matrix()(5, 4));
  // Defaults too: a config beside the file shall find nothing left to say.
  CHECK(archive.settings == std::map<std::string, std::string>{{"n_heads", "2"},
                                                               {"n_kv_heads", "2"},
                                                               {"scale", "0.5773502691896258"},
                                                               {"causal", "off"},
                                                               {"softcap", "0"},
                                                               {"window", "off"},
                                                               {"add_zero_attn", "false"},
                                                               {"rope", "none"}});
}

TEST_CASE("a stack numbers its layers, and says once what they share") {
  TorchRandom random(0);
  auto encoder = torch_init({.module = TorchModule::transformer_encoder_layer,
                             .d_model = 4,
                             .n_heads = 2,
                             .d_ff = 6,
                             .n_layers = 2},
                            random);
  encoder.layers[1].settings.attention.window = 8;
  encoder.layers[1].settings.eps = 1e-12;
  const Archive archive = native_archive(encoder);
  CHECK(archive.find("W_Q") == nullptr);
  CHECK(archive.at("layers.1.W_1").shape == Shape{4, 6});
  CHECK(archive.at("layers.1.norm2.bias").shape == Shape{4});
  CHECK(archive.settings.at("activation") == "relu");
  CHECK(archive.settings.at("layers.0.window") == "off");
  CHECK(archive.settings.at("layers.1.window") == "8");
  CHECK(archive.settings.count("window") == 0);
  CHECK(archive.settings.at("layers.0.eps") == "1e-05");
  CHECK(archive.settings.at("layers.1.eps") == "1e-12");
  CHECK(archive.settings.count("eps") == 0);
}

TEST_CASE("one layer with a last norm behind it is a stack") {
  TorchRandom random(0);
  auto encoder = torch_init({.d_model = 4, .n_heads = 2}, random);
  encoder.norm.weight = Tensor<float>::zeros({4});
  const Archive archive = native_archive(encoder);
  CHECK(archive.find("layers.0.W_Q") != nullptr);
  CHECK(archive.find("norm.weight") != nullptr);
  CHECK(archive.find("norm.bias") == nullptr);
  // The last norm is of the last layer's type.
  CHECK(archive.settings.at("norm_type") == "layer");
  CHECK(archive.settings.at("eps") == "1e-05");
}

TEST_CASE("a number that is none is named as the file has it, where one tensor is three") {
  Archive file = file_of(torch_layer());
  std::vector<float> values(48, 1.0F);
  values[21] = std::numeric_limits<float>::quiet_NaN();  // of W_K: row 5, column 1
  const std::string bytes(reinterpret_cast<const char*>(values.data()), 48 * sizeof(float));
  file.members[0].fetch = [bytes] { return Bytes::own(bytes); };
  ModelOptions options;
  options.n_heads = 2;
  const OpenedModel model = open_model(file, options);
  const Archive native = native_archive(model, options);
  CHECK(error_of([&] { read_tensor<float>(native, native.at("W_K")); }) ==
        "w.safetensors: self_attn.in_proj_weight[5, 1] is nan; --allow-nonfinite lets it "
        "through");
}
