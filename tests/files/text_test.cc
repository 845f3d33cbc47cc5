#include "files/text.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "catch.h"
#include "support/error_of.h"

using namespace mha;

namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::string>;

struct Read {
  Shape shape;
  Numbers numbers;
  Labels labels;
};

Read read(const std::string& text) {
  const Archive archive = open_text(Bytes::own(text), "x.csv");
  REQUIRE(archive.members.size() == 1);
  const Member& member = archive.members[0];
  CHECK(member.name.empty());
  CHECK(member.dtype == DType::f64);
  Read read{member.shape, {}, {}};
  const Bytes bytes = member.fetch();
  read.numbers.resize(bytes.size() / sizeof(double));
  std::memcpy(read.numbers.data(), bytes.data(), bytes.size());
  CHECK(element_count(read.shape) == read.numbers.size());
  if (archive.lists.count("tokens") != 0) read.labels = archive.lists.at("tokens");
  return read;
}

std::string refusal(const std::string& text) {
  return error_of([&] { open_text(Bytes::own(text), "x.csv"); });
}

}  // namespace

TEST_CASE("commas, tabs and blanks split a row alike") {
  for (const char* text : {
           "1,2.5,-3\n4e-3,0,7\n",
           "1\t2.5\t-3\n4e-3\t0\t7",
           "1 2.5 -3\n4e-3 0 7\n",
           "  1 , 2.5,\t-3 \r\n4e-3,0 , 7\r\n\r\n",
           "1   2.5 \t -3\n4e-3 0 7\n\n\n",
           "\xEF\xBB\xBF\"1\",\"2.5\",-3\n4e-3,\" 0 \", \"7\" \n",
       }) {
    CAPTURE(text);
    const Read got = read(text);
    CHECK(got.shape == Shape{2, 3});
    CHECK(got.numbers == Numbers{1, 2.5, -3, 4e-3, 0, 7});
    CHECK(got.labels.empty());
  }
}

TEST_CASE("numbers come in all their spellings") {
  const Read got = read("+.5 1e-3 -1E+2 5. -0 nan inf -Infinity 1e-320");
  REQUIRE(got.shape == Shape{1, 9});
  CHECK(got.numbers[0] == 0.5);
  CHECK(got.numbers[1] == 1e-3);
  CHECK(got.numbers[2] == -100);
  CHECK(got.numbers[3] == 5);
  CHECK(std::signbit(got.numbers[4]));
  CHECK(std::isnan(got.numbers[5]));
  CHECK(got.numbers[6] == INFINITY);
  CHECK(got.numbers[7] == -INFINITY);
  CHECK(got.numbers[8] == 1e-320);
}

TEST_CASE("a number too small for a double is read as 0, as numpy does") {
  const Numbers numbers = read("1e-400,-1e-400,4e-324,1e-310\n").numbers;
  CHECK(numbers == Numbers{0.0, 0.0, 4e-324, 1e-310});
  CHECK(std::signbit(numbers[1]));
  CHECK(refusal("1,1e400\n").find("beyond what a double holds") != std::string::npos);
}

TEST_CASE("comments are passed over and part nothing") {
  const Read got = read("# two tokens\n1,2 # first\n# between\n3,4\n#end");
  CHECK(got.shape == Shape{2, 2});
  CHECK(got.numbers == Numbers{1, 2, 3, 4});
}

TEST_CASE("blank lines part the sequences of a batch, however many they are") {
  const Read got = read("\n\n1 2\n3 4\n \n\n5 6\n# note\n7 8\n\n9 10\n11 12\n\n\n");
  CHECK(got.shape == Shape{3, 2, 2});
  CHECK(got.numbers == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(
      refusal("1 2\n3 4\n\n5 6\n") ==
      "x.csv: the sequence at line 4 has 1 rows, the one at line 1 has 2 (a blank line begins "
      "a new sequence)");
}

TEST_CASE("a first line of names is no row") {
  CHECK(read("a,b\n1,2\n").numbers == Numbers{1, 2});
  CHECK(read("\"d 0\" \"d 1\"\n1 2\n3 4\n").shape == Shape{2, 2});
  CHECK(read("x\n1\n2\n").shape == Shape{2, 1});
  const Read labelled = read("token,d0,d1\nthe,1,2\ncat,3,4\n");
  CHECK(labelled.numbers == Numbers{1, 2, 3, 4});
  CHECK(labelled.labels == Labels{"the", "cat"});
  CHECK(read("d0 d1\nthe 1 2\ncat 3 4\n").labels == Labels{"the", "cat"});
  CHECK(read(",d0,d1\nthe,1,2\n").labels == Labels{"the"});
  // As pandas writes a frame without names.
  const Read frame = read(",0,1\n0,0.5,2\n1,3,4\n");
  CHECK(frame.numbers == Numbers{0.5, 2, 3, 4});
  CHECK(frame.labels == Labels{"0", "1"});
  CHECK(read(",0,1\nthe,0.5,2\n").numbers == Numbers{0.5, 2});
  CHECK(read(",0.5,1\nthe,0.5,2\n").labels == Labels{"", "the"});
  CHECK(refusal("my vectors\n1 2 3\n") ==
        "x.csv: the header has 2 names, line 2 has 3 numbers");
  CHECK(refusal("a,b\n") ==
        "x.csv: line 1, column 2: \"b\" is no number; a line holds the numbers of one token, "
        "not words");
  CHECK(refusal("the cat sat\n")
            .ends_with("\"cat\" is no number; a line holds the numbers of "
                       "one token, not words"));
}

TEST_CASE("a first column of words labels the tokens") {
  const Read got = read("the 1 2\n\"it's \"\"it\"\"\" 3 4\n\n3 5 6\n, 7 8\n");
  CHECK(got.shape == Shape{2, 2, 2});
  CHECK(got.numbers == Numbers{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(got.labels == Labels{"the", "it's \"it\"", "3", ","});
  CHECK(read(", 1 2\nand 3 4\n").labels == Labels{",", "and"});
  CHECK(read("\" 1 2\nand 3 4\n").labels == Labels{"\"", "and"});
  CHECK(read("New York\t1\t2\nBern\t3\t4\n").labels == Labels{"New York", "Bern"});
  CHECK(read("\"the, cat\",1,2\nsat,3,4\n").labels == Labels{"the, cat", "sat"});
  CHECK(refusal("the\ncat\n") == "x.csv: line 1 has a label and no numbers");
}

TEST_CASE("bad cells are named by line and column") {
  CHECK(refusal("1,2\n3,abc\n") == "x.csv: line 2, column 2: \"abc\" is no number");
  CHECK(refusal("1,2\nx,4\n") == "x.csv: line 2, column 1: \"x\" is no number");
  CHECK(refusal("# c\n\n1,abc,3\n") == "x.csv: line 3, column 2: \"abc\" is no number");
  CHECK(refusal("1,2,3\n4,,6\n") == "x.csv: line 2, column 2: an empty cell is no number");
  CHECK(refusal("1,2,\n3,4,5\n") == "x.csv: line 1, column 3: an empty cell is no number");
  CHECK(refusal("1 1e999\n") ==
        "x.csv: line 1, column 2: \"1e999\" is beyond what a double holds");
  CHECK(refusal("1, 2 3\n4, 5 6\n") == "x.csv: line 1, column 2: \"2 3\" is no number");
  CHECK(refusal("1 2\n0x10 1\n") == "x.csv: line 2, column 1: \"0x10\" is no number");
  CHECK(refusal("1 2\n+-1 1.0.0\n") == "x.csv: line 2, column 1: \"+-1\" is no number");
  CHECK(refusal("1 2\n1 1,5\n") == "x.csv: line 2, column 2: \"1,5\" is no number");
  const std::string long_cell = refusal("1 2\n1 " + std::string(1000, 'z'));
  CHECK(long_cell.size() < 120);
}

TEST_CASE("ragged rows are refused with both lengths and lines") {
  CHECK(refusal("1,2,3\n4,5\n") == "x.csv: line 2 has 2 numbers, line 1 has 3");
  CHECK(refusal("the 1 2\ncat 3 4 5\n") == "x.csv: line 2 has 3 numbers, line 1 has 2");
  CHECK(refusal("1 2\n\n3\n") == "x.csv: line 3 has 1 number, line 1 has 2");
}

TEST_CASE("text without rows is refused") {
  CHECK(refusal("") == "x.csv: no rows of numbers");
  CHECK(refusal("# only\n\n") == "x.csv: no rows of numbers");
  CHECK(refusal(std::string("\xFF\xFE"
                            "1\0",
                            4)) == "x.csv: UTF-16 text, expected UTF-8");
}

TEST_CASE("one wide row does not make the many short ones after it costly") {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "1 ";
  for (int i = 0; i < 200'000; ++i) text += "\n1";
  CHECK(refusal(text) == "x.csv: line 2 has 1 number, line 1 has 200000");
}
