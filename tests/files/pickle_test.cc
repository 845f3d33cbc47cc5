#include "files/pickle.h"

#include "catch.h"
#include "files/crafted_pickle.h"
#include "support/error_of.h"

using namespace mha;
using namespace std::string_literals;
using Kind = PickleValue::Kind;

namespace {

Pickle parse(const std::string& content) {
  return read_pickle(Bytes::own(content), "w: data.pkl");
}
std::string parse_error(const std::string& content) {
  return error_of([&] { parse(content); });
}

// A value as Python prints it, more or less.
std::string shown(const Pickle& pickle, std::uint32_t index) {
  const PickleValue& value = pickle[index];
  const auto all = [&](const std::string& open, const std::string& close) {
    std::string text = open;
    const bool pairs = value.kind == Kind::dict || value.kind == Kind::call;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      if (i > 0) text += pairs && i % 2 == 1 ? ": " : ", ";
      text += shown(pickle, value.items[i]);
    }
    return text + close;
  };
  switch (value.kind) {
    case Kind::none: return "None";
    case Kind::boolean: return value.integer == 1 ? "True" : "False";
    case Kind::integer: return std::to_string(value.integer);
    case Kind::large_integer: return "large";
    case Kind::real: return "real";
    case Kind::text: return "'" + std::string(value.text) + "'";
    case Kind::bytes: return "b'" + std::string(value.text) + "'";
    case Kind::tuple: return all("(", ")");
    case Kind::list: return all("[", "]");
    case Kind::set: return all("{", "}");
    case Kind::dict: return all("{", "}");
    case Kind::name: return std::string(value.text);
    case Kind::persistent: return all("<", ">");
    case Kind::call: break;
  }
  std::string text = shown(pickle, value.callee) + shown(pickle, value.arguments);
  if (value.state != 0) text += " with " + shown(pickle, value.state);
  return value.items.empty() ? text : text + " of " + all("{", "}");
}
std::string shown(const std::string& value) {
  const Pickle pickle = parse("\x80\x02" + value + ".");
  return shown(pickle, pickle.root);
}

}  // namespace

TEST_CASE("numbers, texts and constants are what the opcodes say") {
  CHECK(shown("N") == "None");
  CHECK(shown("\x88") == "True");
  CHECK(shown("\x89") == "False");
  CHECK(shown("K\xFF") == "255");
  CHECK(shown("M\x01\xFF") == "65281");
  CHECK(shown("J\xFE\xFF\xFF\xFF") == "-2");
  CHECK(shown("\x8a\x00"s) == "0");
  CHECK(shown("\x8a\x01\x80") == "-128");
  CHECK(shown("\x8a\x02\xFF\x00"s) == "255");
  CHECK(shown("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s) == "-9223372036854775808");
  CHECK(shown("\x8a\x09" + std::string(9, '\1')) == "large");
  CHECK(shown("\x8b\x01\x00\x00\x00\x7F"s) == "127");
  CHECK(shown("G" + std::string(8, '\0')) == "real");
  CHECK(shown(pk::text("größe")) == "'größe'");
  CHECK(shown("\x8c\x01"s + "a") == "'a'");
  CHECK(shown("\x8d\x01"s + std::string(7, '\0') + "a") == "'a'");
  CHECK(shown("U\x02"s + "ab") == "'ab'");
  CHECK(shown("T" + little(2, 4) + "ab") == "'ab'");
  CHECK(shown("C\x01z") == "b'z'");
  CHECK(shown("B" + little(1, 4) + "z") == "b'z'");
  CHECK(shown("\x8e" + little(1, 8) + "z") == "b'z'");
  CHECK(shown("\x96" + little(1, 8) + "z") == "b'z'");
}

TEST_CASE("tuples, lists, sets and dicts are built as on Python's stack") {
  CHECK(shown(")") == "()");
  CHECK(shown("K\x01K\x02K\x03\x87") == "(1, 2, 3)");
  CHECK(shown("K\x01K\x02\x86") == "(1, 2)");
  CHECK(shown("K\x01\x85") == "(1)");
  CHECK(shown("(K\x01(K\x02tt") == "(1, (2))");
  CHECK(shown("]K\x01"s + "a(K\x02K\x03"s + "e") == "[1, 2, 3]");
  CHECK(shown("(K\x01l") == "[1]");
  CHECK(shown("}K\x01K\x02s(K\x03K\x04u") == "{1: 2, 3: 4}");
  CHECK(shown("(K\x01K\x02"s + "d") == "{1: 2}");
  CHECK(shown("\x8f(K\x01\x90") == "{1}");
  CHECK(shown("(K\x01\x91") == "{1}");
  CHECK(shown("K\x01K\x02" + "0"s) == "1");
  CHECK(shown("K\x01(0") == "1");
  CHECK(shown("K\x01(K\x02K\x03" + "1"s) == "1");
  CHECK(shown("K\x01" + "2\x86"s) == "(1, 1)");
}

TEST_CASE("what is remembered is recalled, one value under many names") {
  CHECK(shown("K\x07q\x00K\x08r\x01\x00\x00\x00h\x00j\x01\x00\x00\x00\x86"s) == "(7, 8)");
  CHECK(shown("K\x07\x94K\x08\x94h\x00h\x01\x86"s) == "(7, 8)");
  const Pickle pickle = parse("\x80\x04]\x94h\x00\x86."s);
  const auto& items = pickle[pickle.root].items;
  CHECK(items.at(0) == items.at(1));
}

TEST_CASE("names are names, calls are values that say what would be called") {
  CHECK(shown(pk::name("os", "system")) == "os.system");
  CHECK(shown("\x8c\x02os\x8c\x06system\x93") == "os.system");
  CHECK(shown(pk::call(pk::name("os", "system"), {pk::text("touch /tmp/x")})) ==
        "os.system('touch /tmp/x')");
  CHECK(shown(pk::name("m", "C") + ")\x81}K\x01K\x02sb") == "m.C() with {1: 2}");
  CHECK(shown(pk::name("m", "C") + ")}\x92") == "m.C()");
  CHECK(shown(pk::name("m", "D") + ")R(K\x01K\x02u") == "m.D() of {1: 2}");
  CHECK(shown(pk::name("m", "L") + ")R(K\x01"s + "e") == "m.L()");
  CHECK(shown("K\x07Q") == "<7>");
  const Pickle pickle = parse("\x80\x02" + pk::name("m", "C") + pk::name("m", "C") + "\x86.");
  CHECK(pickle[pickle.root].items.at(0) == pickle[pickle.root].items.at(1));
}

TEST_CASE("pickles may follow one another") {
  const Bytes two = Bytes::own("\x80\x02K\x01.\x80\x02K\x02.rest");
  const Pickle first = read_pickle(two, "w");
  CHECK(first[first.root].integer == 1);
  const Pickle second = read_pickle(two, "w", first.end);
  CHECK(second[second.root].integer == 2);
  CHECK(two.text().substr(second.end) == "rest");
}

TEST_CASE("a value is described by its type, a call by what would be called") {
  const auto description = [](const std::string& value) {
    const Pickle pickle = parse(value + ".");
    return describe(pickle, pickle.root);
  };
  CHECK(description("N") == "None");
  CHECK(description("G" + std::string(8, '\0')) == "float");
  CHECK(description("\x8a\x09" + std::string(9, '\1')) == "int");
  CHECK(description("}") == "dict");
  CHECK(description(pk::name("m", "C\x1b")) == "m.C\\x1B");
  CHECK(description(pk::name("m", "C") + ")R)R") == "m.C");
  CHECK(description(pk::storage("FloatStorage", "0", 1)) == "torch.FloatStorage");
  CHECK(description("NQ") == "object outside the pickle");
}

TEST_CASE("a damaged pickle is refused with the byte of the opcode") {
  const auto at = [](int byte) { return "w: data.pkl, byte " + std::to_string(byte) + ": "; };
  CHECK(parse_error("") == at(0) + "1 bytes expected, 0 are left");
  CHECK(parse_error("\x80\x06N.") == at(0) + "protocol 6, expected at most 5");
  CHECK(parse_error("\x80\x02I1\n.") ==
        at(2) + "opcode 0x49 is unknown, expected those that torch.save writes");
  CHECK(parse_error("N\xFF") ==
        at(1) + "opcode 0xff is unknown, expected those that torch.save writes");
  CHECK(parse_error("X\xFF\xFF\xFF\xFF"
                    "a") == at(0) + "4294967295 bytes expected, 1 are left");
  CHECK(parse_error("\x8d" + std::string(8, '\xFF')) ==
        at(0) + "18446744073709551615 bytes expected, 0 are left");
  CHECK(parse_error("\x95" + little(9, 8) + "N.") ==
        at(0) + "a frame that reaches past the end");
  CHECK(parse_error("cos\nsystem") == at(0) + "a name without an end");
  CHECK(parse_error("K\x01K\x02\x93") == at(4) + "a name that is no text");
  CHECK(parse_error("h\x05.") == at(0) + "recalls 5, which was never remembered");
  CHECK(parse_error("Nq\x05h\x04.") == at(3) + "recalls 4, which was never remembered");
  CHECK(parse_error("Nr\xFF\xFF\xFF\xFF.") == at(1) + "remembers under 4294967295, too large");
  CHECK(parse_error("t.") == at(0) + "needs a mark on the stack, there is none");
  CHECK(parse_error("](K\x01u.") == at(4) + "a key without a value");
  CHECK(parse_error(")(NNu.") == at(4) + "adds to a tuple");
  CHECK(parse_error("}Na.") == at(2) + "adds to a dict");
  CHECK(parse_error("]}b.") == at(2) + "gives state to a list");
  // Below the mark lies what is not ours to take.
  CHECK(parse_error("N(.") == at(2) + "needs 1 values on the stack, there are 0");
  CHECK(parse_error("N(\x85.") == at(2) + "needs 1 values on the stack, there are 0");
}

TEST_CASE("no opcode takes what is not on the stack") {
  // Whatever an opcode reads after it is there: texts and names of length 0.
  const std::string operand = std::string(8, '\0') + "\n\n";
  const std::string takers =
      "\x85\x86\x87tldaesu\x90\x91"
      "012q\x94R\x81\x92"
      "bQ.\x93";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string opcode(1, static_cast<char>(byte));
    INFO("opcode " << byte);
    const std::string error = parse_error(opcode + operand);
    CHECK(error.starts_with("w: data.pkl, byte "));
    if (takers.find(opcode) == takers.npos) continue;
    CHECK(error.find("byte 0: needs ") != error.npos);
    // Nor with one value too few.
    CHECK(parse_error("(" + opcode + operand).starts_with("w: data.pkl, byte "));
    if (opcode == ".") continue;  // which one value is enough for
    CHECK(parse_error("N(N" + opcode + operand).starts_with("w: data.pkl, byte "));
  }
}

TEST_CASE("more values than any checkpoint has are refused") {
  constexpr std::size_t kMost = std::size_t{1} << 21;
  const std::string error = "more than 2097152 values, which no checkpoint has";
  CHECK(parse_error(std::string(kMost, ')')).ends_with(error));
  CHECK(parse_error(std::string(kMost + 1, 'N')).ends_with(error));
  CHECK(parse_error(std::string(kMost + 1, '(')).ends_with(error));
}
