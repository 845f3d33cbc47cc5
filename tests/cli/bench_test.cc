// mha-bench as its users run it, on sizes that take no time. What it measures is
// not looked at: a test must not depend on what else the machine does.

#include <algorithm>
#include <string>
#include <vector>

#include "catch.h"
#include "cli/workspace.h"
#include "files/bytes.h"
#include "files/json.h"

using namespace mha;

namespace {

class Bench : public Workspace {
 public:
  Outcome bench(const std::string& args) const {
    return shell("mha-bench --d-model 16 --n-heads 4 --n 5,40 --threads 1 --rounds 1 " + args);
  }
};

JsonNode parsed(const std::string& text) {
  return parse_json(Bytes::own(text), "standard output");
}

const std::vector<std::string> kFields = {"n",      "d_model",     "n_heads", "threads",
                                          "maps",   "part",        "ms_min",  "ms_median",
                                          "gflops", "peak_gflops", "of_peak"};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("its JSON is a list with an object a case, of the fields that are promised") {
  const Bench folder;
  const auto done = folder.bench("--maps --format json");
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  const JsonNode list = parsed(done.out);
  REQUIRE(list.kind == JsonNode::Kind::objects);
  REQUIRE(list.children.size() == 2);
  for (const JsonNode& result : list.children) {
    CHECK(result.keys == kFields);
    CHECK(result.find("d_model")->number == 16);
    CHECK(result.find("n_heads")->number == 4);
    CHECK(result.find("threads")->number == 1);
    CHECK(result.find("maps")->kind == JsonNode::Kind::boolean);
    CHECK(result.find("maps")->text == "true");
    CHECK(result.find("part")->text == "attention");
    for (const char* measured : {"ms_min", "ms_median", "gflops", "peak_gflops", "of_peak"}) {
      CHECK(result.find(measured)->kind == JsonNode::Kind::number);
      CHECK(result.find(measured)->number > 0);
    }
    CHECK(result.find("ms_min")->number <= result.find("ms_median")->number);
  }
  CHECK(list.children[0].find("n")->number == 5);
  CHECK(list.children[1].find("n")->number == 40);
}

TEST_CASE("its table says on what the numbers were measured") {
  const Bench folder;
  const auto [args, heading, flops] = GENERATE(table<std::string, std::string, std::string>({
      {"", "attention, d_model 16, f32", "flops: 8 n d_model² + 4 n² d_model; "},
      {"--causal", "attention, d_model 16, f32",
       "+ 2 n² d_model (causal: half of the n² part); "},
      {"--part layer --d-ff 24 --activation silu",
       "whole layer, d_model 16, d_ff 24, silu, post-norm, f32",
       "+ 4 n² d_model + 4 n d_model d_ff; "},
  }));
  const auto done = folder.bench(args);
  INFO(done.out << done.err);
  CHECK(done.status == 0);
  CHECK(has_text(done.out, heading));
  CHECK(has_text(done.out, flops));
  CHECK(has_text(done.out, "SIMD target "));
  CHECK(has_text(done.out, "BLAS kernel "));
  CHECK(has_text(done.out, "heads  threads  maps"));
  CHECK(has_text(done.out, "tokens/s"));
  CHECK(has_text(done.out, "all"));  // queries checked
  CHECK(lines_of(done.out) == 4 + 1 + 1 + 2);
}

TEST_CASE("-v says what was checked, for every case") {
  const Bench folder;
  const auto done = folder.bench("--maps --causal -v");
  CHECK(done.status == 0);
  CHECK(has_text(done.err,
                 "n 5, 4 heads, 1 thread: y of 5 of 5 queries differs from f64 by up to "));
  CHECK(has_text(done.err, "n 40, 4 heads, 1 thread: y of 40 of 40 queries"));
  CHECK(has_text(done.err, "sums of map rows from 1 by up to"));
}

TEST_CASE("a sweep over heads takes those that divide d_model") {
  const Bench folder;
  const auto done = folder.shell(
      "mha-bench --d-model 24 --n 4 --threads 1 --rounds 1 --sweep heads --format json");
  CHECK(done.status == 0);
  std::vector<double> heads;
  for (const JsonNode& result : parsed(done.out).children) {
    heads.push_back(result.find("n_heads")->number);
  }
  CHECK(heads == std::vector<double>{1, 2, 3, 4, 6, 8, 12});
  const auto told =
      folder.shell("mha-bench --d-model 8 --n 4 --threads 1 --rounds 1 --sweep heads");
  CHECK(has_text(told.out, "\nn 4, 1 thread: "));
  CHECK(has_text(told.out, ", the slowest, take"));
}

TEST_CASE("every way to multiply passes the check") {
  const Bench folder;
  const std::string gemm = GENERATE("auto", "openblas", "native");
  const std::string part = GENERATE("attention", "layer");
  CHECK(folder.bench("--gemm " + gemm + " --part " + part).status == 0);
}

TEST_CASE("more threads than processors are clamped with a warning") {
  const Bench folder;
  const auto done =
      folder.shell("mha-bench --d-model 8 --n 4 --rounds 1 --threads 4096 --format json");
  CHECK(done.status == 0);
  CHECK(has_text(done.err, "--threads: 4096 threads are more than the "));
  CHECK(parsed(done.out).children.size() == 1);
}

TEST_CASE("a wrong command line of mha-bench is one line and status 2") {
  const Bench folder;
  const auto [args, text] = GENERATE(table<std::string, std::string>({
      {"--n 0", "--n: 0 is not a number from 1"},
      {"--n 4,", "--n: '' is no count"},
      {"--threads 1,x", "--threads: 'x' is no count"},
      {"--threads 0", "--threads: 0 is not a number from 1"},
      {"--rounds 0", "--rounds: 0 is not a number from 1"},
      {"--d-model 0", "--d-model: 0 is not a number from 1"},
      {"--d-model 8 --n-heads 3", "n_heads 3 does not divide d_model 8"},
      {"--part attn", "--part: 'attn' is not known; expected one of attention, layer"},
      {"--activation swish --part layer", "--activation: 'swish' is not known"},
      {"--d-ff 16", "--d-ff is for --part layer"},
      {"--gemm mkl", "--gemm: 'mkl' is not known; expected auto, openblas or native"},
      {"--format xml", "--format: 'xml' is not known; expected text or json"},
      {"--sweep threads", "--sweep: 'threads' is not known; expected heads or n"},
      {"--sweep heads --n-heads 4", "--sweep chooses --n-heads itself"},
      {"--sweep n --n 4", "--sweep chooses --n itself"},
      {"--n-head 4", "--n-head: unknown option, did you mean --n-heads?"},
      {"--n ''", "--n: its value is empty"},
      {"512", "'512' is no option"},
  }));
  const auto done = folder.shell("mha-bench " + args);
  INFO(args << ": " << done.err);
  CHECK(done.status == 2);
  CHECK(done.out.empty());
  CHECK(done.err.rfind("mha-bench: ", 0) == 0);
  CHECK(lines_of(done.err) == 1);
  CHECK(has_text(done.err, text));
}

TEST_CASE("sizes that no memory holds end with status 3") {
  const Bench folder;
  const std::string args = GENERATE("--n 1000000000000", "--n 4000000000000000000",
                                    "--d-model 100000000", "--d-model 8 --n 1000000 --maps");
  const auto done = folder.shell("mha-bench --threads 1 " + args);
  INFO(done.err);
  CHECK(done.status == 3);
  CHECK(done.out.empty());
  CHECK(lines_of(done.err) == 1);
  CHECK(has_text(done.err, "memory"));
}

TEST_CASE("mha-bench's help begins with examples") {
  const Bench folder;
  const auto done = folder.shell("mha-bench --help");
  CHECK(done.status == 0);
  CHECK(has_text(done.out, "  mha-bench --sweep heads  "));
  CHECK(has_text(done.out, "Exit status: 0 done; 1 a case differs"));
}
