#include "catch.h"
#include "cli/workspace.h"

using namespace mha;

namespace {

// A folder with maps.npy, [2, 3, 3], of RAMP, and mha-maps on the PATH.
class MapsFolder : public Workspace {
 public:
  MapsFolder() { ramp({"-o", "y.npy", "--maps", "maps.npy"}); }
  Outcome maps(const std::string& arguments) const { return shell("mha-maps " + arguments); }
};

}  // namespace

TEST_CASE("mha-maps show draws a head through a pipe in shades") {
  const MapsFolder folder;
  const Outcome outcome = folder.maps("show maps.npy --head 0 --labels it,was,tired | cat");
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out ==
        "maps.npy\n"
        "\n"
        "      head 0\n"
        "           t\n"
        "           i\n"
        "         w r\n"
        "       i a e\n"
        "       t s d\n"
        "   it │▓▓▓▓▓▓│\n"
        "  was │██▓▓▓▓│\n"
        "tired │██▓▓▓▓│\n"
        "\n"
        "      0  ░ 0.11  ▒ 0.21  ▓ 0.32  █ 0.42\n");
}

TEST_CASE("a count below zero is refused, not taken for a large one") {
  const MapsFolder folder;
  for (const char* option : {"--width", "--top", "--item"}) {
    const Outcome outcome = folder.maps(std::string("show maps.npy ") + option + " -1");
    CHECK(outcome.status == 2);
    CHECK(has_text(outcome.err, std::string(option) + ": -1 is not a number from 0"));
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("mha-maps show draws in the colours that are asked for") {
  const MapsFolder folder;
  CHECK(has_text(folder.maps("show maps.npy --color truecolor").out, "\x1b[48;2;"));
  CHECK(has_text(folder.maps("show maps.npy --color 256").out, "\x1b[48;5;"));
  CHECK(!has_text(folder.maps("show maps.npy --color never").out, "\x1b"));
  CHECK(!has_text(folder.maps("show maps.npy").out, "\x1b"));
}

TEST_CASE("mha-maps show names the heaviest keys") {
  const MapsFolder folder;
  const Outcome outcome = folder.maps("show maps.npy --top 1 --labels it,was,tired");
  CHECK(outcome.status == 0);
  CHECK(has_text(outcome.out, "│  it 0.42\n"));
  CHECK(has_text(outcome.out, "head 1\n"));
}

TEST_CASE("mha-maps show keeps to a width") {
  const MapsFolder folder;
  // Two columns a key: 2 + 8 + 2 + 8.
  CHECK(has_text(folder.maps("show maps.npy --width 20").out, "\n  head 0    head 1\n"));
  // Beside labels of six columns only one a key.
  CHECK(has_text(folder.maps("show maps.npy --width 24 --labels a-long-label,b,c").out,
                 "\na-lon… │▓▓▓│   │▓▓▓│\n"));
}

TEST_CASE("mha-maps show refuses what it cannot mean") {
  const MapsFolder folder;
  for (const auto& [arguments, message] : {
           std::pair{"--width 19", "--width: 19 is not a number from 20"},
           std::pair{"--color blue",
                     "--color: 'blue' is not known; expected auto, truecolor, 256 or never"},
       }) {
    const Outcome outcome = folder.maps(std::string("show maps.npy ") + arguments);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err == std::string("mha-maps: ") + message + "\n");
  }
}

TEST_CASE("mha-maps render writes PNG and SVG by suffix, --format or into a pipe") {
  const MapsFolder folder;
  const std::string png_magic = "\x89PNG\r\n\x1A\n";
  CHECK(folder.maps("render maps.npy -o maps.png").status == 0);
  CHECK(read_file(folder.files.path() / "maps.png").starts_with(png_magic));
  CHECK(folder.maps("render maps.npy -o maps.svg").status == 0);
  const std::string svg = read_file(folder.files.path() / "maps.svg");
  CHECK(svg.starts_with("<?xml"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(has_text(svg, ">maps.npy<"));
  CHECK(folder.maps("render maps.npy -o - --format svg").out == svg);
  CHECK(folder.maps("render maps.npy -o other --format png").status == 0);
  CHECK(read_file(folder.files.path() / "other") ==
        read_file(folder.files.path() / "maps.png"));
}

TEST_CASE("mha-maps render warns of letters that PNG does not have") {
  const MapsFolder folder;
  const std::string labels = " --labels 猫,b,c";
  const Outcome png = folder.maps("render maps.npy -o maps.png" + labels);
  CHECK(png.status == 0);
  CHECK(has_text(png.err, "PNG has letters of ASCII only, 1 token is drawn with boxes"));
  CHECK(folder.maps("render maps.npy -o maps.svg" + labels).err.empty());
  CHECK(folder.maps("render maps.npy -o maps.png").err.empty());
}

TEST_CASE("a picture that cannot be drawn leaves no file") {
  const MapsFolder folder;
  const std::size_t before = folder.count();
  const Outcome missing = folder.maps("render nothing.npy -o maps.png");
  CHECK(missing.status == 3);
  const Outcome suffix = folder.maps("render maps.npy -o maps.gif");
  CHECK(suffix.status == 2);
  CHECK(has_text(suffix.err, "expected .png, .svg or .html"));
  const Outcome head = folder.maps("render maps.npy --head 7 -o maps.png");
  CHECK(head.status == 2);
  CHECK(folder.count() == before);
}
