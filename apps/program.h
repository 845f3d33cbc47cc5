#pragma once

#include <functional>
#include <string>

#include "files/whole_file.h"

namespace mha {

// What every tool does around its work: standard descriptors that are closed
// are kept out of the files it opens, temporary files go away on signals, and
// what is thrown becomes one line on stderr and the exit status: 2 the command
// line or the data, 3 the system, 141 a reader of ours that went away. Returns
// the status of main().
int run_program(const std::string& tool, const std::function<int()>& work);

// Writes a text (--help, a report) to standard output.
void print(const std::string& text);

// Binary never goes to a terminal, whatever its name: throws Error where `file`,
// opened under `path`, is one. `what` is binary; `remedy` follows "redirect it".
void require_no_terminal(const WholeFile& file, const std::string& path,
                         const std::string& what, const std::string& remedy);

}  // namespace mha
