#include "support/run_command.h"

#include <filesystem>

#include "catch.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

Command shell(const std::string& script) {
  Command command;
  command.args = {"sh", "-c", script};
  return command;
}

}  // namespace

TEST_CASE("output, errors and exit status come back apart") {
  const Outcome outcome = run_command(shell("echo out; echo err >&2; exit 3"));
  CHECK(outcome.out == "out\n");
  CHECK(outcome.err == "err\n");
  CHECK(outcome.status == 3);
  CHECK(outcome.signal == 0);
  CHECK_FALSE(outcome.timed_out);
}

TEST_CASE("a program that a signal ends has no exit status") {
  const Outcome outcome = run_command(shell("kill -TERM $$"));
  CHECK(outcome.status == -1);
  CHECK(outcome.signal == SIGTERM);
}

TEST_CASE("standard input is the given bytes, or a file, or empty") {
  Command command = shell("cat");
  SECTION("nothing") { CHECK(run_command(command).out.empty()); }
  SECTION("bytes") {
    command.input = std::string("a\0b\n", 4);
    CHECK(run_command(command).out == command.input);
  }
  SECTION("a file") {
    const TempFolder folder;
    command.input_file = folder.write("in.txt", "from a file");
    CHECK(run_command(command).out == "from a file");
  }
}

TEST_CASE("megabytes in, out and on standard error do not block each other") {
  Command command = shell("tee /dev/stderr");
  command.input = std::string(3'000'000, 'x');
  const Outcome outcome = run_command(command);
  CHECK(outcome.out == command.input);
  CHECK(outcome.err == command.input);
}

TEST_CASE("a program may end without reading its input") {
  Command command = shell("exit 4");
  command.input = std::string(3'000'000, 'x');
  CHECK(run_command(command).status == 4);
}

TEST_CASE("environment and folder are the program's own") {
  const TempFolder folder;
  Command command = shell("echo $MHA_TEST ${HOME-gone}; pwd -P");
  command.environment = {"MHA_TEST=set", "HOME"};
  command.folder = folder.path();
  CHECK(run_command(command).out ==
        "set gone\n" + std::filesystem::canonical(folder.path()).string() + "\n");
}

TEST_CASE("a closed pipe ends the program as it does in a shell") {
  // The writer reports how it ended: 128 + SIGPIPE.
  const Outcome outcome = run_command(shell("{ (yes); echo $? >&2; } | head -n 1"));
  CHECK(outcome.out == "y\n");
  CHECK(outcome.err == std::to_string(128 + SIGPIPE) + "\n");
}

TEST_CASE("what runs too long is killed, with the children that hold its pipes") {
  Command command = shell("sleep 100 & echo started");
  command.timeout = 0.2;
  const Outcome outcome = run_command(command);
  CHECK(outcome.timed_out);
  CHECK(outcome.out == "started\n");
}

TEST_CASE("a program is interrupted once it has started its work") {
  const TempFolder folder;
  const Command command = shell("trap 'echo stopped; exit 5' TERM; : >'" + folder / "begun" +
                                "'; while :; do sleep 0.01; done");
  const Outcome outcome = interrupt_command(
      command, SIGTERM, [&] { return std::filesystem::exists(folder / "begun"); });
  CHECK(outcome.out == "stopped\n");
  CHECK(outcome.status == 5);
}

TEST_CASE("peak memory is the program's") {
  // dd holds its block whole.
  const Outcome outcome =
      run_command(shell("exec dd if=/dev/zero of=/dev/null bs=200M count=1"));
  CHECK(outcome.peak_memory > 200'000'000);
  CHECK(outcome.peak_memory < 400'000'000);
}

TEST_CASE("a program that is not there is an error of the test") {
  Command command;
  command.args = {"/no/such/program"};
  CHECK_THROWS_AS(run_command(command), std::system_error);
}
