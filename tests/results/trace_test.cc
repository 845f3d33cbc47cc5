#include "results/trace.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "catch.h"
#include "files/npy.h"
#include "files/npz.h"
#include "layer/encoder.h"
#include "results/feed.h"
#include "support/error_of.h"
#include "support/ramp.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

const std::vector<Step> kAllSteps = steps_of({.part = Part::attention});
constexpr AttentionSizes kRamp = {4, 4, 4, 2, 2, 2, 2};

template <typename T>
void run_over(const Tensor<T>& x, Observer<T>& observer, double shift_of_b_Q = 0.0) {
  struct OfOneLayer final : StackObserver<T> {
    explicit OfOneLayer(Observer<T>& watcher_) : watcher(watcher_) {}
    Observer<T>& layer(std::size_t) override { return watcher; }
    Observer<T>& watcher;
  } observers(observer);
  Encoder<T> encoder;
  encoder.layers.resize(1);
  encoder.layers[0].settings.part = Part::attention;
  encoder.layers[0].attention = ramp::weights<T>();
  encoder.layers[0].attention.b_Q.data()[0] += static_cast<T>(shift_of_b_Q);
  AttentionFindings findings;
  encode<T>(encoder, {}, {x, x, x}, observers, findings);
}

TracedRun alone(const AttentionSizes& sizes, const MaskAxes& axes, bool batched) {
  return {{{0, {sizes}, {.part = Part::attention}}}, axes, batched};
}

// The trace of RAMP, written and opened again.
template <typename T>
Archive ramp_trace(const std::string& path, const std::vector<std::string>& only,
                   const Tensor<T>& x, const TracedRun& run) {
  TraceFile<T> trace(path, only, run);
  StackSinks<T> sinks(1);
  trace.watch(sinks);
  run_over(x, sinks.at(0));
  trace.write();
  trace.file().commit();
  return open_archive(path);
}

// A file of expected steps that are all zeros.
std::string write_zeros(const TempFolder& folder,
                        const std::vector<std::pair<std::string, Shape>>& steps) {
  const std::string path = folder / "expected.npz";
  WholeFile file(path);
  ZipWriter zip(file);
  for (const auto& [name, shape] : steps) {
    add_npy(zip, name, Tensor<float>::zeros(shape));
  }
  zip.finish();
  file.commit();
  return path;
}

}  // namespace

TEMPLATE_TEST_CASE("a trace holds every step in order of computation", "", float, double) {
  const TempFolder folder;
  const Tensor<TestType> x = ramp::x<TestType>();
  const TracedRun run = alone(kRamp, {1, 2, 3, 3}, false);
  const Archive trace = ramp_trace(folder / "trace.npz", {}, x, run);

  REQUIRE(trace.members.size() == kAllSteps.size());
  for (const Step step : kAllSteps) {
    const Member& member = trace.members[static_cast<std::size_t>(step)];
    CHECK(member.name == name_of(step));
    CHECK(member.shape == run.shape_of({0, step}));
    CHECK(member.dtype == (sizeof(TestType) == 4 ? DType::f32 : DType::f64));
  }
}

TEST_CASE("a trace holds the values of the run") {
  const TempFolder folder;
  const Tensor<float> x = ramp::x<float>();
  const Archive trace =
      ramp_trace(folder / "trace.npz", {}, x, alone(kRamp, {1, 2, 3, 3}, false));
  CHECK(same(read_tensor<float>(trace, trace.at("x")), x));
  // RAMP's scaled scores, head 0, row 0, are known to six decimals.
  const Tensor<float> scores = read_tensor<float>(trace, trace.at("scores"));
  CHECK(std::abs(static_cast<double>(scores.data()[0]) - -0.034471) < 1e-6);
  CHECK(std::abs(static_cast<double>(scores.data()[2]) - 0.078224) < 1e-6);
}

TEST_CASE("a trace of some steps holds them alone, with a batch axis where x has one") {
  const TempFolder folder;
  Tensor<float> x = counted<float>({2, 3, 4});
  const TracedRun run = alone(kRamp, {2, 2, 3, 3}, true);
  const Archive trace = ramp_trace(folder / "trace.npz", {"maps", "x"}, x, run);
  REQUIRE(trace.members.size() == 2);
  CHECK(same(read_tensor<float>(trace, trace.at("x")), x));
  CHECK(trace.at("maps").shape == Shape{2, 2, 3, 3});
}

TEST_CASE("a trace that does not fit in memory says so before it is computed") {
  const TempFolder folder;
  const TracedRun run = alone(kRamp, {1, 2, 4000000, 4000000}, false);
  const auto open = [&] { TraceFile<float>(folder / "trace.npz", {"q", "scores"}, run); };
  CHECK(fails_with(Fault::system, open));
  CHECK(error_of(open).find(folder / "trace.npz" +
                            ": a trace of 2 steps (the largest: scores "
                            "[2, 4000000, 4000000] f32) needs 128.0 TB of memory, ") == 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a run agrees with its own trace") {
  const TempFolder folder;
  const Tensor<float> x = ramp::x<float>();
  const TracedRun run = alone(kRamp, {1, 2, 3, 3}, false);
  const Archive trace = ramp_trace(folder / "trace.npz", {}, x, run);

  ExpectedTrace<float> expected(trace, run, {0.0, 0.0});
  StackSinks<float> sinks(1);
  expected.watch(sinks);
  run_over(x, sinks.at(0));
  const std::vector<Verdict> verdicts = expected.verdicts();
  REQUIRE(verdicts.size() == kAllSteps.size());
  for (const Verdict& verdict : verdicts) {
    CHECK(verdict.equal());
    CHECK(verdict.count == element_count(verdict.shape));
  }
}

TEST_CASE("a changed weight is found in the first step that it touches") {
  const TempFolder folder;
  const Tensor<float> x = ramp::x<float>();
  const TracedRun run = alone(kRamp, {1, 2, 3, 3}, false);
  const Archive trace = ramp_trace(folder / "trace.npz", {"maps", "k", "q", "x"}, x, run);

  ExpectedTrace<float> expected(trace, run, {});
  StackSinks<float> sinks(1);
  expected.watch(sinks);
  run_over(x, sinks.at(0), 0.5);
  const std::vector<Verdict> verdicts = expected.verdicts();
  CHECK(describe_first(verdicts) == "the first step that differs is q; before it agree x\n");
  CHECK(verdicts[2].equal());        // k
  CHECK_FALSE(verdicts[3].equal());  // maps
}

TEST_CASE("expected steps are held against the run before it starts") {
  const TempFolder folder;
  const TracedRun run = alone(kRamp, {1, 2, 3, 3}, false);
  const auto open = [&](const std::vector<std::pair<std::string, Shape>>& steps) {
    return error_of(
        [&] { ExpectedTrace<float>(open_archive(write_zeros(folder, steps)), run, {}); });
  };
  const std::string path = folder / "expected.npz";
  CHECK(open({{"q", {2, 3, 2}}, {"scores", {2, 3, 3}}}) == "no error");
  CHECK(open({{"q", {2, 3, 2}}, {"scores", {1, 2, 3, 3}}}) ==
        path + ": scores is [2, 3, 3], expected values are [1, 2, 3, 3]");
  CHECK(open({{"q", {2, 3, 2}}, {"atention_output", {3, 4}}}) ==
        path +
            ": 'atention_output' is no step, did you mean attention_output? (the steps are "
            "x, q, k, v, scores, maps, head_outputs, concat, contributions, "
            "attention_output)");
  // 0-d arrays, which an archive keeps as settings, are held to the same.
  CHECK(open({{"q", {2, 3, 2}}, {"scores", {}}}) ==
        path + ": scores is [2, 3, 3], expected values are []");
  CHECK(open({{"q", {2, 3, 2}}, {"n_heads", {}}}).find(path + ": 'n_heads' is no step") == 0);
}

TEST_CASE("an expected trace has its steps by name") {
  const TempFolder folder;
  const std::string path =
      folder.write("q.npy", npy_header(DType::f32, {2, 3, 2}) + std::string(48, '\0'));
  CHECK(error_of([&] {
          ExpectedTrace<float>(open_archive(path), alone(kRamp, {1, 2, 3, 3}, false), {});
        }) == path + ": holds one array without a name, expected steps by name");
}
