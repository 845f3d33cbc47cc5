#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/settings.h"
#include "kernels/linear.h"

namespace mha {

// What the command lines of all tools have in common.

// The parts of "a,b,c"; one empty part for an empty text.
std::vector<std::string> split_at_commas(const std::string& text);

// The numbers of "0,3". Throws Error, naming the option.
std::vector<std::size_t> parse_counts(const std::string& option, const std::string& text);

// The value of --gemm. Throws Error.
Gemm parse_gemm(const std::string& text);

// Throws Error ("--scale: -1 is not a number above 0") unless ok.
void require(const std::string& option, double value, bool ok, const char* expected);

// Throws Error ("--rope: 'half' is not known; expected none, halves or pairs").
[[noreturn]] void refuse_word(const std::string& option, const std::string& text,
                              const std::string& expected);

// The value of a setting that the text names. Throws Error that lists the others.
template <typename Value>
Value parse_word(const std::string& option, const std::string& text) {
  if (const auto value = value_named<Value>(text)) return *value;
  refuse_word(option, text, one_of(value_names<Value>()));
}

// Help laid out as all tools have it, with -h and --help.
void set_up_help(CLI::App& app);

// For the words that no option takes (app.allow_extras()): throws Error for the
// first, with the nearest known option.
void refuse_unknown(const CLI::App& app);

// An empty value is a shell variable that was not set. Taken for "not asked
// for", --expect "$file" would compare nothing and end with 0. Of options of type N
// a negative number, too, which CLI11 takes for a large one.
void refuse_wrong_values(const CLI::App& app);

}  // namespace mha
