#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/run_command.h"
#include "support/temp_folder.h"

// The words in which the tests of mha-run are told: a folder with the RAMP layer
// in it, and the real program run there.
namespace mha {

class Workspace {
 public:
  Workspace() {
    // RAMP (tests/support/ramp.h), a head an object, in row-vector convention.
    files.write("ramp.json", R"({"heads": [
      {"W_Q": [[0, 0.25], [-0.25, 0], [-0.5, -0.25], [-0.75, -0.5]],
       "W_K": [[0, 0.125], [0.125, 0.25], [0.25, 0.375], [0.375, 0.5]],
       "W_V": [[0, 0.25], [-0.125, 0.125], [-0.25, 0], [-0.375, -0.125]],
       "W_O": [[1, 0, 0, 0], [0.5, 1, 0, 0]],
       "b_Q": [0.1, 0.2], "b_K": [0, 0.1], "b_V": [-0.1, 0]},
      {"W_Q": [[0.5, 0.75], [0.25, 0.5], [0, 0.25], [-0.25, 0]],
       "W_K": [[0.25, 0.375], [0.375, 0.5], [0.5, 0.625], [0.625, 0.75]],
       "W_V": [[0.5, 0.75], [0.375, 0.625], [0.25, 0.5], [0.125, 0.375]],
       "W_O": [[0, 0.5, 1, 0], [0, 0, 0.5, 1]],
       "b_Q": [0.3, 0.4], "b_K": [0, 0.1], "b_V": [0.1, 0.2]}],
      "b_O": [0.01, 0.02, 0.03, 0.04]})");
    files.write("x.csv", "-1,-.5,0,.5\n1,-1,-.5,0\n.5,1,-1,-.5\n");
  }

  // mha-run with these arguments, in the folder.
  Outcome run(std::vector<std::string> args, std::string input = "") const {
    return run_command(command(std::move(args), std::move(input)));
  }
  // … on RAMP and its x.
  Outcome ramp(std::vector<std::string> args, std::string input = "") const {
    args.insert(args.begin(), {"-w", "ramp.json", "-i", "x.csv"});
    return run(std::move(args), std::move(input));
  }
  Command command(std::vector<std::string> args, std::string input = "") const {
    Command command;
    command.args = std::move(args);
    command.args.insert(command.args.begin(), MHA_BINARY_DIR "/apps/mha-run");
    command.input = std::move(input);
    command.folder = files.path().string();
    return command;
  }
  // Through sh, with mha-run on the PATH: pipes and redirections.
  Outcome shell(const std::string& script) const {
    Command command;
    command.args = {"sh", "-c", script};
    command.environment = {std::string("PATH=" MHA_BINARY_DIR "/apps:") + std::getenv("PATH")};
    command.folder = files.path().string();
    return run_command(command);
  }

  bool has(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(files.path() / name));
  }
  // Names of all files in the folder, so that a leftover shows.
  std::size_t count() const {
    const std::filesystem::directory_iterator entries(files.path());
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

  TempFolder files;
};

// The numbers of csv or text output, row by row.
inline std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  const char* at = text.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    const double value = std::strtod(at, &end);
    if (end == at) {
      ++at;  // a separator
    } else {
      values.push_back(value);
      at = end;
    }
  }
  return values;
}

// Field cases print six decimals; f32 runs are within 2e-6 of the f64 values.
inline bool agree(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= 2e-6)) return false;
  }
  return true;
}

inline bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace mha
