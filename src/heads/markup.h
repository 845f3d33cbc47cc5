#pragma once

#include <string>
#include <string_view>

namespace mha {

// Text for XML and HTML, between tags or in quotes: printable(), with &, <, >, " and ' as
// entities and U+FFFE and U+FFFF, which XML cannot hold, as U+FFFD.
std::string escape_markup(std::string_view text);

}  // namespace mha
