#pragma once

#include <string>
#include <string_view>

namespace mha {

// Text for XML and HTML, between tags or in quotes: printable(), with &, <, >, " and ' as
// entities and U+FFFE and U+FFFF, which XML cannot hold, as U+FFFD.
std::string escape_markup(std::string_view text);

// Bytes in base64 (RFC 4648, section 4), as a data: address holds them.
std::string base64(std::string_view bytes);

}  // namespace mha
