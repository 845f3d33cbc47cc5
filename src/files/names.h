#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mha {

// ASCII in lower case, whatever the locale; other bytes as they are.
char lower(char c);

// What follows the last dot of a path's last part, in lower case; "" without one.
std::string suffix_of(const std::string& path);

// The known name nearest to `name` by edit distance (a swap of neighbours is
// one edit, case costs nothing), or "" where none is near: more than a third of
// it would change.
std::string nearest(std::string_view name, std::span<const std::string> known);

// ", did you mean NAME?" with the nearest known name, or "" where none is near.
// Printable.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

// Whether `name` is one of them, to the letter.
bool is_one_of(std::string_view name, std::span<const std::string> names);

// "a, b, c", shortened after `most`: "a, b, c, … and 12 more"; "nothing" for an
// empty list. Printable.
std::string list_of(std::span<const std::string> names, std::size_t most = 12);

// "1 head", "2 heads".
std::string count_of(std::size_t count, const std::string& what);

// Control characters, those that turn the direction of writing and broken UTF-8 as
// \xNN, so that a message or a label stays one line and does nothing to the terminal.
std::string printable(std::string_view text);

// How a message names a path it reads: "-" is "standard input".
std::string source_name(const std::string& path);

}  // namespace mha
