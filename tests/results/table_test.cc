#include "results/table.h"

#include <limits>

#include "catch.h"

namespace mha {

TEST_CASE("numbers stand at the right of their column, words at the left") {
  CHECK(aligned({{"n", "name", "w"}, {"10", "a", "0.5"}}, {1}) ==
        " n  name    w\n"
        "10  a     0.5\n");
}

TEST_CASE("wide characters count as they show, and no line ends in blanks") {
  CHECK(aligned({{"猫", "x"}, {"cat", ""}}, {0, 1}) == "猫   x\ncat\n");
}

TEST_CASE("words are wrapped at the width") {
  CHECK(wrapped({"aaa", "bbb", "cc", "dddd"}, 2, 7) == "aaa bbb\n  cc\n  dddd\n");
  CHECK(wrapped({"longer", "x"}, 1, 3) == "longer\n x\n");
}

TEST_CASE("numbers in JSON have nine digits, and are null where they are none") {
  CHECK(json_number(1.0 / 3.0) == "0.333333333");
  CHECK(json_number(0.0) == "0");
  CHECK(json_number(std::numeric_limits<double>::quiet_NaN()) == "null");
  CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
}

}  // namespace mha
