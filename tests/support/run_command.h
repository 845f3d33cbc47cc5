#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mha {

// A program to run as a shell would run it.
struct Command {
  std::vector<std::string> args;         // args[0]: a path, or a name to look up in PATH
  std::string input;                     // bytes on standard input,
  std::string input_file;                // or, where not empty, a file there
  std::vector<std::string> environment;  // over ours: "NAME=value"; "NAME" removes it
  std::string folder;                    // to run in; empty: ours
  double timeout = 60.0;  // seconds; then the program and its children are killed
};

// How it ended.
struct Outcome {
  std::string out;  // standard output
  std::string err;  // standard error
  int status = -1;  // exit status; -1 where a signal ended it
  int signal = 0;   // that signal
  bool timed_out = false;
  // Most memory it held at one time, in bytes. Linux counts what the test
  // program held when it started the command too, so test with a small one.
  std::size_t peak_memory = 0;
};

// Runs it to its end. Throws std::system_error where it cannot be started.
Outcome run_command(const Command& command);

// The same, and sends `signal` once `started` is true (asked every few
// milliseconds); a program that ends before that gets none.
Outcome interrupt_command(const Command& command, int signal,
                          const std::function<bool()>& started);

}  // namespace mha
