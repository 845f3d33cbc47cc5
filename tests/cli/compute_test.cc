// What mha-run computes, held against the values that users of the job expect.
#include <algorithm>

#include "catch.h"
#include "cli/workspace.h"

using namespace mha;

namespace {

const std::vector<double> kY = {.083198,  .061626,  .038475, .031283,  .016789,  -.013073,
                                -.020338, -.012998, .001151, -.034140, -.045469, -.031960};
const std::vector<double> kKey2Masked = {-.073443, -.185601, -.292809, -.230232,
                                         -.134409, -.259781, -.374112, -.291209,
                                         -.147848, -.280747, -.406800, -.315725};
const std::vector<double> kMaps = {.309484, .344114, .346402, .402798, .302560, .294642,
                                   .424895, .292159, .282946, .306518, .359378, .334105,
                                   .363017, .307236, .329747, .386599, .286567, .326833};

}  // namespace

SCENARIO("attention on the reference layer gives the reference values") {
  const Workspace work;
  for (const char* precision : {"f32", "f64"}) {
    const Outcome y = work.ramp({"--format", "csv", "--precision", precision});
    CHECK(y.status == 0);
    CHECK(y.err.empty());
    CHECK(agree(numbers(y.out), kY));
  }
  const Outcome maps = work.ramp({"--maps", "-", "--format", "csv"});
  CHECK(agree(numbers(maps.out), kMaps));
}

SCENARIO("a row with every key hidden reads nothing") {
  const Workspace work;
  work.files.write("mask.csv", "0,0,0\n1,1,1\n0,0,0\n");
  const Outcome run = work.ramp({"--drop-mask", "mask.csv", "--format", "csv"});
  CHECK(run.status == 0);
  const std::vector<double> y = numbers(run.out);
  REQUIRE(y.size() == 12);
  THEN("its output is b_O, other rows are untouched, and one warning counts") {
    CHECK(agree({y.begin() + 4, y.begin() + 8}, {.01, .02, .03, .04}));
    CHECK(agree({y.begin(), y.begin() + 4}, {kY.begin(), kY.begin() + 4}));
    CHECK(has_text(run.err, "warning: 2 map rows"));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  THEN("asking for maps changes nothing, and JSON stays JSON") {
    REQUIRE(work.ramp({"--drop-mask", "mask.csv", "-o", "y.npy", "--maps", "m.npy"}).status ==
            0);
    CHECK(work.ramp({"--drop-mask", "mask.csv", "--expect", "y.npy", "--atol", "0", "--rtol",
                     "0"})
              .status == 0);
    const Outcome json = work.ramp({"--drop-mask", "mask.csv", "--format", "json", "-q"});
    CHECK(json.err.empty());
    CHECK_FALSE(has_text(json.out, "nan"));
    CHECK_FALSE(has_text(json.out, "null"));
    CHECK(has_text(json.out, "[0, 0, 0]"));
  }
}

SCENARIO("keep and drop masks are each other's opposite, in every form") {
  const Workspace work;
  work.files.write("mask.csv", "0,0,1\n");
  work.files.write("mask.json", "[false, false, true]");
  work.files.write("ones.json", "[0, 0, 1]");
  for (const char* mask : {"mask.csv", "mask.json", "ones.json"}) {
    INFO(mask);
    const Outcome drop = work.ramp({"--drop-mask", mask, "--format", "csv", "-v"});
    CHECK(agree(numbers(drop.out), kKey2Masked));
    CHECK(has_text(drop.err, "1 = may not attend"));
    const Outcome keep = work.ramp({"--keep-mask", mask, "--format", "csv"});
    CHECK(agree(numbers(keep.out), {.37875, .53875, .69875, .5525, .37875, .53875, .69875,
                                    .5525, .37875, .53875, .69875, .5525}));
  }
  work.files.write("first.csv", "1,0,0\n");
  const Outcome several = work.ramp({"--drop-mask", "mask.csv", "--drop-mask", "first.csv",
                                     "--keep-mask", "ones.json", "--format", "csv", "-q"});
  CHECK(agree(numbers(several.out),
              {.01, .02, .03, .04, .01, .02, .03, .04, .01, .02, .03, .04}));
  const Outcome lengths = work.ramp({"--key-lengths", "2", "--format", "csv"});
  CHECK(agree(numbers(lengths.out), kKey2Masked));
}

SCENARIO("causal masks say at which end they are aligned") {
  const Workspace work;
  work.files.write("queries.csv", "-1,-.5,0,.5\n1,-1,-.5,0\n");
  work.files.write("keys.csv",
                   "-1,-.5,0,.5\n1,-1,-.5,0\n.5,1,-1,-.5\n0,.5,1,-1\n-.5,-1,1,.5\n");
  const auto causal = [&](const std::string& option) {
    return numbers(work.run({"-w", "ramp.json", "-i", "queries.csv", "--key", "keys.csv",
                             option, "--format", "csv"})
                       .out);
  };
  const std::vector<double> start = {-.4025,   -.6175,   -.8325,   -.635,
                                     -.134409, -.259781, -.374112, -.291209};
  CHECK(agree(causal("--causal"), start));
  CHECK(agree(causal("--causal=start"), start));
  CHECK(agree(causal("--causal=end"),
              {.079131, .137659, .181310, .158988, -.126005, -.024578, .098382, .127644}));
  CHECK(has_text(work.run({"--help"}).out, "--causal=end aligns the last query"));
}

SCENARIO("a mask of [batch * n_heads, n_q, n_k] is item-major") {
  const Workspace work;
  work.files.write(
      "both.csv",
      "-1,-.5,0,.5\n1,-1,-.5,0\n.5,1,-1,-.5\n\n.5,1,-1,-.5\n1,-1,-.5,0\n-1,-.5,0,.5\n");
  const std::string none = "[[0,0,0],[0,0,0],[0,0,0]]";
  const std::string column = "[[1,0,0],[1,0,0],[1,0,0]]";
  work.files.write("three.json", "[" + none + "," + column + "," + none + "," + none + "]");
  work.files.write("four.json", "[[" + none + "," + column + "],[" + none + "," + none + "]]");
  for (const char* mask : {"three.json", "four.json"}) {
    INFO(mask);
    const auto y = numbers(
        work.run({"-w", "ramp.json", "-i", "both.csv", "--drop-mask", mask, "--format", "csv"})
            .out);
    REQUIRE(y.size() == 24);
    CHECK(agree({y.begin(), y.begin() + 4}, {.083198, .180486, .423445, .325778}));
    CHECK(agree({y.end() - 4, y.end()}, {kY.begin(), kY.begin() + 4}));
  }
}

SCENARIO("large scores stay finite") {
  const Workspace work;
  work.files.write("big.csv", "-100,-50,0,50\n100,-100,-50,0\n50,100,-100,-50\n");
  const Outcome run =
      work.run({"-w", "ramp.json", "-i", "big.csv", "--precision", "f64", "--format", "csv"});
  CHECK(agree(numbers(run.out), {46.785, 31.32, -6.02, -12.26, -31.34, -68.68, -106.02, -87.26,
                                 -31.34, -68.68, -106.02, -87.26}));
}

SCENARIO("the scale can be set") {
  const Workspace work;
  const auto y = numbers(work.ramp({"--scale", "1", "--format", "csv"}).out);
  REQUIRE(y.size() == 12);
  CHECK(agree({y.begin(), y.begin() + 4}, {.090025, .070788, .049256, .039365}));
}

SCENARIO("matrices with heads side by side take the head count from the option") {
  const Workspace work;
  work.files.write("flat.json", R"({
    "W_Q": [[0,0.25,0.5,0.75],[-0.25,0,0.25,0.5],[-0.5,-0.25,0,0.25],[-0.75,-0.5,-0.25,0]],
    "W_K": [[0,0.125,0.25,0.375],[0.125,0.25,0.375,0.5],[0.25,0.375,0.5,0.625],[0.375,0.5,0.625,0.75]],
    "W_V": [[0,0.25,0.5,0.75],[-0.125,0.125,0.375,0.625],[-0.25,0,0.25,0.5],[-0.375,-0.125,0.125,0.375]],
    "W_O": [[1,0,0,0],[0.5,1,0,0],[0,0.5,1,0],[0,0,0.5,1]],
    "b_Q": [0.1,0.2,0.3,0.4], "b_K": [0,0.1,0,0.1], "b_V": [-0.1,0,0.1,0.2],
    "b_O": [0.01,0.02,0.03,0.04]})");
  const auto run = [&](const char* heads) {
    return work.run({"-w", "flat.json", "-i", "x.csv", "--n-heads", heads, "--format", "csv"});
  };
  const std::vector<std::pair<const char*, std::vector<double>>> known = {
      {"1", {.089903, .070836}}, {"2", {.083198, .061626}}, {"4", {.077880, .058573}}};
  for (const auto& [heads, first] : known) {
    const auto y = numbers(run(heads).out);
    REQUIRE(y.size() == 12);
    CHECK(agree({y.begin(), y.begin() + 2}, first));
  }
  for (const char* heads : {"3", "0"}) {
    const Outcome refused = run(heads);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK(has_text(refused.err, "d_model 4"));
  }
  CHECK(has_text(work.run({"-w", "flat.json", "-i", "x.csv"}).err, "--n-heads"));
}

SCENARIO("every head's map has queries in rows and keys in columns") {
  const Workspace work;
  work.files.write("queries.csv", "-1,-.5,0,.5\n1,-1,-.5,0\n");
  const Outcome run = work.run({"-w", "ramp.json", "-i", "queries.csv", "--key", "x.csv",
                                "--maps", "-", "--format", "json"});
  CHECK(agree(numbers(run.out), {.309484, .344114, .346402, .402798, .302560, .294642, .306518,
                                 .359378, .334105, .363017, .307236, .329747}));
  CHECK(run.out.substr(0, 3) == "[[[");
  const Outcome mean = work.ramp({"--maps", "-", "--average-heads", "--format", "csv"});
  CHECK(agree(numbers(mean.out), {.308001, .351746, .340253, .382907, .304898, .312195,
                                  .405747, .289363, .304890}));
  const Outcome one = work.ramp({"--maps", "-", "--map-heads", "1", "--format", "csv"});
  CHECK(agree(numbers(one.out), {kMaps.begin() + 9, kMaps.end()}));
}

SCENARIO("heads can be switched off") {
  const Workspace work;
  const auto without = [&](const char* heads) {
    return numbers(work.ramp({"--ablate", heads, "--format", "csv"}).out);
  };
  CHECK(agree(without("1"), {.083198, .055209, .03, .04, .016789, -.001154, .03, .04, .001151,
                             -.014395, .03, .04}));
  const auto second = without("0");
  REQUIRE(second.size() == 12);
  CHECK(agree({second.begin(), second.begin() + 4}, {.01, .026417, .038475, .031283}));
  CHECK(agree(without("0,1"), {.01, .02, .03, .04, .01, .02, .03, .04, .01, .02, .03, .04}));
  const Outcome unknown = work.ramp({"--ablate", "2"});
  CHECK(unknown.status == 2);
  CHECK(has_text(unknown.err, "head 2"));
  const Outcome maps = work.ramp({"--ablate", "1", "--maps", "-", "--format", "csv"});
  CHECK(agree(numbers(maps.out), kMaps));
}

SCENARIO("a trace holds every step and is compared step by step") {
  const Workspace work;
  REQUIRE(work.ramp({"--trace", "steps.npz", "--precision", "f64"}).status == 0);
  WHEN("the same run is compared with it") {
    const Outcome same = work.ramp({"--expect-trace", "steps.npz"});
    CHECK(same.status == 0);
    CHECK(has_text(same.out, "attention_output"));
  }
  WHEN("a run differs from the scores on") {
    const Outcome scaled = work.ramp({"--expect-trace", "steps.npz", "--scale", "1"});
    CHECK(scaled.status == 1);
    CHECK(has_text(scaled.out, "scores"));
  }
  WHEN("only some steps are asked for") {
    REQUIRE(work.ramp({"--trace", "some.npz", "--trace-only", "q,maps"}).status == 0);
    const Outcome some = work.ramp({"--expect-trace", "some.npz"});
    CHECK(some.status == 0);
    CHECK_FALSE(has_text(some.out, "concat"));
  }
  CHECK(work.ramp({"--trace", "t.npz", "--trace-only", "skores"}).status == 2);
  CHECK_FALSE(work.has("t.npz"));
}

SCENARIO("a comparison says where values differ and ends with 1") {
  const Workspace work;
  REQUIRE(work.ramp({"-o", "y.npy", "--maps", "maps.npy"}).status == 0);
  CHECK(work.ramp({"--expect", "y.npy", "--expect-maps", "maps.npy"}).status == 0);
  const Outcome differs = work.ramp({"--expect", "y.npy", "--scale", "1"});
  CHECK(differs.status == 1);
  CHECK(differs.err.empty());
  CHECK(has_text(differs.out, "largest absolute difference"));
  CHECK(has_text(differs.out, "[0, "));
  CHECK(work.ramp({"--expect", "y.npy", "--scale", "1", "--atol", "1"}).status == 0);
  work.files.write("short.csv", "1,2,3,4\n");
  const Outcome shape = work.ramp({"--expect", "short.csv"});
  CHECK(shape.status == 2);
  CHECK(has_text(shape.err, "[3, 4]"));
  CHECK(has_text(shape.err, "[1, 4]"));
}

SCENARIO("numbers written as text read back as the same bits") {
  const Workspace work;
  REQUIRE(work.ramp({"-o", "y.npy"}).status == 0);
  for (const char* name : {"y.csv", "y.txt", "y.json", "y.npz"}) {
    INFO(name);
    REQUIRE(work.ramp({"-o", name}).status == 0);
    CHECK(work.ramp({"--expect", name, "--atol", "0", "--rtol", "0"}).status == 0);
  }
}
