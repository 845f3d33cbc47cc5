// What mha-run says when something is wrong: one line, the place first, and the
// exit status of the contract.
#include <algorithm>

#include "catch.h"
#include "cli/workspace.h"

using namespace mha;

namespace {

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

SCENARIO("a wrong command line names the option and the cure") {
  const Workspace work;
  refuses(work.ramp({"--hedas", "3"}), 2, {"--hedas", "unknown option"});
  refuses(work.ramp({"--averge-heads"}), 2, {"--averge-heads", "--average-heads"});
  refuses(work.ramp({"--ouput=y.npy"}), 2, {"--ouput", "--output"});
  refuses(work.ramp({"stray"}), 2, {"stray", "as in --weights FILE"});
  refuses(work.ramp({"--threads", "-1"}), 2, {"--threads: -1 is not a number from 0"});
  refuses(work.run({}), 2, {"--weights"});
  refuses(work.run({"-w", "ramp.json"}), 2, {"--input"});
  refuses(work.ramp({"--scale", "abc"}), 2, {"--scale"});
  refuses(work.ramp({"--scale", "nan"}), 2, {"--scale"});
  refuses(work.ramp({"--scale", "0"}), 2, {"--scale", "above 0"});
  refuses(work.ramp({"--softcap", "-1"}), 2, {"--softcap"});
  refuses(work.ramp({"--n-heads", "-1"}), 2, {"--n-heads"});
  refuses(work.ramp({"--ablate", "0,x"}), 2, {"--ablate", "'x'"});
  refuses(work.ramp({"--causal=middle"}), 2, {"--causal", "off, start or end"});
  refuses(work.ramp({"--precision", "f16"}), 2, {"--precision", "f16"});
  refuses(work.ramp({"--format", "xml"}), 2, {"--format", "xml"});
  refuses(work.ramp({"-o", "y.xlsx"}), 2, {"y.xlsx", ".npy"});
  refuses(work.ramp({"--map-heads", "7"}), 2, {"7"});
  refuses(work.ramp({"--map-heads", "0,0"}), 2, {"0"});
  refuses(work.ramp({"-o", "y.npy", "--maps", "y.npy"}), 2, {"y.npy"});
  refuses(work.ramp({"-o", "y.npy", "--maps", "./y.npy"}), 2, {"--maps", "./y.npy"});
  refuses(work.ramp({"-o", "-", "--maps", "/dev/stdout", "--format", "csv"}), 2, {"--maps"});
  for (const char* option : {"-o", "--maps", "--expect", "--key", "--labels", "--key-lengths",
                             "--keep-mask", "--scale", "--format"}) {
    refuses(work.ramp({option, ""}), 2, {"empty"});
  }
  refuses(work.ramp({"-o", "y.npy", "--average-heads"}), 2, {"--maps"});
  refuses(work.ramp({"--trace", "t.npy"}), 2, {"t.npy", ".npz"});
  refuses(work.ramp({"--trace-only", "q"}), 2, {"--trace"});
  refuses(work.ramp({"--key-lengths", "4"}), 2, {"--key-lengths", "4", "3"});
  refuses(work.ramp({"--key-lengths", "1,2"}), 2, {"--key-lengths", "2", "1"});
  refuses(work.ramp({"--labels", "a,b"}), 2, {"--labels", "2", "3"});
  refuses(work.run({"-w", "-", "-i", "-"}), 2, {"standard input"});
}

SCENARIO("wrong data is named with file, place and numbers") {
  const Workspace work;
  const auto with_x = [&](const std::string& bytes) {
    work.files.write("bad", bytes);
    return work.run({"-w", "ramp.json", "-i", "bad"});
  };
  refuses(with_x("1,2,3\n4,5,6\n"), 2, {"bad", "3", "4", "d_model"});
  refuses(with_x("1,2,3,4\n4,5,6\n"), 2, {"bad", "line 2", "3", "4"});
  refuses(with_x("1,2,3,4\n4,5,abc,6\n"), 2, {"bad", "line 2", "abc"});
  refuses(with_x("1,2,3,nan\n"), 2, {"bad", "[0, 3]", "nan", "--allow-nonfinite"});
  refuses(with_x("[[1,2,3,4],[1,2,3]]"), 2, {"bad", "[1]"});
  refuses(with_x("[[1,2,3,4],[1,2,\"x\",4]]"), 2, {"bad", "[1][2]"});
  refuses(with_x("[[1,2,3,4"), 2, {"bad", "line 1"});
  refuses(with_x(""), 2, {"bad", "empty"});
  refuses(with_x("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n"), 2,
          {"bad", "Git LFS"});
  refuses(with_x("<!DOCTYPE html><html></html>"), 2, {"bad", "web page"});
  refuses(work.run({"-w", "ramp.json", "-i", "gone.npy"}), 3, {"gone.npy", "No such file"});
  refuses(work.run({"-w", "ramp.json", "-i", "."}), 2, {"."});
  refuses(work.run({"-w", "gone.bin", "-i", "x.csv"}), 3, {"gone.bin", "No such file"});
  refuses(work.run({"-w", "x.csv", "-i", "x.csv"}), 2, {"x.csv", "W_Q"});
  refuses(work.ramp({"--key", "x.csv", "--expect", "gone.npy"}), 3, {"gone.npy"});
  work.files.write("mask.csv", "0,1\n");
  refuses(work.ramp({"--drop-mask", "mask.csv"}), 2, {"mask.csv", "[2]", "3"});
  work.files.write("mask.csv", "0,2,1\n");
  refuses(work.ramp({"--drop-mask", "mask.csv"}), 2, {"mask.csv", "2"});
  work.files.write("mask.csv", "0,nan,1\n");
  refuses(work.ramp({"--add-mask", "mask.csv"}), 2, {"mask.csv", "nan"});
  work.files.write("w.json",
                   R"({"heads": [{"W_Q": [[1],[2]], "W_K": [[1],[2]], "W_V": [[1],[2]]}]})");
  refuses(work.run({"-w", "w.json", "-i", "x.csv"}), 2, {"w.json", "W_O"});
}

SCENARIO("names from files cannot move the terminal") {
  const Workspace work;
  work.files.write("bad.json", "{\"W_Q\\u001b[2J\\n\": [[1]]}");
  const Outcome run = work.run({"-w", "bad.json", "-i", "x.csv"});
  CHECK(run.status == 2);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.find('\x1b') == std::string::npos);
}

SCENARIO("scores too large for f32 are an error, not NaN") {
  const Workspace work;
  work.files.write("huge.csv", "1e30,1e30,1e30,1e30\n-1e30,1e30,2e30,1e30\n");
  const Outcome run = work.run({"-w", "ramp.json", "-i", "huge.csv"});
  refuses(run, 2, {"f64"});
  CHECK(work.run({"-w", "ramp.json", "-i", "huge.csv", "--precision", "f64"}).status == 0);
}

SCENARIO("additive masks that look like mistakes are warned of") {
  const Workspace work;
  work.files.write("ones.csv", "0,1,1\n");
  CHECK(has_text(work.ramp({"--add-mask", "ones.csv"}).err, "warning: "));
  work.files.write("minus.csv", "-10000,-10000,-10000\n");
  const Outcome run = work.ramp({"--add-mask", "minus.csv"});
  CHECK(run.status == 0);
  CHECK(has_text(run.err, "-1000 or less"));
  CHECK(work.ramp({"--add-mask", "minus.csv", "-q"}).err.empty());
  work.files.write("good.csv", "0,0,-inf\n");
  CHECK(work.ramp({"--add-mask", "good.csv"}).err.empty());
}
