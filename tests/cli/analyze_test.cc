// mha-maps analyze as its users run it.
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "cli/workspace.h"
#include "files/bytes.h"
#include "files/json.h"

namespace mha {
namespace {

JsonNode parsed(const std::string& text) { return parse_json(Bytes::own(text), "stdout"); }

Outcome analyze(const Workspace& work, std::vector<std::string> args) {
  args.insert(args.begin(), {MHA_BINARY_DIR "/apps/mha-maps", "analyze"});
  Command command;
  command.args = std::move(args);
  command.folder = work.files.path().string();
  return run_command(command);
}

// Of n tokens: a head that looks one back (the first token at itself), and one that looks
// everywhere.
std::string two_maps(std::size_t n) {
  std::string previous;
  std::string broad;
  for (std::size_t i = 0; i < n; ++i) {
    previous += i == 0 ? "[[" : ",[";
    broad += i == 0 ? "[[" : ",[";
    for (std::size_t j = 0; j < n; ++j) {
      previous +=
          std::string(j == 0 ? "" : ",") + (j + 1 == i || (i == 0 && j == 0) ? "1" : "0");
      broad += (j == 0 ? "" : ",") + std::to_string(1.0 / static_cast<double>(n));
    }
    previous += "]";
    broad += "]";
  }
  return "[" + previous + "]," + broad + "]]";
}

}  // namespace

SCENARIO("analyze prints a row a head") {
  const Workspace work;
  work.files.write("maps.json", two_maps(8));
  const Outcome run = analyze(work, {"maps.json"});
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK(has_text(run.out, "2 heads, 1 sequence, means over 8 query rows\n"));
  CHECK(has_text(run.out, "   0  previous 1.00  0.00   0%   1.00  0.12  1.00"));
  CHECK(has_text(run.out, "   1  broad 1.00"));
  CHECK_FALSE(has_text(run.out, "delim"));
  THEN("labels say which keys are delimiters") {
    const Outcome labelled = analyze(
        work, {"maps.json", "--labels", "[CLS],a,b,c,.,d,e,[SEP]", "--format", "json"});
    const JsonNode heads = *parsed(labelled.out).find("heads");
    CHECK(std::abs(heads.children[1].find("delimiter")->number - 3.0 / 8.0) < 1e-6);
    const Outcome said = analyze(work, {"maps.json", "--labels", "[CLS],a,b,c,.,d,e,[SEP]",
                                        "--delimiters", "a", "--format", "json"});
    CHECK(std::abs(parsed(said.out).find("heads")->children[1].find("delimiter")->number -
                   1.0 / 8.0) < 1e-6);
  }
  THEN("CSV has a line a head") {
    const Outcome csv = analyze(work, {"maps.json", "--format", "csv"});
    CHECK(csv.out.starts_with("layer,head,pattern,"));
    CHECK(has_text(csv.out, "\n,0,previous,8,0,1,"));
  }
}

SCENARIO("several files add up, whatever their lengths") {
  const Workspace work;
  work.files.write("a.json", two_maps(6));
  work.files.write("b.json", two_maps(10));
  const Outcome both = analyze(work, {"a.json", "b.json", "--format", "json"});
  REQUIRE(both.status == 0);
  const JsonNode json = parsed(both.out);
  CHECK(json.find("sequences")->number == 2);
  const JsonNode& broad = json.find("heads")->children[1];
  CHECK(broad.find("rows")->number == 16);
  const double mean = (6 * std::log(6.0) + 10 * std::log(10.0)) / 16;
  CHECK(std::abs(broad.find("entropy")->number - mean) < 1e-4);
  THEN("a batch of two is the same as two files") {
    work.files.write("batch.json", "[" + two_maps(6) + "," + two_maps(6) + "]");
    const Outcome batch = analyze(work, {"batch.json", "--axes", "batch", "--format", "json"});
    const Outcome twice = analyze(work, {"a.json", "a.json", "--format", "json"});
    CHECK(batch.out == twice.out);
    CHECK(batch.err.empty());
  }
  THEN("files of other heads are refused by name") {
    work.files.write("one.json", "[[[1,0],[0,1]]]");
    const Outcome other = analyze(work, {"a.json", "one.json"});
    CHECK(other.status == 2);
    CHECK(other.out.empty());
    CHECK(other.err == "mha-maps: one.json has 1 head, expected 2 heads as a.json has\n");
    work.files.write("layers.json", "[" + two_maps(6) + "]");
    const Outcome layers = analyze(work, {"a.json", "layers.json", "--axes", "layers"});
    CHECK(has_text(layers.err,
                   "layers.json has 1 layer of 2 heads, expected 2 heads as a.json"));
  }
}

SCENARIO("a rollout follows attention through the layers") {
  const Workspace work;
  // A_1 = [[3/4, 1/4], [1/2, 1/2]], A_2 = [[1/2, 1/2], [0, 1]]; two heads in the mean.
  work.files.write("maps.json",
                   "[[[[0.25,0.75],[1,0]],[[0.75,0.25],[1,0]]],"
                   "[[[0,1],[0,1]],[[0,1],[0,1]]]]");
  const Outcome run =
      analyze(work, {"maps.json", "--axes", "layers", "--rollout", "--labels", "it,cat"});
  CHECK(has_text(run.out, "it   0.6250  0.3750\ncat  0.5000  0.5000\n"));
  const Outcome json =
      analyze(work, {"maps.json", "--axes", "layers", "--rollout", "--format", "json"});
  CHECK(parsed(json.out).find("rollouts")->numbers == std::vector<double>{.625, .375, .5, .5});
  CHECK(parsed(json.out).find("heads")->children[2].find("layer")->number == 1);
  THEN("it needs maps of as many queries as keys, and a table has no room for it") {
    work.files.write("wide.json", "[[[0,1,0]]]");
    const Outcome wide = analyze(work, {"wide.json", "--rollout"});
    CHECK(wide.status == 2);
    CHECK(has_text(wide.err, "wide.json has 1 query row on 3 keys"));
    CHECK(analyze(work, {"maps.json", "--rollout", "--format", "csv"}).status == 2);
  }
}

SCENARIO("padding is left out where it is said") {
  const Workspace work;
  work.files.write("two.json",
                   "[[[-1,-0.5,0,0.5],[1,-1,-0.5,0],[0.5,1,-1,-0.5]],"
                   "[[-1,-0.5,0,0.5],[1,-1,-0.5,0],[9,9,9,9]]]");
  const std::vector<std::string> args = {"-w",       "ramp.json",     "-i",
                                         "two.json", "--key-lengths", "3,2"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    return work.run(more);
  };
  REQUIRE(run({"--maps", "maps.npy"}).status == 0);
  const Outcome maps = analyze(
      work, {"maps.npy", "--axes", "batch", "--key-lengths", "3,2", "--format", "json"});
  REQUIRE(maps.status == 0);
  const JsonNode json = parsed(maps.out);
  const JsonNode report = parsed(run({"--head-report", "--format", "json"}).out);
  for (std::size_t head = 0; head < 2; ++head) {
    const JsonNode& in_file = json.find("heads")->children[head];
    CHECK(in_file.find("rows")->number == 5);
    CHECK(in_file.find("entropy_share")->number ==
          report.find("heads")->children[head].find("entropy_share")->number);
  }
  CHECK(has_text(
      analyze(work, {"maps.npy", "--axes", "batch", "--key-lengths", "3"}).err,
      "--key-lengths: 1 number, expected one for each sequence; with maps.npy there are"));
  CHECK(has_text(analyze(work, {"maps.npy", "--axes", "batch", "--key-lengths", "3,2,1"}).err,
                 "--key-lengths: 3 numbers, expected 2, one for each sequence"));
  CHECK(has_text(analyze(work, {"maps.npy", "--axes", "batch", "--key-lengths", "0,2",
                                "--rollout", "--format", "json"})
                     .out,
                 "\"rollouts\": [\n[],\n[["));
  CHECK(has_text(analyze(work, {"maps.npy", "--axes", "batch", "--key-lengths", "3,4"}).err,
                 "--key-lengths: 4 is more than the 3 keys of maps.npy"));
  SECTION("padding that is read is refused: what is said of it would be wrong") {
    const Outcome read =
        analyze(work, {"maps.npy", "--axes", "batch", "--key-lengths", "2,2"});
    CHECK(read.status == 2);
    CHECK(has_text(read.err, "--key-lengths: maps.npy has weight "));
    CHECK(has_text(read.err, " behind its 2 keys, expected none on padding"));
  }
}

SCENARIO("what analyze cannot use is named") {
  const Workspace work;
  work.files.write("maps.json", two_maps(4));
  for (const auto& [args, words] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "FILE is missing"},
           {{"none.json"}, "none.json"},
           {{"maps.json", "--format", "npy"}, "--format: 'npy' is not known"},
           {{"maps.json", "--delimiters", "a"}, "the keys of maps.json have no labels"},
           {{"maps.json", "--labels", "a,b,c,d", "--delimiters", "b,x"},
            "--delimiters: 'x' is no key's label"},
           {{"-", "-"}, "can be read once only"},
           {{"maps.json", "--roll-out"}, "--rollout"}}) {
    const Outcome run = analyze(work, args);
    CAPTURE(run.err);
    CHECK(run.status != 0);
    CHECK(run.out.empty());
    CHECK(has_text(run.err, words));
  }
  work.files.write("scores.json", "[[[3,-1],[0.5,0.5]]]");
  const Outcome scores = analyze(work, {"scores.json"});
  CHECK(scores.status == 2);
  CHECK(has_text(scores.err, "are these maps?"));
}

SCENARIO("what mha-run writes can be analysed") {
  const Workspace work;
  REQUIRE(work.ramp({"--maps", "maps.npy", "--causal"}).status == 0);
  const Outcome maps = analyze(work, {"maps.npy", "--format", "json"});
  const Outcome report = work.ramp({"--head-report", "--causal", "--format", "json"});
  for (std::size_t head = 0; head < 2; ++head) {
    const JsonNode in_file = parsed(maps.out).find("heads")->children[head];
    const JsonNode in_run = parsed(report.out).find("heads")->children[head];
    CHECK(in_file.find("pattern")->text == "broad");
    for (const char* name : {"entropy", "entropy_share", "strength"}) {
      CHECK(in_file.find(name)->number == in_run.find(name)->number);
    }
    CHECK(in_file.find("nearest")->find("js")->number ==
          in_run.find("nearest")->find("js")->number);
  }
}

}  // namespace mha
