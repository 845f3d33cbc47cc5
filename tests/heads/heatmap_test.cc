#include "heads/heatmap.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/label.h"
#include "catch.h"
#include "files/names.h"
#include "heads/colour.h"
#include "heads/grid.h"

using namespace mha;

namespace {

HeatmapOptions plain(std::size_t columns) { return {Colours::none, columns, 0}; }
HeatmapOptions coloured(std::size_t columns) { return {Colours::truecolour, columns, 0}; }

MapGrid with_labels(MapGrid grid, std::vector<std::string> queries,
                    std::vector<std::string> keys) {
  grid.queries = std::move(queries);
  grid.keys = std::move(keys);
  return grid;
}

MapGrid with_labels(MapGrid grid, const std::vector<std::string>& tokens) {
  return with_labels(std::move(grid), tokens, tokens);
}

MapGrid cat() {
  return with_labels(grid_of({Rows{{1, 0, 0}, {.5F, .5F, 0}, {0, .75F, .25F}}}),
                     {"the", "cat", "slept"});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// How a terminal is told a colour.
std::string paint(const char* ground, Rgb colour) {
  return std::string("\x1b[") + ground + ";2;" + std::to_string(colour.red) + ";" +
         std::to_string(colour.green) + ";" + std::to_string(colour.blue) + "m";
}
std::string over(double share) { return paint("38", colour_of(share)); }
std::string under(double share) { return paint("48", colour_of(share)); }

// What is left to see of coloured text.
std::string without_escapes(std::string text) {
  for (std::size_t at; (at = text.find("\x1b[")) != text.npos;) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  return text;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(without_escapes(text))) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("a map is a line a query, shaded, with labels on both axes") {
  CHECK(heatmap(cat(), plain(80)) ==
        "      head 0\n"
        "           s\n"
        "           l\n"
        "       t c e\n"
        "       h a p\n"
        "       e t t\n"
        "  the │██    │\n"
        "  cat │▒▒▒▒  │\n"
        "slept │  ▓▓░░│\n"
        "\n"
        "      0  ░ 0.25  ▒ 0.50  ▓ 0.75  █ 1.00\n");
}

TEST_CASE("with all its colours a terminal gets the scale's") {
  const MapGrid grid = grid_of({Rows{{1, 0}, {0, 0}}});
  const std::string text = heatmap(grid, coloured(80));
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "  \x1b[1mhead 0\x1b[0m");
  CHECK(lines[1] == "  0 1");
  CHECK(lines[2] == "0 " + under(1) + "  " + under(0) + "  \x1b[0m");
  CHECK(lines[3] == "1 \x1b[48;2;128;128;128m    \x1b[0m");  // sees no key
  CHECK(lines[4].empty());
  CHECK(lines[5].starts_with("  0 " + under(0) + " "));
  CHECK(lines[5].ends_with(under(1) + " \x1b[0m 1.00"));
  CHECK(lines[6] == "  \x1b[48;2;128;128;128m  \x1b[0m sees no key");
}

TEST_CASE("with 256 colours a terminal gets the nearest of its palette") {
  const MapGrid grid = grid_of({Rows{{1, 0}, {0, 0}}});
  const std::vector<std::string> lines = lines_of(heatmap(grid, {Colours::palette, 80, 0}));
  REQUIRE(lines.size() == 7);
  CHECK(lines[2] == "0 \x1b[48;5;230m  \x1b[48;5;233m  \x1b[0m");
  CHECK(lines[3] == "1 \x1b[48;5;244m    \x1b[0m");
}

TEST_CASE("a query that sees no key has dots for a row") {
  CHECK(heatmap(grid_of({Rows{{0, 0}, {1, 0}}}), plain(80)) ==
        "  head 0\n"
        "   0 1\n"
        "0 │· · │\n"
        "1 │██  │\n"
        "\n"
        "  0  ░ 0.25  ▒ 0.50  ▓ 0.75  █ 1.00\n"
        "  · sees no key\n");
}

TEST_CASE("a map without any weight has no scale") {
  CHECK(heatmap(grid_of({Rows{{0, 0}}}), plain(80)) ==
        "  head 0\n"
        "   0 1\n"
        "0 │· · │\n"
        "\n"
        "  · sees no key\n");
}

TEST_CASE("heads stand side by side, with the queries' labels before the first") {
  MapGrid grid = with_labels(diagonal(3, 2), {"a", "b", "c"});
  grid.title = "maps.npy";
  CHECK(heatmap(grid, plain(80)) ==
        "maps.npy\n"
        "\n"
        "  head 0    head 1\n"
        "   a b c     a b c\n"
        "a │██    │  │██    │\n"
        "b │  ██  │  │  ██  │\n"
        "c │    ██│  │    ██│\n"
        "\n"
        "  0  ░ 0.25  ▒ 0.50  ▓ 0.75  █ 1.00\n");
}

TEST_CASE("a layer begins a line of its own, and what does not fit the next") {
  const std::vector<std::string> lines = lines_of(heatmap(diagonal(2, 3, 2), plain(40)));
  std::vector<std::string> names;
  for (const std::string& line : lines) {
    if (line.find("head") != line.npos) names.push_back(line);
  }
  CHECK(names ==
        std::vector<std::string>{"  layer 0, head 0  layer 0, head 1", "  layer 0, head 2",
                                 "  layer 1, head 0  layer 1, head 1", "  layer 1, head 2"});
}

TEST_CASE("one head of several layers flows over the line") {
  const std::vector<std::string> lines = lines_of(heatmap(diagonal(2, 1, 3), plain(80)));
  CHECK(lines[0] == "  layer 0, head 0  layer 1, head 0  layer 2, head 0");
}

TEST_CASE("where two columns a key do not fit side by side, one does") {
  const std::string text = heatmap(diagonal(12, 4), plain(80));
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines[0] == "   head 0          head 1          head 2          head 3");
  CHECK(lines[2] == "    012345678901    012345678901    012345678901    012345678901");
  CHECK(lines[3] == " 0 │█           │  │█           │  │█           │  │█           │");
  CHECK(lines[14] == "11 │           █│  │           █│  │           █│  │           █│");
  CHECK(lines_of(heatmap(diagonal(12, 4), plain(130)))[2].starts_with("    0 1 2 3 4 5"));
}

TEST_CASE(
    "over one column a key the letters of a label stand below each other, if each fits") {
  std::vector<std::string> tokens = {"a", "b", "c", "d", "e", "f",
                                     "g", "h", "i", "j", "k", "cat"};
  const auto drawn = [&] {
    return lines_of(heatmap(with_labels(diagonal(12, 4), tokens), plain(80)));
  };
  CHECK(drawn()[1].starts_with("                c     "));
  CHECK(drawn()[2].starts_with("                a     "));
  CHECK(drawn()[3].starts_with("     abcdefghijkt    abc"));
  tokens[1] = "猫";
  CHECK(drawn()[1].starts_with("  a │█  "));
}

TEST_CASE("what is wider than the terminal is drawn in blocks, and says so") {
  const std::string text = heatmap(diagonal(100), plain(60));
  CHECK(lines_of(text)[1].starts_with("    ╷0 ╷6 ╷12 ╷20 ╷28"));
  CHECK(lines_of(text)[2].starts_with(" 0 │█ "));
  CHECK(lines_of(text)[51].starts_with("98 │ "));
  CHECK(lines_of(text)[51].ends_with(" █│"));
  CHECK(text.ends_with("   a cell: the largest weight of 2 queries x 2 keys\n"));
  CHECK(text.find("1.00\n") != text.npos);
  CHECK(text.find("0  ░ 0.019  ▒ 0.14  ▓ 0.44  █ 1.00") != text.npos);
}

TEST_CASE("a long map in colour has two queries a line") {
  const std::string text = heatmap(diagonal(36), coloured(70));
  const std::vector<std::string> lines = lines_of(without_escapes(text));
  REQUIRE(lines.size() == 23);
  CHECK(lines[2].starts_with(" 0 ▀▀▀"));
  CHECK(lines[3].starts_with(" 2 ▀▀▀"));
  CHECK(lines[19].starts_with("34 ▀▀▀"));
  CHECK(lines[22] == "   a line: two queries, the upper one named");
  // Query 0 above looks at key 0, query 1 below at key 1.
  CHECK(lines_of(text)[2].starts_with(" 0 " + over(1) + under(0) + "▀" + over(0) + under(1) +
                                      "▀" + under(0) + "▀▀"));
}

TEST_CASE("the last of an odd number of queries has nothing below it") {
  MapGrid grid = grid_of({Rows(33, std::vector<float>(40, 0.025F))});
  const std::vector<std::string> lines = lines_of(heatmap(grid, coloured(60)));
  const std::string& last = lines.at(18);
  CHECK(last.starts_with("32 \x1b[38;2;"));
  CHECK(last.find("[48;") == last.npos);
}

TEST_CASE("no line is longer than the terminal") {
  const std::size_t n = GENERATE(1, 2, 7, 12, 30, 40, 100, 300);
  const std::size_t heads = GENERATE(1, 3, 12);
  const std::size_t columns = GENERATE(20, 33, 80, 200);
  const Colours colours = GENERATE(Colours::none, Colours::truecolour);
  const std::size_t top = GENERATE(0, 3);
  if (top > 0 && heads > 3) return;
  MapGrid grid = diagonal(n, heads, heads == 3 ? 2 : 1);
  for (std::string& query : grid.queries) query += " 猫 of a long name";
  for (std::string& key : grid.keys) key += " 猫 of a long name";
  grid.title = std::string(300, 't');
  INFO(n << " tokens, " << heads << " heads, " << columns << " columns, top " << top);
  std::string text = heatmap(grid, {colours, columns, top});
  // The legend is what it is.
  std::string kept;
  for (const std::string& line : lines_of(text)) {
    if (line.find("0  ░") == line.npos && line.find("a cell:") == line.npos &&
        line.find("a line:") == line.npos && line.find("\x1b[0m 1.00") == line.npos) {
      kept += line + "\n";
    }
  }
  CHECK(widest_line(kept) <= columns);
}

TEST_CASE("labels of two columns a character keep the map in place") {
  CHECK(heatmap(with_labels(diagonal(3), {"猫", "没有", "it"}), plain(80)) ==
        "     head 0\n"
        "        没i\n"
        "      猫有t\n"
        "  猫 │██    │\n"
        "没有 │  ██  │\n"
        "  it │    ██│\n"
        "\n"
        "     0  ░ 0.25  ▒ 0.50  ▓ 0.75  █ 1.00\n");
}

TEST_CASE("marks stay on their letters and long labels are cut") {
  const std::string text =
      heatmap(with_labels(diagonal(2), {"e\xCC\x81t", "a-very-long-token-name"}), plain(80));
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines[9] == "                  e\xCC\x81 o");
  CHECK(lines[10] == "                  t ⋮");
  CHECK(lines[11].starts_with("              e\xCC\x81t │"));
  CHECK(lines[12].starts_with("a-very-long-tok… │"));
}

TEST_CASE("labels cannot do anything to a terminal") {
  const std::string hostile =
      GENERATE(as<std::string>{}, "\x1b[31mred", "a\nb", "\x1b]0;title\x07",
               "\xC2\x9B"
               "31m",
               "\r\b\b", std::string("\0", 1), "\xFF\xFE");
  MapGrid grid = with_labels(diagonal(2, 2), {hostile, "it"});
  grid.title = hostile;
  grid.heads[0] = hostile;
  const std::size_t top = GENERATE(0, 2);
  const std::string text = heatmap(grid, {Colours::none, 80, top});
  CHECK(std::ranges::all_of(text, [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != '\x7F');
  }));
  CHECK(text.find("\xC2\x9B") == text.npos);
  MapGrid harmless = grid;
  harmless.title = harmless.heads[0] = harmless.queries[0] = harmless.keys[0] =
      printable(hostile);
  CHECK(text == heatmap(harmless, {Colours::none, 80, top}));
  // In colour, every escape is one of ours.
  const std::string colour = heatmap(grid, {Colours::truecolour, 80, top});
  CHECK(count(colour, "\x1b") ==
        count(colour, "\x1b[0m") + count(colour, "\x1b[1m") + count(colour, "\x1b[48;2;"));
}

TEST_CASE("the heaviest keys are named behind each query") {
  HeatmapOptions options = plain(80);
  options.top_keys = 2;
  CHECK(heatmap(cat(), options) ==
        "      head 0\n"
        "           s\n"
        "           l\n"
        "       t c e\n"
        "       h a p\n"
        "       e t t\n"
        "  the │██    │  the 1.00\n"
        "  cat │▒▒▒▒  │  the 0.50, cat 0.50\n"
        "slept │  ▓▓░░│  cat 0.75, slept 0.25\n"
        "\n"
        "      0  ░ 0.25  ▒ 0.50  ▓ 0.75  █ 1.00\n");
}

TEST_CASE("keys of no weight worth a number are not named") {
  HeatmapOptions options = plain(80);
  options.top_keys = 3;
  CHECK(heatmap(grid_of({Rows{{1, 0, 1e-9F}}}), options).find("  0 1.00\n") !=
        std::string::npos);
}

TEST_CASE("with the heaviest keys every head is drawn by itself, a line a query") {
  HeatmapOptions options = coloured(40);
  options.top_keys = 1;
  const std::string text = without_escapes(heatmap(diagonal(100, 2), options));
  CHECK(count(text, "head ") == 2);
  CHECK(count(text, "a cell: the largest weight of 4 keys\n") == 2);
  const std::vector<std::string> lines = lines_of(text);
  REQUIRE(lines.size() == 2 * 105 + 1);
  CHECK(lines[102 - 1].starts_with("99 "));
  CHECK(lines[102 - 1].ends_with("  99 1.00"));
}

TEST_CASE("more of the heaviest keys than there are is all of them") {
  HeatmapOptions options = plain(80);
  options.top_keys = 1'000'000'000'000;
  CHECK(heatmap(cat(), options).find("cat 0.75, slept 0.25\n") != std::string::npos);
}

TEST_CASE("maps of no queries or no keys are drawn as such") {
  MapGrid grid = diagonal(2);
  grid.map = [&grid](std::size_t, std::size_t) {
    return Tensor<float>::zeros({grid.queries.size(), grid.keys.size()});
  };
  const std::size_t top = GENERATE(0, 2);
  SECTION("no keys") {
    grid.keys.clear();
    CHECK(heatmap(grid, {Colours::none, 80, top}).find("head 0\n") != std::string::npos);
  }
  SECTION("no queries") {
    grid.queries.clear();
    CHECK(heatmap(grid, {Colours::truecolour, 80, top}).find("head 0") != std::string::npos);
  }
}

TEST_CASE("what the grid cannot read comes through") {
  MapGrid grid = diagonal(2);
  grid.map = [](std::size_t, std::size_t) -> Tensor<float> { throw std::runtime_error("no"); };
  CHECK_THROWS_WITH(heatmap(grid, plain(80)), "no");
}
