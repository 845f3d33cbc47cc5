#pragma once

#include <functional>
#include <string>

namespace mha {

// What every tool does around its work: standard descriptors that are closed
// are kept out of the files it opens, temporary files go away on signals, and
// what is thrown becomes one line on stderr and the exit status: 2 the command
// line or the data, 3 the system, 141 a reader of ours that went away. Returns
// the status of main().
int run_program(const std::string& tool, const std::function<int()>& work);

// Writes a text (--help, a report) to standard output.
void print(const std::string& text);

}  // namespace mha
