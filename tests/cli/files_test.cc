// Files, pipes and signals around mha-run.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/memory.h"
#include "catch.h"
#include "cli/workspace.h"
#include "support/terminal.h"

using namespace mha;

SCENARIO("results go to files whole, and nothing to stdout") {
  const Workspace work;
  const std::size_t before = work.count();
  const Outcome run = work.ramp({"-o", "y.npy", "--maps", "maps.npy", "--trace", "t.npz"});
  CHECK(run.status == 0);
  CHECK(run.out.empty());
  CHECK(run.err.empty());
  CHECK(work.count() == before + 3);
  CHECK(read_file(work.files.path() / "maps.npy").size() == 128 + 2 * 3 * 3 * 4);
}

SCENARIO("a run that fails leaves no file and keeps the old one") {
  const Workspace work;
  work.files.write("y.npy", "precious");
  const std::size_t before = work.count();
  CHECK(work.ramp({"-o", "y.npy", "--maps", "gone/maps.npy"}).status == 3);
  CHECK(work.ramp({"-o", "y.npy", "--ablate", "9"}).status == 2);
  CHECK(work.ramp({"-o", "y.npy", "--expect", "gone.npy"}).status == 3);
  CHECK(work.ramp({"-o", "y.npy", "--trace", "t.npz", "--maps", "."}).status != 0);
  CHECK(work.count() == before);
  CHECK(read_file(work.files.path() / "y.npy") == "precious");
}

SCENARIO("no output goes over a file that the run reads") {
  const Workspace work;
  REQUIRE(work.ramp({"-o", "y.npy"}).status == 0);
  const std::string before = read_file(work.files.path() / "y.npy");
  for (const auto& args : {std::vector<std::string>{"-o", "./y.npy", "--expect", "y.npy"},
                           {"--maps", "y.npy", "--key", "y.npy"},
                           {"-o", "ramp.json"},
                           {"--maps", "x.csv"}}) {
    const Outcome run = work.ramp(args);
    CHECK(run.status == 2);
    CHECK(has_text(run.err, "would be lost"));
  }
  CHECK(read_file(work.files.path() / "y.npy") == before);
}

SCENARIO("devices, links and permissions are respected") {
  const Workspace work;
  CHECK(work.ramp({"-o", "/dev/null", "--format", "npy"}).status == 0);
  struct stat status {};
  REQUIRE(::stat("/dev/null", &status) == 0);
  CHECK(S_ISCHR(status.st_mode));
  work.files.write("real.npy", "old");
  REQUIRE(::chmod((work.files / "real.npy").c_str(), 0600) == 0);
  REQUIRE(::symlink("real.npy", (work.files / "link.npy").c_str()) == 0);
  CHECK(work.ramp({"-o", "link.npy"}).status == 0);
  CHECK(std::filesystem::is_symlink(work.files.path() / "link.npy"));
  CHECK(read_file(work.files.path() / "real.npy").size() == 128 + 12 * 4);
  REQUIRE(::stat((work.files / "real.npy").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

SCENARIO("binary never goes to a terminal") {
  const Workspace work;
  const Terminal terminal;
  REQUIRE(work.ramp({"-o", "x.npy"}).status == 0);
  const Outcome outcome =
      work.run({"-w", "ramp.json", "-i", "x.npy", "--format", "npy", "-o", terminal.path()});
  CHECK(outcome.status == 2);
  CHECK(has_text(outcome.err, terminal.path() + ": is a terminal and npy is binary"));
  CHECK(work.run({"-w", "ramp.json", "-i", "x.npy", "--format", "text", "-o", terminal.path()})
            .status == 0);
}

SCENARIO("pipes work on both sides") {
  const Workspace work;
  REQUIRE(work.ramp({"-o", "x.npy"}).status == 0);
  WHEN("x comes from standard input in each form") {
    for (const char* form : {"x.npy", "x.csv"}) {
      const Outcome file = work.run({"-w", "ramp.json", "-i", form, "--format", "csv"});
      const Outcome pipe = work.shell(std::string("cat ") + form +
                                      " | mha-run -w ramp.json -i - -o - --format csv");
      CHECK(pipe.status == 0);
      CHECK(pipe.out == file.out);
    }
    const Outcome json = work.shell(
        "echo '[[-1,-.5,0,.5]]' | sed 's/-\\./-0./;s/,\\./,0./' | "
        "mha-run -w ramp.json -i - --format json");
    CHECK(json.status == 0);
    CHECK(has_text(json.out, "\"y\""));
  }
  WHEN("runs are chained") {
    const Outcome chain = work.shell(
        "mha-run -w ramp.json -i x.csv -o - | mha-run -w ramp.json -i - -o - --format csv");
    CHECK(chain.status == 0);
    CHECK(numbers(chain.out).size() == 12);
  }
  WHEN("x comes through a named pipe") {
    REQUIRE(::mkfifo((work.files / "fifo").c_str(), 0600) == 0);
    const Outcome run =
        work.shell("cat x.npy > fifo & mha-run -w ramp.json -i fifo -o y2.npy");
    CHECK(run.status == 0);
    CHECK(work.has("y2.npy"));
  }
  WHEN("maps go to a pipe that has a name") {
    REQUIRE(::mkfifo((work.files / "maps.npy").c_str(), 0600) == 0);
    const Outcome run = work.shell(
        "mha-run -w ramp.json -i x.csv --maps maps.npy & cat maps.npy > copy.npy; wait; "
        "mha-run -w ramp.json -i x.csv --expect-maps copy.npy");
    CHECK(run.status == 0);
  }
  WHEN("standard input is empty") {
    const Outcome run = work.run({"-w", "ramp.json", "-i", "-"});
    CHECK(run.status == 2);
    CHECK(has_text(run.err, "empty"));
  }
  WHEN("the reader goes away") {
    std::string many;
    for (int i = 0; i < 3000; ++i) many += "-1,-.5,0,.5\n";
    work.files.write("many.csv", many);
    const Outcome run = work.shell(
        "{ mha-run -w ramp.json -i many.csv -o - --format csv --trace t.npz --trace-only q; "
        "echo $? >&2; } | head -1");
    CHECK(run.err == "141\n");
    CHECK_FALSE(work.has("t.npz"));
  }
}

SCENARIO("batches keep their rank") {
  const Workspace work;
  const std::string item = "[[-1,-0.5,0,0.5],[1,-1,-0.5,0],[0.5,1,-1,-0.5]]";
  work.files.write("one.json", "[" + item + "]");
  work.files.write("two.json", "[" + item + "," + item + "]");
  CHECK(work.run({"-w", "ramp.json", "-i", "one.json", "-o", "-", "--format", "json"})
            .out.rfind("[[[", 0) == 0);
  const Outcome two = work.run({"-w", "ramp.json", "-i", "two.json", "--format", "csv"});
  const auto y = numbers(two.out);
  REQUIRE(y.size() == 24);
  CHECK(std::vector<double>(y.begin(), y.begin() + 12) ==
        std::vector<double>(y.begin() + 12, y.end()));
  const Outcome maps =
      work.run({"-w", "ramp.json", "-i", "two.json", "--maps", "-", "--format", "json"});
  CHECK(maps.out.rfind("[[[[", 0) == 0);
  CHECK(numbers(maps.out).size() == 2 * 2 * 3 * 3);
}

SCENARIO("an interrupt leaves nothing behind") {
  const Workspace work;
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "-1,-.5,0,.5\n";
  work.files.write("many.csv", many);
  const std::size_t before = work.count();
  for (const int signal : {SIGINT, SIGTERM}) {
    const Outcome run = interrupt_command(
        work.command({"-w", "ramp.json", "-i", "many.csv", "-o", "y.npy", "--maps", "m.npy"}),
        signal, [&] { return work.count() > before; });
    CHECK(run.signal == signal);
    CHECK(work.count() == before);
  }
}

SCENARIO("maps too large for the disk are refused before anything is computed") {
  const Workspace work;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "-1,-.5,0,.5\n";
  std::ofstream stream(work.files / "many.csv");
  for (int i = 0; i < 1500; ++i) stream << many;  // maps of 18 TB
  stream.close();
  const Outcome run =
      work.run({"-w", "ramp.json", "-i", "many.csv", "-o", "y.npy", "--maps", "maps.npy"});
  CHECK(run.status == 3);
  CHECK(has_text(run.err, "maps.npy"));
  CHECK(has_text(run.err, "18.0 TB"));
  const Outcome json = work.run({"-w", "ramp.json", "-i", "many.csv", "--format", "json"});
  CHECK(json.status == 3);
  CHECK(has_text(json.err, "18.0 TB"));
}

SCENARIO("a plan is printed without computing") {
  const Workspace work;
  const std::size_t before = work.count();
  const Outcome plan = work.ramp({"--dry-run", "-o", "y.npy"});
  CHECK(work.count() == before);
  CHECK(plan.status == 0);
  CHECK(has_text(plan.out, "FLOP"));
  CHECK(has_text(plan.out, "whatever n_heads"));
}

SCENARIO("what is said beside a result leaves stdout to the result") {
  const Workspace work;
  REQUIRE(work.ramp({"-o", "y.npy"}).status == 0);
  const Outcome plan = work.ramp({"--dry-run", "-o", "-"});
  CHECK(plan.out.empty());
  CHECK(has_text(plan.err, "FLOP"));
  const Outcome verdict =
      work.ramp({"-o", "/dev/stdout", "--format", "csv", "--expect", "y.npy"});
  CHECK_FALSE(has_text(verdict.out, "equal within"));
  CHECK(has_text(verdict.err, "equal within"));
}

SCENARIO("a closed standard descriptor is not taken for a file") {
  const Workspace work;
  const std::size_t before = work.count();
  const Outcome out = work.shell("mha-run -w ramp.json -i x.csv -o - --maps m.npy >&-");
  CHECK(out.status == 3);
  CHECK(has_text(out.err, "standard output"));
  CHECK(work.count() == before);
  CHECK(work.shell("mha-run -w ramp.json -i - -o y.npy <&-").status == 3);
  CHECK(work.shell("mha-run -w ramp.json -i x.csv -o y.npy <&- >&- 2>&-").status == 0);
}

SCENARIO("help and version go to stdout") {
  const Workspace work;
  const Outcome help = work.run({"--help"});
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  CHECK(has_text(help.out, "mha-run -w models/reader.safetensors --text"));
  CHECK(has_text(help.out, "mha-run -w pytorch_model.bin -i x.npy --layer 5"));
  CHECK(has_text(help.out, "mha-run -w w.bin -i x.npy --expect y.npy"));
  CHECK_FALSE(has_text(help.out, "--map-heads"));
  CHECK(has_text(work.run({"--help-all"}).out, "--map-heads"));
  CHECK(has_text(work.run({"--version"}).out, "mha-run "));
}

SCENARIO("too little memory for the BLAS is an error, not a wait for ever") {
  if (kWatchedMemory) return;  // a sanitizer maps terabytes
  const Workspace work;
  // OpenBLAS 0.3.29 waits for ever itself, while it is loaded, below about 200 MB.
  std::string limits = "export OPENBLAS_NUM_THREADS=1; ulimit -v 150000; ";
  if (work.shell(limits + "timeout 5 mha-run --version").status != 0) {
    limits = "export OPENBLAS_NUM_THREADS=1; ulimit -v 250000; ";
  }
  const Outcome run =
      work.shell(limits + "mha-run -w ramp.json -i x.csv --gemm openblas -o y.npy");
  CHECK(run.status == 3);
  CHECK(has_text(run.err, "mha-run: the BLAS needs"));
  CHECK_FALSE(work.has("y.npy"));
}

SCENARIO("memory does not grow with n squared") {
  if (kWatchedMemory) return;  // a sanitizer holds back what was given back
  const Workspace work;
  std::string many;
  for (int i = 0; i < 8192; ++i) many += "-1,-.5,0,.5\n";
  work.files.write("many.csv", many);
  for (const char* maps : {"", "maps.npy"}) {
    std::vector<std::string> args = {"-w", "ramp.json", "-i", "many.csv", "-o", "y.npy"};
    if (*maps != '\0') args.insert(args.end(), {"--maps", maps, "--map-heads", "0"});
    const Outcome run = run_command(work.command(args));
    REQUIRE(run.status == 0);
    CHECK(run.peak_memory < 100'000'000);  // one whole map is 268 MB
  }
}
