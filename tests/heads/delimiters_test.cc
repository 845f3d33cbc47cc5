#include "heads/delimiters.h"

#include <cstdint>
#include <string>
#include <vector>

#include "catch.h"

namespace mha {

TEST_CASE("marks of beginning and end and punctuation are delimiters") {
  const std::vector<std::string> labels = {"[CLS]", "the",    "##ing", "don't", ",",
                                           "...",   "[MASK]", "。",    "？！",  "猫",
                                           "",      "</s>",   "a.",    "—"};
  CHECK(delimiters_of(labels) ==
        std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("words that are said to be delimiters are, and no others") {
  const std::vector<std::string> labels = {"[CLS]", "the", ".", "the"};
  const std::vector<std::string> words = {"the"};
  CHECK(delimiters_of(labels, words) == std::vector<std::uint8_t>{0, 1, 0, 1});
}

}  // namespace mha
