#pragma once

#include <string_view>

namespace mha {

// The files of page/ as one document, in two parts: what stands before and after the data.
// cmake/embed_page.cmake makes the source of both.
extern const std::string_view page_before_data;
extern const std::string_view page_after_data;

}  // namespace mha
