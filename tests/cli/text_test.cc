// Text in: words become x, and tokens become labels.
#include <algorithm>

#include "catch.h"
#include "cli/workspace.h"
#include "files/archive.h"
#include "support/golden.h"

using namespace mha;

namespace {

const std::string kBert = source_path("models/tiny-bert/pytorch_model.bin");

// One line on stderr that holds all of these, nothing on stdout.
void refuses(const Outcome& run, int status, const std::vector<std::string>& parts) {
  INFO(run.err);
  bool ok = run.status == status && run.out.empty() &&
            std::count(run.err.begin(), run.err.end(), '\n') == 1 &&
            run.err.rfind("mha-run: ", 0) == 0;
  for (const std::string& part : parts) ok = ok && has_text(run.err, part);
  CHECK(ok);
}

}  // namespace

SCENARIO("words in, labelled maps out") {
  const Workspace work;
  GIVEN("a checkpoint with a vocabulary beside it") {
    const Outcome run =
        work.run({"-w", kBert, "--text", "The CAT slept!", "--map-heads", "0"});
    CHECK(run.status == 0);
    CHECK(run.err.empty());
    CHECK(has_text(run.out, "--text, WordPiece by " +
                                source_path("models/tiny-bert/vocab.txt") + " [6, 16]"));
    CHECK(has_text(run.out, "        [CLS]     the     cat   slept   [UNK]   [SEP]\n"));
    THEN("-v says what became of its words") {
      const Outcome loud =
          work.run({"-w", kBert, "--text", "The CAT slept!", "-v", "-o", "y.npy"});
      CHECK(has_text(loud.err, "word 3, !, is unknown: [UNK]"));
      CHECK(has_text(loud.err, "lower_case = true ("));
      CHECK(has_text(loud.err, "left aside: pooler.dense.weight, pooler.dense.bias\n"));
    }
  }
  GIVEN("text on standard input, over several lines") {
    const Outcome once =
        work.run({"-w", kBert, "--text", "-", "-o", "a.npy"}, "the cat\n\nslept\n");
    CHECK(once.status == 0);
    const Outcome same =
        work.run({"-w", kBert, "--text", "the cat slept", "--expect", "a.npy"});
    CHECK(has_text(same.out, "no difference at all"));
  }
  GIVEN("a file of word vectors") {
    work.files.write("v.txt", "2 4\nthe 1 2 3 4\ncat -1 0 .5 1\n");
    const Outcome run =
        work.run({"-w", "ramp.json", "--text", "cat the cat", "--embeddings", "v.txt"});
    CHECK(run.status == 0);
    CHECK(has_text(run.out, "input    --text, words of v.txt [3, 4]\n"));
    CHECK(has_text(run.out, "        cat     the     cat\n"));
    THEN("they come through a pipe as well") {
      const Outcome piped =
          work.shell("cat v.txt | mha-run -w ramp.json --text 'cat the cat' --embeddings -");
      CHECK(piped.status == 0);
      CHECK(piped.out.substr(piped.out.find("\ny")) == run.out.substr(run.out.find("\ny")));
    }
    THEN("they win over the weights' own words") {
      work.files.write("w.txt", "the 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
      const Outcome own = work.run({"-w", kBert, "--text", "the", "--embeddings", "w.txt"});
      CHECK(has_text(own.out, "words of w.txt [1, 16]"));
    }
    THEN("unknown words are an error or zeros") {
      const std::vector<std::string> args = {"-w",      "ramp.json",    "--text",
                                             "the dog", "--embeddings", "v.txt"};
      refuses(work.run(args), 2, {"--text: word 2, dog, is not in v.txt; --unknown"});
      std::vector<std::string> lenient = args;
      lenient.emplace_back("--unknown");
      CHECK(has_text(work.run(lenient).out, "dog"));
    }
  }
  GIVEN("labels by hand") {
    const Outcome run = work.run({"-w", kBert, "--text", "cat", "--labels", "a,b,c"});
    CHECK(has_text(run.out, "        a       b       c\n"));
  }
}

SCENARIO("maps in .npz say what they are of") {
  const Workspace work;
  const auto maps = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"-w", kBert, "--text", "the cat", "--maps", "m.npz"});
    const Outcome run = work.run(args);
    INFO(run.err);
    CHECK(run.status == 0);
    return open_archive(work.files / "m.npz");
  };
  const std::vector<std::string> tokens = {"[CLS]", "the", "cat", "[SEP]"};
  const Archive all = maps({});
  CHECK(all.at("maps").shape == Shape{2, 4, 4, 4});
  CHECK(all.settings.at("axes") == "layers,heads,queries,keys");
  CHECK(all.lists.at("queries") == tokens);
  CHECK(all.lists.at("keys") == tokens);
  CHECK_FALSE(all.lists.contains("heads"));
  CHECK(all.at("layers").shape == Shape{2});
  const Archive one = maps({"--layer", "0", "--map-heads", "3,1"});
  CHECK(one.settings.at("axes") == "heads,queries,keys");
  CHECK(one.find("layers") == nullptr);
  CHECK(one.lists.at("heads") == std::vector<std::string>{"head 3", "head 1"});
  CHECK(maps({"--average-heads"}).lists.at("heads") ==
        std::vector<std::string>{"mean over heads"});
  CHECK(work.ramp({"--maps", "n.npz"}).status == 0);
  CHECK(open_archive(work.files / "n.npz").lists.empty());
}

SCENARIO("what text cannot be combined with is refused before anything is read") {
  const Workspace work;
  const auto refused = [&](std::vector<std::string> args,
                           const std::vector<std::string>& parts) {
    args.insert(args.begin(), {"-w", "no-such-file"});
    refuses(work.run(args), 2, parts);
  };
  refused({"--text", "a", "-i", "x.csv"}, {"--text: --input gives x already"});
  refused({"--vocab", "v.txt", "-i", "x.csv"}, {"--vocab needs --text"});
  refused({"--embeddings", "v.txt", "-i", "x.csv"}, {"--embeddings needs --text"});
  refused({"--unknown", "-i", "x.csv"}, {"--unknown needs --text"});
  refused({"--text", "a", "--vocab", "v.txt", "--embeddings", "e.txt"},
          {"--vocab: --embeddings has words of its own"});
  refused({"--text", "a", "--layer", "3"},
          {"--text: words come in at layer 0, and --layer begins with 3; --layer 0-3 runs"});
  refused({"--text", "a", "--layer", "3-5"}, {"--layer 0-5 runs"});
  refused({"--text", ""}, {"--text", "empty"});
  refused({"--text", "-", "--key", "-"}, {"standard input (-)"});
  refused({"--text", "-", "--embeddings", "-"}, {"standard input (-)"});
  refused({}, {"--input FILE or --text TEXT is missing"});
}

SCENARIO("text that cannot be read says why and what to do") {
  const Workspace work;
  refuses(work.run({"-w", "ramp.json", "--text", "a"}), 2,
          {"ramp.json: holds no embeddings of words", "--input", "--embeddings"});
  const std::string roberta =
      source_path("tests/golden/schemes/roberta/model.safetensors.index.json");
  refuses(work.run({"-w", roberta, "--text", "a"}), 2,
          {"RoBERTa, XLM-R (Hugging Face) splits text into byte pairs (BPE)", "--input"});
  refuses(work.run({"-w", kBert, "--text", " "}), 2, {"--text: there are no words in it"});
  refuses(work.run({"-w", kBert, "--text", "-"}, ""), 2, {"--text: there are no words in it"});
  refuses(work.run({"-w", kBert, "--text", "a", "--vocab", "none.txt"}), 3, {"none.txt"});
  refuses(work.run({"-w", kBert, "--text", "a", "--embeddings", "none.txt"}), 3, {"none.txt"});
  refuses(work.run({"-w", kBert, "--text", "a", "--labels", "a,b"}), 2,
          {"--labels: 2 names, expected 3"});
  work.files.write("v.txt", "1\n2\n3\n4\n5\n6\n7\n");
  refuses(work.run({"-w", kBert, "--text", "a", "--vocab", "v.txt"}), 2,
          {"v.txt: the vocabulary has 7 words", "6 rows"});
}

SCENARIO("a converted checkpoint reads text as the first one did") {
  const Workspace work;
  const std::string convert = "mha-weights convert " + kBert + " ";
  CHECK(work.run({"-w", kBert, "--text", "The cat [SEP] slept", "-o", "y.npy"}).status == 0);
  for (const char* name : {"t.npz", "t.json", "t.safetensors", "t.bin"}) {
    INFO(name);
    CHECK(work.shell(convert + name).err.empty());
    const Outcome run =
        work.run({"-w", name, "--text", "The cat [SEP] slept", "--expect", "y.npy"});
    CHECK(has_text(run.out, "no difference at all"));
  }
  SECTION("but layers of a stack have no words in front") {
    CHECK(work.shell(convert + "one.json --layer 0").status == 0);
    refuses(work.run({"-w", "one.json", "--text", "cat"}), 2, {"holds no embeddings"});
  }
  SECTION("embeddings that cannot be used are left out, with a warning") {
    const std::string folder = work.files.path().string();
    for (const char* name : {"pytorch_model.bin", "config.json", "vocab.txt"}) {
      std::filesystem::copy(source_path("models/tiny-bert/") + name, folder);
    }
    work.files.write("tokenizer_config.json",
                     R"({"tokenizer_class": "BertJapaneseTokenizer"})");
    const Outcome left = work.shell("mha-weights convert pytorch_model.bin j.json");
    CHECK(left.status == 0);
    CHECK(has_text(left.err, "the embeddings are left out: "));
    CHECK(has_text(left.err, "BertJapaneseTokenizer"));
    refuses(work.run({"-w", "pytorch_model.bin", "--text", "cat"}), 2,
            {"BertJapaneseTokenizer"});
  }
}
