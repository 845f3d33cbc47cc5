#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mha {

// A command of a console block and what stands below it.
struct ConsoleStep {
  int line = 0;         // of the command, from 1
  std::string command;  // without the "$ "; may span lines that end in a backslash
  std::string output;   // up to the next command or the block's end
};

// A block of Markdown between "```console" and "```". A first line
// "```console norun" keeps it from being run.
struct ConsoleBlock {
  int line = 0;  // of its fence, from 1
  bool run = true;
  std::vector<ConsoleStep> steps;
};

// Throws std::runtime_error that names the line for a block that does not end,
// does not begin with a command, or has another word after "console".
std::vector<ConsoleBlock> console_blocks(std::string_view markdown);

// Whether `got` is what the text says: the same lines, blank ones at the end
// aside, where a line "…" stands for any number of lines.
bool agrees(std::string_view expected, std::string_view got);

}  // namespace mha
