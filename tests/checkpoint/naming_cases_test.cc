// Situations that users of checkpoints ran into, on the RAMP layer under other
// names, with the values that a float64 computation gives (six decimals).
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "checkpoint/load.h"
#include "files/json.h"
#include "layer/encoder.h"
#include "support/error_of.h"
#include "support/ramp.h"

namespace mha {
namespace {

using Rows = std::vector<std::vector<double>>;  // of a weight: outputs, as nn.Linear has them
using Fields = std::map<std::string, std::string>;  // name -> JSON

std::string json(const std::vector<double>& row) {
  std::string text;
  for (const double value : row) text += (text.empty() ? "[" : ", ") + std::to_string(value);
  return text + "]";
}
std::string json(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) text += (text.empty() ? "[" : ", ") + json(row);
  return text + "]";
}

template <typename Formula>
Rows matrix(int outputs, int inputs, Formula formula) {
  Rows rows(static_cast<std::size_t>(outputs));
  for (int i = 0; i < outputs; ++i) {
    for (int j = 0; j < inputs; ++j)
      rows[static_cast<std::size_t>(i)].push_back(formula(i, j));
  }
  return rows;
}
Rows transposed(const Rows& rows) {
  Rows turned(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t j = 0; j < row.size(); ++j) turned[j].push_back(row[j]);
  }
  return turned;
}
// Below each other.
Rows stacked(std::initializer_list<Rows> parts) {
  Rows all;
  for (const Rows& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Rows kWq = matrix(4, 4, [](double i, double j) { return (i - j) / 4; });
const Rows kWk = matrix(4, 4, [](double i, double j) { return (i + j) / 8; });
const Rows kWv = matrix(4, 4, [](double i, double j) { return (2 * i - j) / 8; });
const Rows kWo = matrix(4, 4, [](int i, int j) {
  return i == j ? 1.0 : i + 1 == j ? 0.5 : 0.0;
});
const std::string kbq = "[0.1, 0.2, 0.3, 0.4]";
const std::string kbk = "[0, 0.1, 0, 0.1]";
const std::string kbv = "[-0.1, 0, 0.1, 0.2]";
const std::string kbo = "[0.01, 0.02, 0.03, 0.04]";
const std::string kPackedBias = "[0.1, 0.2, 0.3, 0.4, 0, 0.1, 0, 0.1, -0.1, 0, 0.1, 0.2]";
const std::vector<double> kOutput = {.083198, .061626,  .038475,  .031283,
                                     .016789, -.013073, -.020338, -.012998,
                                     .001151, -.034140, -.045469, -.031960};

Archive archive_of(const Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    text += (text.empty() ? "{\"" : ", \"") + name + "\": " + value;
  }
  return open_json(Bytes::own(text + "}"), "w.json");
}

ModelOptions heads(std::size_t n_heads) {
  ModelOptions options;
  options.n_heads = n_heads;
  return options;
}

std::vector<double> run(const Fields& fields, const ModelOptions& options = heads(2)) {
  const OpenedModel model = open_model(archive_of(fields), options);
  const auto encoder = read_model<double>(model, options);
  const auto x = ramp::x<double>();
  StackObserver<double> nobody;
  AttentionFindings findings;
  const Tensor<double> y = encode(encoder, {}, {x, x, x}, nobody, findings);
  return {y.values().begin(), y.values().end()};
}

std::string refusal(const Fields& fields, const ModelOptions& options = heads(2)) {
  return error_of([&] { run(fields, options); });
}

// Half a unit of the sixth decimal, and a little for what was rounded to it.
bool near(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() >= expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(found[i] - expected[i]) <= 1e-6)) return false;
  }
  return true;
}

Fields packed(const std::string& prefix = "") {
  return {{prefix + "in_proj_weight", json(stacked({kWq, kWk, kWv}))},
          {prefix + "in_proj_bias", kPackedBias},
          {prefix + "out_proj.weight", json(kWo)},
          {prefix + "out_proj.bias", kbo}};
}
Fields separate_width(const std::string& prefix = "") {
  return {{prefix + "q_proj_weight", json(kWq)},   {prefix + "k_proj_weight", json(kWk)},
          {prefix + "v_proj_weight", json(kWv)},   {prefix + "in_proj_bias", kPackedBias},
          {prefix + "out_proj.weight", json(kWo)}, {prefix + "out_proj.bias", kbo}};
}
Fields split(const std::string& prefix, const std::string& out) {
  return {{prefix + "q_proj.weight", json(kWq)}, {prefix + "q_proj.bias", kbq},
          {prefix + "k_proj.weight", json(kWk)}, {prefix + "k_proj.bias", kbk},
          {prefix + "v_proj.weight", json(kWv)}, {prefix + "v_proj.bias", kbv},
          {prefix + out + ".weight", json(kWo)}, {prefix + out + ".bias", kbo}};
}
Fields conv1d(const Rows& fused, const Rows& out) {
  return {{"attn.c_attn.weight", json(fused)},
          {"attn.c_attn.bias", kPackedBias},
          {"attn.c_proj.weight", json(out)},
          {"attn.c_proj.bias", kbo}};
}
Fields bert(const std::string& prefix) {
  return {{prefix + "attention.self.query.weight", json(kWq)},
          {prefix + "attention.self.query.bias", kbq},
          {prefix + "attention.self.key.weight", json(kWk)},
          {prefix + "attention.self.key.bias", kbk},
          {prefix + "attention.self.value.weight", json(kWv)},
          {prefix + "attention.self.value.bias", kbv},
          {prefix + "attention.output.dense.weight", json(kWo)},
          {prefix + "attention.output.dense.bias", kbo}};
}
Fields joined(Fields fields, const Fields& others) {
  fields.insert(others.begin(), others.end());
  return fields;
}
Fields without(Fields fields, const std::string& name) {
  REQUIRE(fields.erase(name) == 1);
  return fields;
}
Fields with(Fields fields, const std::string& name, const std::string& value) {
  fields[name] = value;
  return fields;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("packed, split and separate-width projections are one layer") {
  CHECK(near(run(packed()), kOutput));
  CHECK(near(run(packed("layers.0.self_attn.")), kOutput));
  CHECK(near(run(separate_width()), kOutput));
  CHECK(near(run(separate_width("encoder.mixer.")), kOutput));
  CHECK(near(run(split("", "out_proj")), kOutput));
  CHECK(near(run(split("layers.0.self_attn.", "out_proj")), kOutput));
  CHECK(near(run(split("", "o_proj")), kOutput));
}

TEST_CASE("a partial set of projections names the missing tensor") {
  CHECK(says(refusal(without(separate_width(), "k_proj_weight")), "k_proj_weight"));
  CHECK(says(refusal(without(split("a.", "out_proj"), "a.v_proj.weight")), "a.v_proj.weight"));
  CHECK(says(refusal(without(packed(), "out_proj.weight")), "out_proj.weight"));
}

TEST_CASE("a projection of the wrong width names what was expected and found") {
  const std::string wide = json(matrix(4, 5, [](double i, double j) { return i + j; }));
  const std::string said = refusal(with(split("", "out_proj"), "q_proj.weight", wide));
  CHECK(says(said, "q_proj.weight"));
  CHECK(says(said, "[4, 5]"));
}

TEST_CASE("BERT's names work under wrappers, nested too") {
  CHECK(near(run(bert("bert.encoder.layer.0.")), kOutput));
  CHECK(near(run(bert("module.bert.encoder.layer.0.")), kOutput));
  CHECK(near(run(bert("_orig_mod.module.encoder.layer.0.")), kOutput));
}

TEST_CASE("a layer that is not there is refused with those that are") {
  const Fields two = joined(bert("bert.encoder.layer.0."), bert("bert.encoder.layer.1."));
  ModelOptions options = heads(2);
  options.layers = LayerRange{1, 1};
  CHECK(near(run(two, options), kOutput));
  options.layers = LayerRange{2, 2};
  CHECK(says(refusal(two, options), "0 to 1"));
}

TEST_CASE("input-major weights are known by their name") {
  const Rows fused = stacked({kWq, kWk, kWv});
  ModelOptions options = heads(2);
  options.causal = Causal::off;  // GPT-2 is
  CHECK(near(run(conv1d(transposed(fused), transposed(kWo)), options), kOutput));
  // A square W_O the wrong way round cannot be told; it is another layer.
  CHECK_FALSE(near(run(conv1d(transposed(fused), kWo), options), kOutput));
  const std::string said = refusal(conv1d(fused, kWo), options);
  CHECK(says(said, "attn.c_attn.weight"));
  CHECK(says(said, "[12, 4]"));
}

TEST_CASE("all weights transposed are a sign of failure, not RAMP") {
  const Rows fused = stacked({transposed(kWq), transposed(kWk), transposed(kWv)});
  Fields fields = packed();
  fields["in_proj_weight"] = json(fused);
  fields["out_proj.weight"] = json(transposed(kWo));
  CHECK(near(run(fields), {-.333521, -.327113}));
}

TEST_CASE("the head count is asked for and never guessed") {
  CHECK(near(run(packed(), heads(1)), {.089903, .070836}));
  CHECK(near(run(packed(), heads(2)), {.083198, .061626}));
  CHECK(near(run(packed(), heads(4)), {.077880, .058573}));
  CHECK(says(refusal(packed(), {}), "--n-heads"));
  CHECK(says(refusal(packed(), heads(3)), "3"));
  CHECK(says(refusal(packed(), heads(3)), "4"));
  CHECK(says(refusal(packed(), heads(0)), "0"));
}

}  // namespace mha
