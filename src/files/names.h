#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

// The known name nearest to `name` by edit distance, or "" where none is near
// (more than a third of it would change).
std::string nearest(std::string_view name, std::span<const std::string> known);

// "a, b, c", shortened after `most` with "… and 12 more".
std::string list_of(std::span<const std::string> names, std::size_t most = 12);

// Control characters and broken UTF-8 as \xNN, so that a message or a label
// stays one line and does nothing to the terminal.
std::string printable(std::string_view text);

}  // namespace mha
