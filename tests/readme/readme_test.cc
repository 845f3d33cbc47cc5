#include <cstdlib>
#include <filesystem>
#include <string>

#include "catch.h"
#include "readme/console.h"
#include "support/run_command.h"
#include "support/temp_folder.h"

using namespace mha;
namespace fs = std::filesystem;

namespace {

// A folder that looks like the source folder after a build, where commands may
// leave files behind.
class Workplace {
 public:
  Workplace() {
    const fs::path source = MHA_SOURCE_DIR;
    const fs::path apps = fs::path(MHA_BINARY_DIR) / "apps";
    for (const char* name : {"models", "data"}) {
      fs::create_directory_symlink(source / name, folder_.path() / name);
    }
    fs::create_directories(folder_.path() / "build/release");
    fs::create_directory_symlink(apps, folder_.path() / "build/release/apps");
    shell_.args = {"sh", "-c", ""};
    shell_.folder = folder_.path();
    shell_.environment = {"PATH=" + apps.string() + ":" + std::getenv("PATH")};
  }

  // What a person at a terminal would see; `$?` is that of the command before.
  Outcome run(const std::string& command) {
    shell_.args[2] =
        "exec 2>&1; (exit " + std::to_string(last_status_) + ")\n" + command + "\n";
    const Outcome outcome = run_command(shell_);
    last_status_ = outcome.signal != 0 ? 128 + outcome.signal : outcome.status;
    return outcome;
  }

 private:
  TempFolder folder_;
  Command shell_;
  int last_status_ = 0;
};

}  // namespace

TEST_CASE("the README's commands print what it says") {
  const std::string file = MHA_SOURCE_DIR "/README.md";
  Workplace workplace;
  int count = 0;
  for (const ConsoleBlock& block : console_blocks(read_file(file))) {
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const ConsoleStep& step = block.steps[i];
      INFO("README.md:" << step.line << ": " << step.command);
      if (!block.run) {
        // These would install packages.
        CHECK(step.command.starts_with("./setup.sh"));
        continue;
      }
      const Outcome outcome = workplace.run(step.command);
      INFO("the README says:\n" << step.output << "it prints:\n" << outcome.out);
      CHECK(agrees(step.output, outcome.out));
      // A command that fails on purpose says so: the next one shows its status.
      const bool shows_status = i + 1 < block.steps.size() &&
                                block.steps[i + 1].command.find("$?") != std::string::npos;
      CHECK((outcome.status == 0 || shows_status));
      ++count;
    }
  }
  CHECK(count > 0);
}
