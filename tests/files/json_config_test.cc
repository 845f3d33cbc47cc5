#include "catch.h"
#include "files/json.h"
#include "support/error_of.h"

using namespace mha;
using Kind = ConfigEntry::Kind;

namespace {

std::vector<ConfigEntry> parse(const std::string& text) {
  return parse_config(Bytes::own(text), "config.json");
}
std::string parse_error(const std::string& text) {
  return error_of([&] { parse(text); });
}

// "key=value" a line.
std::string flat(const std::string& text) {
  std::string lines;
  for (const ConfigEntry& entry : parse(text)) lines += entry.key + "=" + entry.value + "\n";
  return lines;
}

}  // namespace

TEST_CASE("a config is its settings by dotted keys, as they read") {
  CHECK(flat(R"({"hidden_size": 768, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
                 "rope_scaling": {"type": "linear", "factor": 2.0}, "tie": false,
                 "text_config": {"a": {"b": null}, "n": -1}, "big": 18446744073709551615})") ==
        "hidden_size=768\nlayer_norm_eps=1e-12\nhidden_act=gelu\nrope_scaling.type=linear\n"
        "rope_scaling.factor=2.0\ntie=false\ntext_config.a.b=null\ntext_config.n=-1\n"
        "big=18446744073709551615\n");
  const auto entries = parse(
      R"({"null": null, "true": true, "one": 1, "text": "null", "list": [], "object": {}})");
  std::vector<Kind> kinds;
  for (const ConfigEntry& entry : entries) kinds.push_back(entry.kind);
  CHECK(kinds == std::vector<Kind>{Kind::null, Kind::boolean, Kind::number, Kind::string,
                                   Kind::list, Kind::object});
  CHECK(entries[5].value == "{}");
  CHECK(parse("{}").empty());
  CHECK(flat("\xEF\xBB\xBF{\"a\": \"\\u00e9\\n\"}") == "a=é\n\n");
}

TEST_CASE("a list of a config may hold anything") {
  const auto entries = parse(
      R"({"a": [1, "x\"\n", null, [["y"], []], {"k": [true, {}], "l": 2}], "b": ["p", "q"], "c": []})");
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].value ==
        R"([1, "x\"\u000a", null, [["y"], []], {"k": [true, {}], "l": 2}])");
  CHECK(entries[0].items == std::vector<std::string>{"1", "x\"\n", "null", R"([["y"], []])",
                                                     R"({"k": [true, {}], "l": 2})"});
  CHECK(entries[1].key == "b");
  CHECK(entries[1].value == R"(["p", "q"])");
  CHECK(entries[1].items == std::vector<std::string>{"p", "q"});
  CHECK(entries[2].value == "[]");
  CHECK(entries[2].items.empty());
}

TEST_CASE("what is no config is refused with its place") {
  CHECK(
      parse_error("{\"a\": 1,\n \"b\" 2}") ==
      "config.json: line 2, column 6: not JSON: unexpected number literal; expected ':' at 2");
  CHECK(parse_error(" ") == "config.json: empty, expected JSON");
  CHECK(parse_error("[1]") == "config.json: is a list, expected an object of settings");
  CHECK(parse_error("7") == "config.json: is 7, expected an object of settings");
  CHECK(parse_error("\"a\"") == "config.json: is a string, expected an object of settings");
  CHECK(parse_error(R"({"a": {"b": 1, "b": 2}})") == "config.json: a.b is given twice");
  CHECK(parse_error(R"({"a": {"b": 1}, "b": 2})") == "no error");
}

TEST_CASE("a config as deep or as large as no model's is refused before it costs anything") {
  std::string deep = "{\"a\": ";
  for (int i = 0; i < 62; ++i) deep += i % 2 == 0 ? "[" : "{\"b\": ";
  std::string closed = deep + "[1]";
  for (int i = 61; i >= 0; --i) closed += i % 2 == 0 ? "]" : "}";
  CHECK(parse_error(closed + "}") == "no error");
  CHECK(parse_error(deep + "[[1]]") == "config.json: a is nested more than 64 levels deep");
  std::string endless;
  for (int i = 0; i < 100'000; ++i) endless += "{\"b\":";
  CHECK(parse_error(endless) == "config.json: b is nested more than 64 levels deep");
  // 100 kB of key in front of each of 1000 settings.
  std::string repeated = "{\"" + std::string(100'000, 'k') + "\": {";
  for (int i = 0; i < 1000; ++i) repeated += "\"" + std::to_string(i) + "\": 1,";
  repeated.back() = '}';
  CHECK(parse_error(repeated + "}") ==
        "config.json: has more than 67.1 MB of settings, which is no model's config");
}
