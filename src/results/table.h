#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace mha {

// A number by printf's format for one double.
std::string formatted(const char* format, double value);

// The same, "-" for what is not finite.
std::string cell(const char* format, double value);

// The same in JSON: nine digits, null for what is not finite.
std::string json_number(double value);

// Rows of cells as lines, columns two blanks apart: each as wide as its widest cell, numbers
// at the right of it, the columns of `words` at the left.
std::string aligned(const std::vector<std::vector<std::string>>& rows,
                    std::initializer_list<std::size_t> words = {});

// Words with blanks between them as lines of at most `width` columns, all but the first
// behind `indent` blanks.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent,
                    std::size_t width = 100);

}  // namespace mha
