#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "files/archive.h"
#include "files/bytes.h"

namespace mha {

// A matrix as text: a row a line, its numbers split by commas, tabs or blanks;
// `#` begins a comment; blank lines part the sequences of a batch; a first line
// of names is passed over; a first column that is no number in most rows is
// one of labels. Cells may be quoted. The one member is f64 [n, d], or
// [batch, n, d] where there are several sequences; the labels of all rows, in
// order, are lists["tokens"]. Numbers parse the same in every locale.
// Throws Error with line and column (of the table, from 1) for a cell that is
// no number, for ragged rows and for sequences of different length.
Archive open_text(const Bytes& bytes, const std::string& path);

// A number as text writes it, "+1" and "nan" too, whatever the locale; one too
// small is 0 or the least above it. An error is of what is none, or has more
// behind it, or is beyond what a double holds.
std::from_chars_result parse_number(std::string_view cell, double& value);

}  // namespace mha
