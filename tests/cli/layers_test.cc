// Whole encoder layers, stacks and checkpoints in other people's names, through
// the real program.
#include <algorithm>

#include "catch.h"
#include "cli/workspace.h"
#include "files/archive.h"

using namespace mha;

namespace {

// RAMP-ENC: RAMP's attention, a feed-forward that undoes itself, plain norms.
std::string ramp_enc(const Workspace& work) {
  const std::string attention = read_file(work.files / "ramp.json");
  return attention.substr(0, attention.rfind('}')) + R"(,
    "W_1": [[1, 0, 0, 0, -1, 0, 0, 0], [0, 1, 0, 0, 0, -1, 0, 0],
            [0, 0, 1, 0, 0, 0, -1, 0], [0, 0, 0, 1, 0, 0, 0, -1]],
    "b_1": [0, 0, 0, 0, 0, 0, 0, 0],
    "W_2": [[0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5],
            [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0.5]],
    "b_2": [0, 0.1, 0, -0.1],
    "norm1.weight": [1, 1, 1, 1], "norm1.bias": [0, 0, 0, 0],
    "norm2.weight": [1, 1, 1, 1], "norm2.bias": [0, 0, 0, 0]})";
}

const std::vector<double> kPostGelu = {-1.128259, -.598049, .200108,   1.526199,
                                       1.687583,  -.832956, -.642980,  -.211647,
                                       .467204,   1.413557, -1.026727, -.854034};

constexpr const char* kBert = MHA_SOURCE_DIR "/models/tiny-bert/pytorch_model.bin";
constexpr const char* kBertX = MHA_SOURCE_DIR "/data/tiny-bert-x.json";

Outcome bert(const Workspace& work, std::vector<std::string> args) {
  args.insert(args.begin(), {"-w", kBert, "-i", kBertX});
  return work.run(std::move(args));
}

Shape shape_in(const Workspace& work, const std::string& file, const std::string& name) {
  return open_archive(work.files / file).at(name).shape;
}

}  // namespace

SCENARIO("a whole layer of our own names gives the reference values") {
  const Workspace work;
  work.files.write("layer.json", ramp_enc(work));
  const std::vector<std::string> run = {"-w", "layer.json", "-i", "x.csv", "--format", "csv"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return work.run(more);
  };
  CHECK(agree(numbers(with({"--activation", "gelu"}).out), kPostGelu));
  const Outcome tanh = with({"--activation", "gelu_tanh"});
  const std::vector<double> y = numbers(tanh.out);
  REQUIRE(y.size() == 12);
  CHECK(agree({y.begin(), y.begin() + 4}, {-1.128398, -.597949, .200227, 1.526120}));

  THEN("--part attention stops before it") {
    const Outcome attention = with({"--part", "attention"});
    CHECK(attention.out == work.ramp({"--format", "csv"}).out);
  }
  THEN("-v says which activation, norm and eps are in force") {
    const Outcome told = with({"--activation", "gelu", "-v"});
    CHECK(has_text(told.err, "activation = gelu (--activation)"));
    CHECK(has_text(told.err, "norm = post (default)"));
    CHECK(has_text(told.err, "eps = 1e-05 (default)"));
  }
  THEN("maps of a post-norm layer are those of its attention") {
    CHECK(with({"--maps", "-"}).out == work.ramp({"--maps", "-", "--format", "csv"}).out);
  }
  THEN("a padded row gives no NaN") {
    work.files.write("mask.csv", "0,0,0\n1,1,1\n0,0,0\n");
    const Outcome masked = with({"--drop-mask", "mask.csv"});
    CHECK(masked.status == 0);
    CHECK_FALSE(has_text(masked.out, "nan"));
  }
}

SCENARIO("a checkpoint of PyTorch is run as it is") {
  const Workspace work;
  const Outcome report = bert(work, {});
  CHECK(report.status == 0);
  CHECK(report.err.empty());
  CHECK(has_text(report.out, "bert, layers 0 to 1, post-norm, gelu, d_ff 32, 4 heads"));
  // What nn.TransformerEncoderLayer makes of the same weights (models/README.md).
  CHECK(has_text(report.out, "[CLS]   0.6128   0.8331   1.2526  -0.7670  -1.9593"));
  CHECK(has_text(report.out, "layer 1, head 3"));

  THEN("every layer's maps are in one file, behind a layer axis") {
    CHECK(bert(work, {"--maps", "maps.npy"}).status == 0);
    CHECK(shape_in(work, "maps.npy", "") == Shape{2, 4, 5, 5});
    CHECK(bert(work, {"--maps", "one.npy", "--layer", "1"}).status == 0);
    CHECK(shape_in(work, "one.npy", "") == Shape{4, 5, 5});
    CHECK(bert(work, {"--maps", "mean.npy", "--average-heads"}).status == 0);
    CHECK(shape_in(work, "mean.npy", "") == Shape{2, 1, 5, 5});
  }
  THEN("one layer after the other is the stack") {
    CHECK(bert(work, {"--layer", "0", "-o", "y0.npy"}).status == 0);
    CHECK(bert(work, {"-o", "y.npy"}).status == 0);
    const Outcome second = work.run({"-w", kBert, "-i", "y0.npy", "--layer", "1", "--expect",
                                     "y.npy", "--atol", "0", "--rtol", "0"});
    CHECK(second.status == 0);
  }
  THEN("a trace names the steps of each layer and the output") {
    CHECK(bert(work, {"--trace", "t.npz"}).status == 0);
    CHECK(shape_in(work, "t.npz", "layers.0.ffn_hidden") == Shape{5, 32});
    CHECK(shape_in(work, "t.npz", "layers.1.maps") == Shape{4, 5, 5});
    CHECK(shape_in(work, "t.npz", "y") == Shape{5, 16});
    CHECK(bert(work, {"--expect-trace", "t.npz", "--precision", "f64"}).status == 0);
    const Outcome other = bert(work, {"--expect-trace", "t.npz", "--activation", "relu"});
    CHECK(other.status == 1);
    CHECK(has_text(other.out, "the first step that differs is layers.0.ffn_hidden"));
  }
  THEN("--trace-only takes a step of every layer, or of one") {
    CHECK(bert(work, {"--trace", "t.npz", "--trace-only", "maps,layers.1.q,y"}).status == 0);
    const Archive trace = open_archive(work.files / "t.npz");
    REQUIRE(trace.members.size() == 4);
    CHECK(trace.members[0].name == "layers.0.maps");
    CHECK(trace.members[1].name == "layers.1.q");
    CHECK(trace.members[2].name == "layers.1.maps");
    CHECK(trace.members[3].name == "y");
  }
  THEN("a head count over the config's is noted, where it is another") {
    const Outcome other = bert(work, {"--n-heads", "8", "-o", "y.npy"});
    CHECK(other.status == 0);
    CHECK(has_text(other.err, "mha-run: warning: n_heads = 8 (--n-heads; "));
    CHECK(has_text(other.err, "config.json: num_attention_heads says 4)\n"));
    CHECK(bert(work, {"--n-heads", "8", "-q", "-o", "y.npy"}).err.empty());
    CHECK(bert(work, {"--n-heads", "4", "-o", "y.npy"}).err.empty());
  }
  THEN("the plan covers the layers") {
    const Outcome plan = bert(work, {"--dry-run"});
    CHECK(has_text(plan.out, "layers 0 to 1, each"));
    CHECK(has_text(plan.out, "all 2 layers: "));
  }
}

SCENARIO("what a stack cannot do is refused by name") {
  const Workspace work;
  const auto refuses = [&](std::vector<std::string> args, const std::string& part) {
    const Outcome run = bert(work, std::move(args));
    INFO(run.err);
    CHECK(run.status == 2);
    CHECK(has_text(run.err, part));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  };
  refuses({"--layer", "2"}, "layer 2 is not there, layers are 0 to 1");
  refuses({"--layer", "1-0"}, "--layer: '1-0' ends before it begins");
  for (const std::string wrong : {"one", "0,1", "-1", "1-", "0-1-2"}) {
    refuses({"--layer", wrong}, "--layer: '" + wrong + "' names no layers; expected one");
  }
  refuses({"--part", "head"}, "--part: 'head' is not known; expected attention or layer");
  refuses({"--activation", "geluu"}, "--activation: 'geluu' is not known");
  refuses({"--eps", "0"}, "--eps: 0 is not a number above 0");
  refuses({"--rope", "half"}, "--rope: 'half' is not known; expected none, halves or pairs");
  refuses({"--n-heads", "3"}, "3");
  refuses({"--key", kBertX}, "--key: other sources are for attention alone");
  refuses({"--prefix", "decoder."}, "decoder.");
  refuses({"--ablate", "4"}, "head 4 to ablate is not there");
}

SCENARIO("cross-attention works on the attention of one post-norm layer") {
  const Workspace work;
  const Outcome run = bert(
      work, {"--layer", "0", "--part", "attention", "--key", kBertX, "--maps", "maps.npy"});
  CHECK(run.err.empty());
  CHECK(run.status == 0);
  CHECK(bert(work, {"--layer", "0", "--part", "attention", "--expect-maps", "maps.npy"})
            .status == 0);
}
