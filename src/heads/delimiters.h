#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mha {

// Which tokens are delimiters, 1 for each of `labels` that is one: is among `words` or,
// without words, marks a beginning or an end ([CLS], [SEP], <s>, …) or is punctuation.
std::vector<std::uint8_t> delimiters_of(std::span<const std::string> labels,
                                        std::span<const std::string> words = {});

}  // namespace mha
