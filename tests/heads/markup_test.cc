#include "heads/markup.h"

#include "catch.h"

using namespace mha;

TEST_CASE("markup in a text stays text") {
  CHECK(escape_markup("cat") == "cat");
  CHECK(escape_markup("<script>alert('x')</script>") ==
        "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
  CHECK(escape_markup("a & b \"c\"") == "a &amp; b &quot;c&quot;");
  CHECK(escape_markup("]]>") == "]]&gt;");
  CHECK(escape_markup("猫 ü") == "猫 ü");
}

TEST_CASE("what XML cannot hold is not in it") {
  CHECK(escape_markup(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escape_markup("\x1b[31m\n") == "\\x1B[31m\\x0A");
  CHECK(escape_markup("\xFF") == "\\xFF");
  CHECK(escape_markup("a\uFFFEb\uFFFF") == "a\uFFFDb\uFFFD");
}
