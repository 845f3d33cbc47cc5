#include "readme/console.h"

#include <sstream>
#include <stdexcept>

namespace mha {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A blank line before the next command is there for the reader's eye.
std::vector<std::string> output_lines(std::string_view text) {
  std::vector<std::string> lines = lines_of(text);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

[[noreturn]] void fail(int line, const std::string& what) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}

void add_line(ConsoleBlock& block, const std::string& text, int line) {
  if (!block.steps.empty() && block.steps.back().output.empty() &&
      block.steps.back().command.ends_with('\\')) {
    block.steps.back().command += "\n" + text;
  } else if (text.starts_with("$ ")) {
    block.steps.push_back({line, text.substr(2), ""});
  } else if (block.steps.empty()) {
    fail(line, "a console block begins with a command, \"$ …\"");
  } else {
    block.steps.back().output += text + "\n";
  }
}

bool agrees_from(const std::vector<std::string>& expected, std::size_t e,
                 const std::vector<std::string>& got, std::size_t g) {
  for (; e < expected.size(); ++e, ++g) {
    if (expected[e] == "…") {
      for (std::size_t next = g; next <= got.size(); ++next) {
        if (agrees_from(expected, e + 1, got, next)) return true;
      }
      return false;
    }
    if (g == got.size() || expected[e] != got[g]) return false;
  }
  return g == got.size();
}

}  // namespace

std::vector<ConsoleBlock> console_blocks(std::string_view markdown) {
  std::vector<ConsoleBlock> blocks;
  bool inside = false;
  int number = 0;
  for (const std::string& line : lines_of(markdown)) {
    ++number;
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      add_line(blocks.back(), line, number);
    } else if (line.starts_with("```console")) {
      if (line != "```console" && line != "```console norun") {
        fail(number, "expected ```console or ```console norun, found " + line);
      }
      blocks.push_back({number, line == "```console", {}});
      inside = true;
    }
  }
  if (inside) fail(blocks.back().line, "this console block does not end");
  return blocks;
}

bool agrees(std::string_view expected, std::string_view got) {
  return agrees_from(output_lines(expected), 0, output_lines(got), 0);
}

}  // namespace mha
