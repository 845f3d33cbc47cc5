#include "readme/console.h"

#include "catch.h"

using namespace mha;

TEST_CASE("commands and what they print are taken from console blocks alone") {
  const auto blocks = console_blocks(
      "# Title\n"
      "```cpp\n$ not a command\n```\n"
      "```console\n"
      "$ echo a b\n"
      "a b\n"
      "\n"
      "$ true\n"
      "$ printf '%s\\n' \\\n"
      "    c\n"
      "c\n"
      "```\n"
      "text\n"
      "```console norun\n"
      "$ ./setup.sh demo\n"
      "```\n");
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].run);
  CHECK(blocks[0].line == 5);
  REQUIRE(blocks[0].steps.size() == 3);
  CHECK(blocks[0].steps[0].command == "echo a b");
  CHECK(blocks[0].steps[0].line == 6);
  CHECK(blocks[0].steps[0].output == "a b\n\n");
  CHECK(blocks[0].steps[1].output.empty());
  CHECK(blocks[0].steps[2].command == "printf '%s\\n' \\\n    c");
  CHECK(blocks[0].steps[2].output == "c\n");
  CHECK_FALSE(blocks[1].run);
}

TEST_CASE("a console block that could not be run is refused with its line") {
  CHECK_THROWS_WITH(console_blocks("\n```console\n$ true\n"),
                    "line 2: this console block does not end");
  CHECK_THROWS_WITH(console_blocks("```console\nout\n```\n"),
                    "line 2: a console block begins with a command, \"$ …\"");
  CHECK_THROWS_WITH(console_blocks("```console skip\n```\n"),
                    "line 1: expected ```console or ```console norun, found ```console skip");
}

TEST_CASE("output agrees line by line, and … stands for any lines") {
  CHECK(agrees("", ""));
  CHECK(agrees("a\nb\n", "a\nb\n"));
  CHECK_FALSE(agrees("a\nb\n", "a\n"));
  CHECK_FALSE(agrees("a\n", "a\nb\n"));
  CHECK_FALSE(agrees("", "a\n"));
  CHECK_FALSE(agrees("a \n", "a\n"));
  CHECK_FALSE(agrees("a\n\nb\n", "a\nb\n"));
  CHECK(agrees("a\n\n", "a\n"));
  CHECK(agrees("…\n", ""));
  CHECK(agrees("…\n", "a\nb\n"));
  CHECK(agrees("a\n…\n", "a\nb\nc\n"));
  CHECK(agrees("a\n…\nd\n…\nf\n", "a\nb\nd\nc\nd\ne\nf\n"));
  CHECK_FALSE(agrees("a\n…\nd\n", "a\nb\nd\nc\n"));
  // Only as a whole line.
  CHECK_FALSE(agrees("a …\n", "a b\n"));
}
