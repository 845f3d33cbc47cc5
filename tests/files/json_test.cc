#include "files/json.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "catch.h"
#include "support/error_of.h"

using namespace mha;
using Kind = JsonNode::Kind;

namespace {

JsonNode parse(const std::string& text) { return parse_json(Bytes::own(text), "x.json"); }
Archive archive_of(const std::string& text) { return open_json(Bytes::own(text), "x.json"); }

std::string parse_error(const std::string& text) {
  return error_of([&] { parse(text); });
}
std::string archive_error(const std::string& text) {
  return error_of([&] { archive_of(text); });
}

std::vector<double> doubles_of(const Member& member) {
  const Bytes bytes = member.fetch();
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("lists of numbers become one node with a shape") {
  const JsonNode node = parse("[[1, 2.5, -3], [4e-3, 0, -0.0]]");
  CHECK(node.kind == Kind::numbers);
  CHECK(node.shape == Shape{2, 3});
  CHECK(node.numbers == std::vector<double>{1, 2.5, -3, 4e-3, 0, 0});
  CHECK(std::signbit(node.numbers[5]));
  CHECK(parse("[]").shape == Shape{0});
  CHECK(parse("[[], []]").shape == Shape{2, 0});
  CHECK(parse("[[[1], [2]]]").shape == Shape{1, 2, 1});
}

TEST_CASE("numbers are the nearest doubles") {
  const JsonNode node = parse("[0.1, 1e-320, 1.7976931348623157e308, 9007199254740993, 1e22]");
  CHECK(node.numbers ==
        std::vector<double>{0.1, 1e-320, 1.7976931348623157e308, 9007199254740992.0, 1e22});
}

TEST_CASE("whole numbers are told from fractions, negatives and what a double cannot hold") {
  CHECK(parse("[0, 24]").naturals() == Shape{0, 24});
  CHECK(parse("[9007199254740992]").naturals() == Shape{9007199254740992});
  CHECK(parse("[]").naturals() == Shape{});
  CHECK_FALSE(parse("[0, 24.0]").naturals());
  CHECK_FALSE(parse("[0, 1.5]").naturals());
  CHECK_FALSE(parse("[-1, 3]").naturals());
  CHECK_FALSE(parse("[9223372036854775808]").naturals());
  CHECK_FALSE(parse("[99999999999999999999]").naturals());
  CHECK_FALSE(parse("[[1], [2]]").naturals());
  CHECK_FALSE(parse("[true]").naturals());
  CHECK(parse("7").natural);
  CHECK_FALSE(parse("7.5").natural);
}

TEST_CASE("objects keep their order and values their kind") {
  const JsonNode node = parse(
      "\xEF\xBB\xBF{\"b\": \"t\\u00e9xt\", \"a\": {\"n\": 2}, \"c\": [\"x\", \"y\"], "
      "\"d\": [{\"e\": true}, {}], \"f\": [[true, false]], \"g\": null, \"h\": 0.50}");
  CHECK(node.keys == std::vector<std::string>{"b", "a", "c", "d", "f", "g", "h"});
  CHECK(node.find("b")->text == "t\xC3\xA9xt");
  CHECK(node.find("a")->find("n")->text == "2");
  CHECK(node.find("c")->strings == std::vector<std::string>{"x", "y"});
  CHECK(node.find("d")->kind == Kind::objects);
  CHECK(node.find("d")->children.size() == 2);
  CHECK(node.find("d")->children[0].find("e")->kind == Kind::boolean);
  CHECK(node.find("f")->kind == Kind::booleans);
  CHECK(node.find("f")->numbers == std::vector<double>{1, 0});
  CHECK(node.find("g")->kind == Kind::null);
  CHECK(node.find("h")->text == "0.50");
  CHECK(node.find("z") == nullptr);
}

TEST_CASE("what is not JSON is named with line and column") {
  CHECK(parse_error("{\"a\": 1,\n \"b\": NaN}") ==
        "x.json: line 2, column 7: NaN is no JSON number");
  CHECK(parse_error("[1, -Infinity]") ==
        "x.json: line 1, column 5: -Infinity is no JSON number");
  CHECK(parse_error("[1,\n2,\n 1e999]") ==
        "x.json: line 3, column 6: the number 1e999 is too large for a double");
  CHECK(parse_error("[1 2]") ==
        "x.json: line 1, column 4: not JSON: unexpected number literal; expected ']' at 2");
  CHECK(parse_error("[1, 2") == "x.json: line 1, column 6: the JSON ends too early");
  CHECK(parse_error("{\"a\": tru}") ==
        "x.json: line 1, column 7: not JSON: invalid literal at tru");
  CHECK(parse_error("[1] [2]").find("x.json: line 1, column 5: not JSON: ") == 0);
  CHECK(parse_error("{\"a\": \"\xFF\"}").find("x.json: line 1, column 8: not JSON: ") == 0);
  CHECK(parse_error("  \n ") == "x.json: empty, expected JSON");
  CHECK(parse_error("") == "x.json: empty, expected JSON");
}

TEST_CASE("ragged and mixed lists are refused by the cell's name") {
  CHECK(parse_error("{\"W_Q\": [[1, 2, 3, 4], [1, 2, 3]]}") ==
        "x.json: W_Q[1] has 3 numbers, W_Q[0] has 4");
  CHECK(parse_error("{\"W_Q\": [[[1], [2]], [[3]]]}") ==
        "x.json: W_Q[1] has 1 lists, W_Q[0] has 2");
  CHECK(parse_error("{\"heads\": [{}, {\"W_Q\": [[1, 2], [1, 2, 3]]}]}") ==
        "x.json: heads[1].W_Q[1] has 3 numbers, heads[1].W_Q[0] has 2");
  CHECK(parse_error("{\"W_Q\": [[1, 2], [1, 2], [1, null]]}") ==
        "x.json: W_Q[2][1] is null, expected a number like the cells before it");
  CHECK(parse_error("{\"W_Q\": [[1, 2], [\"a\", 2]]}") ==
        "x.json: W_Q[1][0] is \"a\", expected a number like the cells before it");
  CHECK(parse_error("[[null]]") == "x.json: [0][0] is null, expected a number");
  CHECK(parse_error("[[1, true]]") ==
        "x.json: [0][1] is true, expected a number like the cells before it");
  CHECK(parse_error("[[true, 1]]") ==
        "x.json: [0][1] is a number, expected true or false like the cells before it");
  CHECK(parse_error("[[1, 2], 3]") == "x.json: [1] is a number, expected a list like [0]");
  CHECK(parse_error("[1, [2]]") ==
        "x.json: [1] is a list, expected a number like the cells before it");
  CHECK(parse_error("[[[1]], []]") == "x.json: [1] is empty, expected a list like [0]");
  CHECK(parse_error("[[], [1]]") == "x.json: [1] has 1 numbers, [0] has 0");
  CHECK(parse_error("[[], [[1]]]") == "x.json: [1][0] is a list, expected a number");
  CHECK(parse_error("[\"a\", 1]") ==
        "x.json: [1] is a number, expected a string like those before it");
  CHECK(parse_error("[1, {}]") ==
        "x.json: [1] is an object, expected a number like the cells before it");
  CHECK(parse_error("[{}, 1]") ==
        "x.json: [1] is a number, expected an object like those before it");
  CHECK(parse_error("[{}, [1]]") ==
        "x.json: [1] is a list, expected an object like those before it");
}

TEST_CASE("a key given twice is refused by its name") {
  CHECK(parse_error("{\"W_Q\": [1], \"W_Q\": [2]}") == "x.json: W_Q is given twice");
  CHECK(parse_error("{\"heads\": [{}, {\"b\": 1, \"b\": 1}]}") ==
        "x.json: heads[1].b is given twice");
  CHECK(archive_error("{\"heads[0].W_Q\": [1], \"heads\": [{\"W_Q\": [1]}]}") ==
        "x.json: heads[0].W_Q is given twice");
}

TEST_CASE("depth has a limit, however the levels are made") {
  CHECK(parse(std::string(16, '[') + std::string(16, ']')).shape.size() == 16);
  CHECK(parse_error(std::string(17, '[')) == "x.json: nested more than 16 levels deep");
  CHECK(parse_error(std::string(1'000'000, '[')) == "x.json: nested more than 16 levels deep");
  std::string objects;
  for (int i = 0; i < 17; ++i) objects += "{\"a\":";
  CHECK(parse_error(objects).find("a.a.a is nested more than 16 levels deep") !=
        std::string::npos);
}

TEST_CASE("a JSON file offers its lists as members and its scalars as settings") {
  const Archive archive = archive_of(
      "{\"n_heads\": 2, \"causal\": true, \"scale\": 0.5, \"norm\": \"pre\", \"tokens\": "
      "[\"a\"],"
      " \"heads\": [{\"W_Q\": [[1, 2]]}, {\"W_Q\": [[3, 4]]}], \"mask\": [true, false]}");
  CHECK(archive.container == "JSON");
  CHECK(archive.settings ==
        std::map<std::string, std::string>{
            {"n_heads", "2"}, {"causal", "true"}, {"scale", "0.5"}, {"norm", "pre"}});
  CHECK(archive.lists.at("tokens") == std::vector<std::string>{"a"});
  REQUIRE(archive.members.size() == 3);
  CHECK(archive.members[0].name == "heads[0].W_Q");
  CHECK(archive.members[1].name == "heads[1].W_Q");
  CHECK(archive.members[1].dtype == DType::f64);
  CHECK(archive.members[1].shape == Shape{1, 2});
  CHECK(doubles_of(archive.members[1]) == std::vector<double>{3, 4});
  CHECK(archive.members[2].dtype == DType::boolean);
  CHECK(archive.members[2].fetch().text() == std::string_view("\1\0", 2));
}

TEST_CASE("a bare list is the one nameless member") {
  const Archive archive = archive_of("[[1, 2], [3, 4]]");
  REQUIRE(archive.members.size() == 1);
  CHECK(archive.members[0].name.empty());
  CHECK(archive.members[0].shape == Shape{2, 2});
}

TEST_CASE("what is neither tensor nor setting is refused by name") {
  CHECK(archive_error("{\"b_Q\": null}") ==
        "x.json: b_Q is null, expected numbers or a setting");
  CHECK(archive_error("{\"model\": {\"W_Q\": [1]}}") ==
        "x.json: model is an object, expected numbers, a list of objects or a setting");
  CHECK(
      archive_error("{\"heads\": [{\"scale\": 2}]}").find("x.json: heads[0].scale is \"2\"") ==
      0);
  CHECK(archive_error("{\"heads\": [{\"names\": [\"a\"]}]}") ==
        "x.json: heads[0].names is a list of strings, expected numbers");
  CHECK(archive_error("3") ==
        "x.json: expected an object of tensors or a list of numbers at the top");
}
