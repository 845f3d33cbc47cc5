// The field's cases about layers and names, by their numbers in files: what
// loading makes of a file is run, and y is what the case tells.
#include <cmath>

#include "catch.h"
#include "checkpoint/native_json.h"
#include "checkpoint/scheme_file.h"
#include "files/archive_writer.h"
#include "files/format.h"
#include "layer/encoder.h"
#include "support/ramp.h"

using namespace mha;
using namespace mha::native;

namespace {

// The cases are told to six decimals.
constexpr double kTold = 1e-6;

std::string json_of(const Tensor<double>& values) {
  const std::size_t width = values.shape().back();
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "" : i % width == 0 ? "], [" : ", ";
    text += format_number(values.data()[i]);
  }
  return values.rank() == 1 ? "[" + text + "]" : "[[" + text + "]]";
}

// `columns` [rows, n]: the diagonal is `diagonal`, from column `first` on.
std::string diagonals(std::size_t rows, std::size_t n,
                      const std::vector<std::pair<std::size_t, double>>& diagonals) {
  Tensor<double> matrix = Tensor<double>::zeros({rows, n});
  for (const auto& [first, value] : diagonals) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = rows > n ? first + i : i;
      const std::size_t col = rows > n ? i : first + i;
      matrix.matrix()(row, col) = value;
    }
  }
  return json_of(matrix);
}

// RAMP's attention, heads side by side.
Fields ramp_attention() {
  const auto ramp = ramp::weights<double>();
  return {{"W_Q", json_of(ramp.W_Q)}, {"W_K", json_of(ramp.W_K)}, {"W_V", json_of(ramp.W_V)},
          {"W_O", json_of(ramp.W_O)}, {"b_Q", json_of(ramp.b_Q)}, {"b_K", json_of(ramp.b_K)},
          {"b_V", json_of(ramp.b_V)}, {"b_O", json_of(ramp.b_O)}};
}

// RAMP-ENC: [I; -I], then half of [I I].
Fields ramp_encoder() {
  return with(ramp_attention(), {{"n_heads", "2"},
                                 {"W_1", diagonals(4, 8, {{0, 1}, {4, -1}})},
                                 {"b_1", "[0, 0, 0, 0, 0, 0, 0, 0]"},
                                 {"W_2", diagonals(8, 4, {{0, .5}, {4, .5}})},
                                 {"b_2", "[0, 0.1, 0, -0.1]"},
                                 {"norm1.weight", "[1, 1, 1, 1]"},
                                 {"norm1.bias", "[0, 0, 0, 0]"},
                                 {"norm2.weight", "[1, 1, 1, 1]"},
                                 {"norm2.bias", "[0, 0, 0, 0]"},
                                 {"activation", "\"gelu\""}});
}

template <typename T>
Numbers run(const Archive& archive, const ModelOptions& options,
            const std::vector<double>& x) {
  const Encoder<T> encoder = read_model<T>(open_model(archive, options), options);
  const Tensor<T> input = ramp::tensor<T>({x.size() / 4, 4}, x);
  StackObserver<T> nobody;
  AttentionFindings findings;
  const Tensor<T> y = encode(encoder, {}, {input, input, input}, nobody, findings);
  return {y.values().begin(), y.values().end()};
}
Numbers run(const Fields& fields, const ModelOptions& options = {}) {
  return run<double>(archive_of(fields), options, ramp::kX);
}

void check_told(const Numbers& y, const Numbers& told) {
  REQUIRE(y.size() >= told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    INFO("element " << i << " is " << y[i] << ", told " << told[i]);
    CHECK(std::abs(y[i] - told[i]) < kTold);
  }
}

Archive as_npz(const Archive& archive, const TempFolder& folder) {
  const std::string path = folder / "w.npz";
  WholeFile file(path);
  write_archive(file, ArchiveFormat::npz, archive);
  file.commit();
  return open_archive(path);
}

const Numbers kErf = {-1.128259, -.598049, .200108, 1.526199, 1.687583,  -.832956,
                      -.642980,  -.211647, .467204, 1.413557, -1.026727, -.854034};
const Numbers kTanh = {-1.128398, -.597949, .200227, 1.526120};

}  // namespace

TEST_CASE("case 6: the two kinds of gelu, from JSON and .npz, in f32 and f64") {
  const TempFolder folder;
  const Archive json = archive_of(ramp_encoder());
  for (const Archive& archive : {json, as_npz(json, folder)}) {
    check_told(run<double>(archive, {}, ramp::kX), kErf);
    check_told(run<float>(archive, {}, ramp::kX), kErf);
    ModelOptions options;
    options.activation = Activation::gelu_tanh;
    check_told(run<double>(archive, options, ramp::kX), kTanh);
  }
  // The difference is above what is told, so that a mix-up shows.
  CHECK(std::abs(kErf[0] - kTanh[0]) > 100 * kTold);
}

TEST_CASE("case 7: the epsilon of a norm is settable") {
  const Fields fields = with(ramp_encoder(), {{"W_O", diagonals(4, 4, {})},
                                              {"b_O", "[0, 0, 0, 0]"},
                                              {"norm", "\"pre\""},
                                              {"activation", "\"relu\""},
                                              {"eps", "1e-12"}});
  const std::vector<double> x = {.001, -.001, .002, -.002};
  check_told(run<double>(archive_of(fields), {}, x), {.317228, .415228, .634456, .530456});
  ModelOptions options;
  options.eps = 1e-5;
  check_told(run<double>(archive_of(fields), options, x),
             {.142421, .240421, .284843, .180843});
}

namespace {

// RAMP's attention as nn.Linear modules of these names, rows are outputs.
Fields ramp_linear(const std::vector<std::string>& names) {
  const auto ramp = ramp::weights<double>();
  const std::vector<const Tensor<double>*> weights = {&ramp.W_Q, &ramp.W_K, &ramp.W_V,
                                                      &ramp.W_O};
  const std::vector<const Tensor<double>*> biases = {&ramp.b_Q, &ramp.b_K, &ramp.b_V,
                                                     &ramp.b_O};
  Fields fields;
  for (std::size_t m = 0; m < names.size(); ++m) {
    Tensor<double> turned({4, 4});
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) turned.matrix()(i, j) = weights[m]->matrix()(j, i);
    }
    fields[names[m] + ".weight"] = json_of(turned);
    fields[names[m] + ".bias"] = json_of(*biases[m]);
  }
  return fields;
}

const std::vector<std::string> kProj = {"q_proj", "k_proj", "v_proj", "out_proj"};
const Numbers kRamp = {.083198, .061626, .038475, .031283, .016789, -.013073};

}  // namespace

TEST_CASE("case 16: split projections run, partial sets name what is missing") {
  check_told(run(ramp_linear(kProj), heads(2)), kRamp);
  const Fields prefixed =
      ramp_linear({"layers.0.self_attn.q_proj", "layers.0.self_attn.k_proj",
                   "layers.0.self_attn.v_proj", "layers.0.self_attn.out_proj"});
  check_told(run(prefixed, heads(2)), kRamp);
  CHECK(refusal(without(ramp_linear(kProj), "k_proj.weight"), heads(2)) ==
        "w.json: k_proj.weight is missing (scheme q_proj)");
  CHECK(refusal(with(ramp_linear(kProj), {{"k_proj.weight", counted({6, 4})}}), heads(2)) ==
        "w.json: k_proj.weight [6, 4] (as W_K) is [4, 6], expected [4, 4] (n_kv_heads 2, as "
        "n_heads; d_head 2 from q_proj.weight)");
  CHECK(refusal(with(ramp_linear(kProj), {{"k_proj.weight", counted({5, 4})}}), heads(2)) ==
        "w.json: k_proj.weight [5, 4] (as W_K) is [4, 5]: its 5 columns do not split into 2 "
        "heads (n_kv_heads 2, as n_heads)");
}

TEST_CASE("case 17: a layer is selected, and an absent one says which exist") {
  const auto bert = [](std::size_t layer) {
    Fields fields;
    const std::string prefix = "bert.encoder.layer." + std::to_string(layer) + ".";
    for (const auto& [name, shape] : bert_layer()) fields[prefix + name] = counted(shape);
    return fields;
  };
  const Fields three = with(with(bert(0), bert(1)), bert(2));
  ModelOptions options = layers(1, 1);
  options.n_heads = 2;
  const Loaded loaded = load(three, options);
  REQUIRE(loaded.encoder.layers.size() == 1);
  CHECK(loaded.layer().index == 1);
  CHECK(loaded.layer().settings.eps == 1e-12);
  options.layers = LayerRange{7, 7};
  CHECK(refusal(three, options) == "w.json: layer 7 is not there, layers are 0 to 2");
}

TEST_CASE(
    "case 19: the head count comes from an option, a config or the file, never a guess") {
  const Fields ramp = ramp_linear({"W_q", "W_k", "W_v", "W_o"});
  check_told(run(ramp, heads(1)), {.089903, .070836});
  check_told(run(ramp, heads(2)), {.083198, .061626});
  check_told(run(ramp, heads(4)), {.077880, .058573});
  CHECK(refusal(ramp) ==
        "w.json: W_q.weight (as W_Q) is [4, 4], heads side by side, and nothing says "
        "how many: give --n-heads, or --config with the model's config.json");
  CHECK(refusal(ramp, heads(3)) ==
        "w.json: W_q.weight (as W_Q) is [4, 4]: its 4 columns do not split into 3 "
        "heads (n_heads 3, --n-heads, d_model 4)");
  CHECK(refusal(ramp, heads(0)) ==
        "w.json: n_heads is 0 (--n-heads), expected one head or more for d_model 4");

  for (const std::string key :
       {"num_attention_heads", "num_heads", "n_head", "encoder_attention_heads", "n_heads"}) {
    const ConfigFile config("{\"" + key + "\": 2}");
    ModelOptions options;
    options.config = config.path();
    check_told(run(ramp, options), kRamp);
    const std::string by_config = config.path() + ": " + key;
    CHECK(in_force(load(ramp, options), "n_heads") == "2 (" + by_config + ")");
    options.n_heads = 4;
    check_told(run(ramp, options), {.077880, .058573});
    CHECK(in_force(load(ramp, options), "n_heads") ==
          "4 (--n-heads; " + by_config + " says 2)");
  }
}
