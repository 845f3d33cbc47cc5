#include "files/names.h"

#include "catch.h"

using namespace mha;

TEST_CASE("the nearest name is one that a slip of the fingers makes") {
  const std::vector<std::string> known = {"W_Q", "W_K", "n_heads", "n_kv_heads", "d_model"};
  CHECK(nearest("n_hedas", known) == "n_heads");
  CHECK(nearest("n_head", known) == "n_heads");
  CHECK(nearest("w_k", known) == "W_K");
  CHECK(nearest("D_MODEL", known) == "d_model");
  CHECK(nearest("W_X", known) == "W_Q");
  CHECK(nearest("colour", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest("x", {}).empty());
}

TEST_CASE("two names without end are compared at once") {
  const std::string a(1000000, 'a');
  const std::vector<std::string> known = {std::string(2000000, 'b')};
  CHECK(nearest(a, known).empty());
}

TEST_CASE("a list is shortened after the most that it may show") {
  const std::vector<std::string> names = {"a", "b\n", "c", "d"};
  CHECK(list_of(names) == "a, b\\x0A, c, d");
  CHECK(list_of(names, 2) == "a, b\\x0A, … and 2 more");
  CHECK(list_of(names, 4) == "a, b\\x0A, c, d");
  CHECK(list_of({}) == "nothing");
}

TEST_CASE("what a terminal would obey is shown as bytes") {
  CHECK(printable("größer 猫 😀") == "größer 猫 😀");
  CHECK(printable("a\tb\n\x1b[0m\x7f") == "a\\x09b\\x0A\\x1B[0m\\x7F");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\u0085\u009b") == "\\xC2\\x85\\xC2\\x9B");
  CHECK(printable("\u2028") == "\\xE2\\x80\\xA8");
  CHECK(printable("a\u202Eb") == "a\\xE2\\x80\\xAEb");  // right to left from here
  CHECK(printable("\u2066") == "\\xE2\\x81\\xA6");
  CHECK(printable("\u2029\u202F\u206A") == "\\xE2\\x80\\xA9\u202F\u206A");
}

TEST_CASE("broken UTF-8 is shown as bytes") {
  CHECK(printable("\xFF") == "\\xFF");
  CHECK(printable("a\xC3") == "a\\xC3");
  CHECK(printable("\xC0\x80") == "\\xC0\\x80");           // overlong
  CHECK(printable("\xE0\x80\x80") == "\\xE0\\x80\\x80");  // overlong
  CHECK(printable("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(printable("\xE7\x8C"
                  "x") == "\\xE7\\x8Cx");
}

TEST_CASE("standard input has a name") {
  CHECK(source_name("-") == "standard input");
  CHECK(source_name("w\n.bin") == "w\\x0A.bin");
}
