// mha-weights as its users run it.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.h"
#include "cli/workspace.h"
#include "files/archive.h"
#include "support/golden.h"
#include "support/terminal.h"

using namespace mha;

namespace {

class Weights : public Workspace {
 public:
  Outcome weights(std::vector<std::string> args) const {
    Command command = this->command(std::move(args));
    command.args.front() = MHA_BINARY_DIR "/apps/mha-weights";
    return run_command(command);
  }
  Archive open(const std::string& name) const { return open_archive(files / name); }
};

// The values of a tensor of two files are the same f32 bits.
bool same_bits(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

bool is_article(const Archive& archive) {
  const Archive article = open_archive(source_path("models/article.json"));
  bool same = true;
  for (const std::string name : {"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V"}) {
    same = same && same_bits(stacked<float>(archive, name), stacked<float>(article, name));
  }
  return same && same_bits(read<float>(archive, "b_O"), read<float>(article, "b_O"));
}

}  // namespace

TEST_CASE("init draws the article's module and its input without PyTorch") {
  const Weights folder;
  const std::string name = GENERATE("w.bin", "w.safetensors", "w.npz", "w.json");
  const auto done =
      folder.weights({"init", "--like", "torch", "--seed", "0", "--d-model", "8", "--n-heads",
                      "2", "-o", name, "--sample", "1,4,8", "drawn.npy"});
  CHECK(done.status == 0);
  CHECK(done.out.empty());
  CHECK(done.err.empty());
  CHECK(is_article(folder.open(name)));
  CHECK(read_file(folder.files / "drawn.npy") == read_file(source_path("data/article-x.npy")));
  // mha-run takes what init wrote.
  const auto ours = folder.run({"-w", name, "-i", "drawn.npy", "-o", "-"});
  const auto theirs = folder.run({"-w", source_path("models/article.json"), "-i",
                                  source_path("data/article-x.npy"), "-o", "-"});
  CHECK(ours.status == 0);
  CHECK(ours.out == theirs.out);
}

// PyTorch 1.13's y[0, 0] of nn.TransformerEncoderLayer(8, 2, 16, dropout=0,
// batch_first=True) and of nn.MultiheadAttention(8, 2, batch_first=True), made
// after torch.manual_seed(0), on the torch.randn(1, 4, 8) that comes next.
TEST_CASE("a module of PyTorch's is drawn and run without PyTorch, to its results") {
  const Weights folder;
  const auto [module, expected] = GENERATE(table<std::string, std::string>({
      {"TransformerEncoderLayer --d-ff 16",
       "1.687076 1.101536 -0.471692 -0.188395 -0.676604 -1.710015 0.494470 -0.236375"},
      {"TransformerEncoderLayer --d-ff 16 --norm pre --activation gelu",
       "1.124809 0.559272 -0.919410 -0.716115 -1.218712 -2.274899 0.033646 -0.599415"},
      {"MultiheadAttention",
       "-0.284796 0.030266 -0.319652 -0.203919 -0.268284 -0.053266 0.231783 -0.296639"},
  }));
  INFO(module);
  const auto done = folder.shell(
      "mha-weights init --d-model 8 --n-heads 2 -o w.bin --sample "
      "1,4,8 x.npy --module " +
      module + " && mha-run -w w.bin -i x.npy -o y.csv && head -1 y.csv");
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  CHECK(agree(numbers(done.out), numbers(expected)));
}

TEST_CASE("init takes every seed that torch takes, in 32 bits") {
  const Weights folder;
  const auto drawn = [&](const std::string& seed) {
    const auto done = folder.weights(
        {"init", "--seed", seed, "--d-model", "4", "--n-heads", "1", "-o", "seed.npz"});
    REQUIRE(done.status == 0);
    return read_file(folder.files / "seed.npz");
  };
  CHECK(drawn("5") == drawn("4294967301"));
  CHECK(drawn("-1") == drawn("18446744073709551615"));
  CHECK(drawn("-1") != drawn("1"));
}

TEST_CASE("init leaves nothing behind where one of its files cannot be written") {
  const Weights folder;
  const std::size_t before = folder.count();
  const auto done = folder.weights({"init", "--d-model", "4", "--n-heads", "1", "-o", "w.bin",
                                    "--sample", "2,4", "nowhere/x.npy"});
  CHECK(done.status == 3);
  CHECK(folder.count() == before);
}

TEST_CASE("init writes to a pipe what mha-run reads from it") {
  const Weights folder;
  const auto done = folder.shell(
      "mha-weights init --d-model 4 --n-heads 2 -o - --format json | mha-run -w - -i x.csv "
      "--format csv -o -");
  CHECK(done.status == 0);
  CHECK(numbers(done.out).size() == 12);
}

TEST_CASE("a wrong command line is one line and status 2") {
  const Weights folder;
  const auto [args, text] = GENERATE(table<std::string, std::string>({
      {"init --n-heads 2 -o w.bin", "--d-model is missing"},
      {"init --d-model 8 -o w.bin", "--n-heads is missing"},
      {"init --d-model 8 --n-heads 2", "--output is missing"},
      {"init --d-model 8 --n-heads 3 -o w.bin", "n_heads 3 does not divide d_model 8"},
      {"init --d-model 8 --n-heads 2 -o w.pt",
       "w.pt: the suffix .pt is unknown, expected .json, .npz, .safetensors or .bin"},
      {"init --d-model 8 --n-heads 2 -o ''", "--output: its value is empty"},
      {"init --d-model 8 --n-heads 2 -o w.bin --like keras",
       "--like: 'keras' is not known; expected torch"},
      {"init --d-model 8 --n-heads 2 -o w.bin --seed 1.5", "--seed: '1.5' is no whole number"},
      {"init --d-model 8 --n-heads 2 -o w.bin --module MultiHeadAttention",
       "did you mean MultiheadAttention?"},
      {"init --d-model 8 --n-heads 2 -o w.bin --d-ff 9",
       "--d-ff is for --module TransformerEncoderLayer, not Linear"},
      {"init --d-model 8 --n-heads 2 -o w.bin --sample 1,x x.npy",
       "--sample: 'x' is no count"},
      {"init --d-model 8 --n-heads 2 -o w.bin --sample 1,4 ./w.bin",
       "--sample: ./w.bin is written by --output already"},
      {"init --d-modle 8", "--d-modle: unknown option, did you mean --d-model?"},
      {"inti", "'inti' is no command, did you mean init?"},
      {"ramp.json", "'ramp.json' is no command; expected inspect, convert, init; see --help"},
      {"--verison", "--verison: unknown option, did you mean --version?"},
      {"", "a command is missing, expected inspect, convert or init"},
      {"inspect", "FILE is missing"},
      {"inspect ramp.json --format xml",
       "--format: 'xml' is not known; expected text or json"},
      {"inspect ramp.json --absorb", "--absorb: unknown option"},
      {"convert ramp.json", "OUT is missing"},
      {"convert ramp.json w.txt", "the suffix .txt is unknown"},
      {"convert ramp.json ./ramp.json", "./ramp.json: is what is read and would be lost"},
      {"convert ramp.json w.bin --layer 3-1", "--layer: '3-1' ends before it begins"},
      {"convert ramp.json w.bin --layer 3", "ramp.json"},
      {"convert ramp.json w.bin --n-heads 3", "W_Q holds 2 heads, n_heads is 3 (--n-heads)"},
      {"convert ramp.json w.bin --nheads 3", "did you mean --n-heads?"},
      {"convert x.csv w.bin", "x.csv"},
  }));
  const std::size_t before = folder.count();
  const auto done = folder.shell("mha-weights " + args);
  INFO(args << ": " << done.err);
  CHECK(done.status == 2);
  CHECK(done.out.empty());
  CHECK(done.err.rfind("mha-weights: ", 0) == 0);
  CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
  CHECK(has_text(done.err, text));
  CHECK(folder.count() == before);
}

TEST_CASE("a file that is not there ends with status 3") {
  const Weights folder;
  CHECK(folder.weights({"inspect", "none.bin"}).status == 3);
  CHECK(folder.weights({"convert", "none.bin", "w.bin"}).status == 3);
  CHECK(folder.weights({"convert", "ramp.json", "nowhere/w.bin"}).status == 3);
}

TEST_CASE("inspect tells container, scheme, settings and every tensor's role") {
  const Weights folder;
  const std::string bert = source_path("tests/golden/schemes/bert/");
  const auto found = folder.weights({"inspect", bert + "model.safetensors"});
  CHECK(found.status == 0);
  CHECK(found.err.empty());
  CHECK(has_text(found.out,
                 "model.safetensors: safetensors, 42 tensors, 17705 parameters, 70.9 kB\n"
                 "scheme: bert\n"
                 "  bert.encoder.layer.0.attention.self.query.weight: "));
  CHECK(has_text(found.out, "config.json: model_type is bert\n"));
  CHECK(has_text(found.out, "\nlayers: 2\nsettings:\n  n_heads        4  "));
  CHECK(has_text(found.out, "config.json: num_attention_heads\n"));
  CHECK(has_text(found.out,
                 "\ntensors:\n"
                 "  bert.embeddings.word_embeddings.weight                  F32  [5, 32]   "
                 "embeddings.words\n"));
  CHECK(has_text(found.out, "I64  [1, 9]    unused\n"));
  CHECK(has_text(
      found.out,
      "  bert.encoder.layer.0.attention.self.query.weight        F32  [32, 32]  layers.0.W_Q\n"
      "  bert.encoder.layer.0.attention.self.query.bias          F32  [32]      "
      "layers.0.b_Q\n"));
  CHECK(!has_text(found.out, "problem"));
}

TEST_CASE("inspect names all that a fused tensor holds, and what a checkpoint skips") {
  const Weights folder;
  const auto fused =
      folder.weights({"inspect", source_path("tests/golden/schemes/gpt2/pytorch_model.bin")});
  CHECK(has_text(fused.out,
                 "  transformer.h.0.attn.c_attn.bias    float16  [96]          layers.0.b_Q, "
                 "b_K, b_V\n"));
  const auto wrapped = folder.weights(
      {"inspect", source_path("tests/golden/schemes/bert_wrapped/checkpoint.pt")});
  CHECK(has_text(wrapped.out, "\nno tensors, skipped:\n  epoch                   int\n"));
  const auto shared =
      folder.weights({"inspect", source_path("tests/golden/schemes/t5/model.safetensors"),
                      "--prefix", "encoder."});
  CHECK(has_text(shared.out, "  relative_bias of 2 layers\n"));
}

TEST_CASE("inspect tells what it can of a file that cannot be run, and why") {
  const Weights folder;
  SECTION("the head count is missing") {
    const std::string file =
        source_path("tests/golden/schemes/bare_projections/model.safetensors");
    const auto found = folder.weights({"inspect", file});
    CHECK(found.status == 0);
    CHECK(has_text(found.out, "\nproblem: "));
    CHECK(has_text(found.out, "give --n-heads"));
    CHECK(has_text(found.out, "W_Q\n"));
    CHECK(!has_text(folder.weights({"inspect", file, "--n-heads", "4"}).out, "problem"));
  }
  SECTION("nothing is recognised") {
    folder.files.write("other.json", R"({"conv.weight": [[1, 2], [3, 4]], "depth": 3})");
    const auto found = folder.weights({"inspect", "other.json"});
    CHECK(found.status == 0);
    CHECK(has_text(found.out,
                   "other.json: JSON, 1 tensor, 4 parameters, 32 B\n"
                   "scheme: not recognised\nproblem: "));
    CHECK(has_text(found.out, "tensors:\n  conv.weight  number  [2, 2]  unknown\n"));
  }
  SECTION("several towers") {
    const std::string file = source_path("tests/golden/schemes/clip/model.safetensors");
    CHECK(has_text(folder.weights({"inspect", file}).out, "choose one by --prefix"));
    const auto found = folder.weights({"inspect", file, "--prefix", "vision_model."});
    CHECK(has_text(found.out, "scheme: clip-vision"));
    CHECK(has_text(found.out, "layers: 2 and a last norm"));
  }
}

TEST_CASE("inspect's JSON says the same, and is JSON whatever the names are") {
  const Weights folder;
  folder.files.write("odd.json", R"({"a \"quoted\"\n\u0001 name": [1], "n_heads": 2})");
  const auto odd = folder.weights({"inspect", "odd.json", "--format", "json"});
  CHECK(odd.status == 0);
  CHECK(has_text(odd.out, R"("a \"quoted\"\n\u0001 name")"));
  const auto found = folder.weights({"inspect", "ramp.json", "--format", "json"});
  CHECK(has_text(found.out, R"("container": "JSON")"));
  CHECK(has_text(found.out, R"("scheme": "native")"));
  CHECK(has_text(found.out, R"("problem": null)"));
  CHECK(has_text(
      found.out,
      R"({"name": "heads[0].W_Q", "dtype": "number", "shape": [4, 2], "role": "heads[0].W_Q"})"));
  CHECK(has_text(found.out, R"({"name": "n_heads", "value": "2", "source": ")"));
  CHECK(has_text(found.out, "\"parameters\": 80,\n  \"bytes\": 640\n}\n"));
}

TEST_CASE("convert keeps every number and every setting, whatever the containers") {
  const Weights folder;
  const std::string bert = source_path("tests/golden/schemes/bert/model.safetensors");
  const std::string name = GENERATE("c.json", "c.npz", "c.safetensors", "c.bin");
  const auto done = folder.weights({"convert", bert, name});
  CHECK(done.status == 0);
  CHECK(done.out.empty());
  CHECK(done.err.empty());
  // A conversion of a conversion is the same file.
  REQUIRE(folder.weights({"convert", name, "again.npz"}).status == 0);
  REQUIRE(folder.weights({"convert", bert, "direct.npz"}).status == 0);
  CHECK(read_file(folder.files / "again.npz") == read_file(folder.files / "direct.npz"));
}

TEST_CASE("convert --layer takes one layer out, under bare names") {
  const Weights folder;
  const std::string bert = source_path("tests/golden/schemes/bert/model.safetensors");
  REQUIRE(folder.weights({"convert", bert, "one.npz", "--layer", "1"}).status == 0);
  REQUIRE(folder.weights({"convert", bert, "all.npz"}).status == 0);
  const Archive one = folder.open("one.npz");
  const Archive all = folder.open("all.npz");
  CHECK(one.members.size() == 16);
  CHECK(same_bits(read<float>(one, "W_Q"), read<float>(all, "layers.1.W_Q")));
  CHECK(one.settings.at("eps") == "1e-12");
  CHECK(one.settings.at("n_heads") == "4");
}

TEST_CASE("convert writes what was said on its command line into the file") {
  const Weights folder;
  REQUIRE(folder.weights({"convert", "ramp.json", "w.npz", "--causal", "--scale", "0.125"})
              .status == 0);
  const Archive written = folder.open("w.npz");
  CHECK(written.settings.at("causal") == "start");
  CHECK(written.settings.at("scale") == "0.125");
}

TEST_CASE("convert refuses to write over a shard it reads") {
  const Weights folder;
  const std::string shards = source_path("tests/golden/schemes/roberta/");
  for (const std::string name :
       {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
        "model.safetensors.index.json", "config.json"}) {
    std::filesystem::copy_file(shards + name, folder.files / name);
  }
  const std::string shard = "model-00002-of-00002.safetensors";
  const std::string before = read_file(folder.files / shard);
  const auto done = folder.weights({"convert", "model.safetensors.index.json", shard});
  CHECK(done.status == 2);
  CHECK(has_text(done.err, shard + ": lies among the shards that are read"));
  CHECK(read_file(folder.files / shard) == before);
  CHECK(folder.weights({"convert", "model.safetensors.index.json", "new.bin"}).status == 0);
}

TEST_CASE("convert refuses to write over the config it reads") {
  const Weights folder;
  REQUIRE(folder.weights({"convert", "ramp.json", "w.bin"}).status == 0);
  folder.files.write("config.json", R"({"n_heads": 2})");
  const auto done = folder.weights({"convert", "w.bin", "config.json"});
  CHECK(done.status == 2);
  CHECK(has_text(done.err, "config.json: is what is read and would be lost"));
  CHECK(folder.weights({"convert", "w.bin", "link.json", "--config", "config.json"}).status ==
        0);
}

TEST_CASE("help is short, and every command has its own") {
  const Weights folder;
  const auto help = folder.weights({"--help"});
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  std::size_t examples = 0;
  for (std::size_t at = help.out.find("\n  mha-weights "); at != std::string::npos;
       at = help.out.find("\n  mha-weights ", at + 1)) {
    ++examples;
  }
  CHECK(examples == 3);
  for (const std::string command : {"inspect", "convert", "init"}) {
    CHECK(has_text(help.out, "\n  " + command + " "));
    const auto own = folder.weights({command, "--help"});
    CHECK(own.status == 0);
    CHECK(has_text(own.out, "Usage: mha-weights " + command));
  }
  CHECK(folder.weights({"--version"}).out.rfind("mha-weights ", 0) == 0);
}

SCENARIO("binary never goes to a terminal") {
  const Weights folder;
  const Terminal terminal;
  const std::vector<std::string> init = {"init", "--d-model", "8", "--n-heads", "2"};
  const auto refused = [&](std::vector<std::string> args, const std::string& what) {
    args.insert(args.begin(), init.begin(), init.end());
    const Outcome outcome = folder.weights(args);
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find(terminal.path() + ": is a terminal and " + what + " is binary") !=
          std::string::npos);
  };
  refused({"--format", "npz", "-o", terminal.path()}, "npz");
  refused({"--format", "bin", "-o", terminal.path()}, "safetensors");
  refused({"-o", "w.bin", "--sample", "1,4,8", terminal.path()}, "npy");
  CHECK_FALSE(std::filesystem::exists(folder.files / "w.bin"));
}
