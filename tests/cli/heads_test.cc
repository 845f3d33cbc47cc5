// What mha-run says of heads: --head-report and --early-fusion.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "cli/workspace.h"
#include "files/bytes.h"
#include "files/json.h"

namespace mha {
namespace {

JsonNode parsed(const std::string& text) { return parse_json(Bytes::own(text), "stdout"); }

double norm(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> difference(std::vector<double> a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

bool near(double a, double b) { return std::abs(a - b) <= 2e-6; }

std::vector<double> y_of(const Workspace& work, std::vector<std::string> args) {
  args.insert(args.end(), {"-o", "-", "--format", "csv"});
  return numbers(work.ramp(std::move(args)).out);
}

const std::string kBert = MHA_SOURCE_DIR "/models/tiny-bert/pytorch_model.bin";
const std::string kBertX = MHA_SOURCE_DIR "/data/tiny-bert-x.json";

}  // namespace

SCENARIO("of heads that see no key a report has no numbers") {
  const Workspace work;
  work.files.write("all.csv", "1,1,1\n");
  const Outcome report = work.ramp({"--head-report", "--drop-mask", "all.csv", "-q"});
  CHECK(report.status == 0);
  CHECK(has_text(report.out, "   0  -              -"));
  const Outcome json =
      work.ramp({"--head-report", "--drop-mask", "all.csv", "-q", "--format", "json"});
  CHECK(has_text(json.out, "\"strength\": null, \"entropy\": null"));
}

SCENARIO("a head report says what each head does, and prints no y") {
  const Workspace work;
  const Outcome report = work.ramp({"--head-report"});
  CHECK(report.status == 0);
  CHECK(report.err.empty());
  CHECK(has_text(report.out, "heads: means over 3 query rows; attention is not attribution"));
  CHECK(has_text(report.out, "head  pattern"));
  CHECK_FALSE(has_text(report.out, "y ["));

  const Outcome json = work.ramp({"--head-report", "--format", "json", "--precision", "f64"});
  CHECK(json.status == 0);
  const JsonNode heads = *parsed(json.out).find("heads");
  REQUIRE(heads.children.size() == 2);
  const std::vector<double> y = y_of(work, {});
  for (std::size_t head = 0; head < 2; ++head) {
    const JsonNode& found = heads.children[head];
    const std::vector<double> without = y_of(work, {"--ablate", std::to_string(head)});
    CHECK(found.find("head")->number == static_cast<double>(head));
    CHECK(near(found.find("ablation")->number, norm(difference(y, without)) / norm(y)));
    CHECK(near(found.find("ablation")->number, found.find("share")->number));
    CHECK(found.find("pattern")->text == "broad");
    CHECK(found.find("nearest")->find("head")->number == static_cast<double>(1 - head));
  }
  // -sum p ln p of head 0's rows, as the field's case gives them.
  const std::vector<double> map = {.309484, .344114, .346402, .402798, .302560,
                                   .294642, .424895, .292159, .282946};
  double entropy = 0.0;
  for (const double p : map) entropy -= p * std::log(p) / 3.0;
  CHECK(near(heads.children[0].find("entropy")->number, entropy));
}

SCENARIO("a head report goes where results leave room") {
  const Workspace work;
  WHEN("y goes to a file") {
    const Outcome run = work.ramp({"-o", "y.npy", "--maps", "m.npy", "--head-report"});
    CHECK(run.status == 0);
    CHECK(has_text(run.out, "head  pattern"));
    CHECK(work.has("y.npy"));
    CHECK(work.has("m.npy"));
  }
  WHEN("y goes to stdout") {
    const Outcome run = work.ramp({"-o", "-", "--format", "csv", "--head-report"});
    CHECK(numbers(run.out).size() == 12);
    CHECK(has_text(run.err, "head  pattern"));
    const Outcome quiet = work.ramp({"-o", "-", "--format", "csv", "--head-report", "-q"});
    CHECK(quiet.out == run.out);
    CHECK(quiet.err == run.err);  // a result, not a remark
  }
  WHEN("something is compared") {
    REQUIRE(work.ramp({"-o", "y.npy"}).status == 0);
    const Outcome run = work.ramp({"--expect", "y.npy", "--head-report"});
    CHECK(run.status == 0);
    CHECK(has_text(run.out, "head  pattern"));
    CHECK(has_text(run.out, "y: equal"));
    THEN("JSON has nothing behind it") {
      const Outcome json =
          work.ramp({"--expect", "y.npy", "--head-report", "--format", "json"});
      CHECK(parsed(json.out).find("heads")->children.size() == 2);
      CHECK(has_text(json.err, "y: equal"));
    }
  }
  WHEN("a form is asked for that a report does not have") {
    const Outcome run = work.ramp({"--head-report", "--format", "csv"});
    CHECK(run.status == 2);
    CHECK(has_text(run.err, "--format"));
    CHECK(run.out.empty());
  }
  WHEN("nothing is to be computed") {
    const Outcome run = work.ramp({"--head-report", "--dry-run"});
    CHECK(run.status == 0);
    CHECK_FALSE(has_text(run.out, "pattern"));
  }
}

SCENARIO("a head report of a stack has a row a layer and head") {
  const Workspace work;
  const Outcome json = work.run(
      {"-w", kBert, "-i", kBertX, "--head-report", "--format", "json", "--precision", "f64"});
  REQUIRE(json.status == 0);
  const JsonNode heads = *parsed(json.out).find("heads");
  REQUIRE(heads.children.size() == 8);
  const auto y = [&](std::vector<std::string> args) {
    args.insert(args.begin(),
                {"-w", kBert, "-i", kBertX, "--precision", "f64", "--format", "csv"});
    return numbers(work.run(args).out);
  };
  CHECK(heads.children[5].find("layer")->number == 1);
  CHECK(heads.children[5].find("head")->number == 1);
  WHEN("a head is left out, its row says so") {
    const Outcome ablated =
        work.run({"-w", kBert, "-i", kBertX, "--head-report", "--ablate", "2"});
    CHECK(has_text(ablated.out, "ablated\n") == false);
    CHECK(has_text(ablated.out, "  ablated  "));
    CHECK(has_text(ablated.out, "adds nothing to y"));
  }
  WHEN("one layer runs, what ablating does is that of the run without the head") {
    const Outcome one = work.run({"-w", kBert, "-i", kBertX, "--layer", "1", "--head-report",
                                  "--format", "json", "--precision", "f64"});
    const JsonNode of_layer = *parsed(one.out).find("heads");
    REQUIRE(of_layer.children.size() == 4);
    const std::vector<double> whole = y({"--layer", "1"});
    const std::vector<double> without = y({"--layer", "1", "--ablate", "3"});
    CHECK(near(of_layer.children[3].find("ablation")->number,
               norm(difference(whole, without)) / norm(whole)));
  }
}

SCENARIO("early fusion says how far y moved") {
  const Workspace work;
  const std::vector<double> late = y_of(work, {});
  const std::vector<double> early = y_of(work, {"--early-fusion"});
  const std::vector<double> moved = difference(early, late);
  CHECK(largest(moved) > 1e-4);
  WHEN("it is all that is asked for, the report shows the new y and the heads' own maps") {
    const Outcome run = work.ramp({"--early-fusion"});
    CHECK(run.status == 0);
    CHECK(has_text(run.out, "y [3, 4]"));
    CHECK(has_text(run.out, "early fusion moved y by up to "));
    const Outcome plain = work.ramp({});
    CHECK(has_text(run.out, plain.out.substr(plain.out.find("maps ["))));
  }
  WHEN("the report is JSON") {
    const Outcome run = work.ramp({"--early-fusion", "--format", "json"});
    const JsonNode json = parsed(run.out);
    CHECK(agree(json.find("y")->numbers, early));
    CHECK(json.find("maps")->shape == Shape{2, 3, 3});
    const JsonNode& found = *json.find("early_fusion");
    CHECK(near(found.find("max_abs")->number, largest(moved)));
    CHECK(near(found.find("relative")->number, norm(moved) / norm(late)));
  }
  WHEN("y goes to stdout, the words go to stderr") {
    for (const auto& args : {std::vector<std::string>{"--early-fusion", "-o", "-"},
                             std::vector<std::string>{"--early-fusion"}}) {
      std::vector<std::string> all = args;
      all.insert(all.end(), {"--format", "csv"});
      const Outcome run = work.ramp(all);
      CHECK(agree(numbers(run.out), early));
      CHECK(has_text(run.err, "early fusion moved y"));
      CHECK_FALSE(has_text(run.out, "early"));
    }
  }
  WHEN("heads are reported too, one object holds both") {
    const Outcome run = work.ramp({"--early-fusion", "--head-report", "--format", "json"});
    const JsonNode json = parsed(run.out);
    CHECK(json.find("heads")->children.size() == 2);
    CHECK(near(json.find("early_fusion")->find("max_abs")->number, largest(moved)));
  }
  WHEN("a head is ablated, both runs are without it") {
    const std::vector<double> without = y_of(work, {"--ablate", "1", "--early-fusion"});
    const Outcome run = work.ramp({"--ablate", "1", "--early-fusion", "--format", "json"});
    CHECK(near(parsed(run.out).find("early_fusion")->find("max_abs")->number,
               largest(difference(without, y_of(work, {"--ablate", "1"})))));
  }
  WHEN("all steps are traced, they are those that made y") {
    REQUIRE(work.ramp({"--early-fusion", "--trace", "t.npz", "-o", "y.npy"}).status == 0);
    CHECK(work.run({"-w", "ramp.json", "-i", "x.csv", "--early-fusion", "--expect-trace",
                    "t.npz", "--expect", "y.npy"})
              .status == 0);
    const Outcome plain = work.ramp({"--expect-trace", "t.npz"});
    CHECK(plain.status == 1);
    CHECK(has_text(plain.out, "the first step that differs is head_outputs"));
  }
}

SCENARIO("every layer of a stack fuses early") {
  const Workspace work;
  const auto y = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"-w", kBert, "-o", "-", "--format", "csv"});
    return numbers(work.run(std::move(args)).out);
  };
  // Layer by layer is the same as both at once.
  const std::string first =
      work.run({"-w", kBert, "-i", kBertX, "--layer", "0", "--early-fusion", "-o", "y0.npy"})
          .err;
  CHECK(first.empty());
  const std::vector<double> whole = y({"-i", kBertX, "--early-fusion"});
  CHECK(agree(whole, y({"-i", "y0.npy", "--layer", "1", "--early-fusion"})));
  CHECK(largest(difference(whole, y({"-i", kBertX}))) > 1e-3);
}

}  // namespace mha
