#include "catch.h"
#include "cli/workspace.h"
#include "support/terminal.h"

using namespace mha;

TEST_CASE("--show draws the maps through a pipe without a colour, in place of numbers") {
  const Workspace workspace;
  const Outcome outcome = workspace.ramp({"--labels", "it,was,tired", "--show"});
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out ==
        "weights  ramp.json, JSON, 2 heads, d_model 4, d_head 2\n"
        "input    x.csv, text [3, 4]\n"
        "\n"
        "      head 0    head 1\n"
        "           t         t\n"
        "           i         i\n"
        "         w r       w r\n"
        "       i a e     i a e\n"
        "       t s d     t s d\n"
        "   it │▓▓▓▓▓▓│  │▓▓▓▓▓▓│\n"
        "  was │██▓▓▓▓│  │▓▓▓▓▓▓│\n"
        "tired │██▓▓▓▓│  │██▓▓▓▓│\n"
        "\n"
        "      0  ░ 0.11  ▒ 0.21  ▓ 0.32  █ 0.42\n");
}

TEST_CASE("--show draws what --map-heads and --average-heads choose") {
  const Workspace workspace;
  CHECK(has_text(workspace.ramp({"--show", "--map-heads", "1"}).out, "\n  head 1\n"));
  CHECK(has_text(workspace.ramp({"--show", "--average-heads"}).out, "\n  mean over heads\n"));
  const Outcome beside =
      workspace.ramp({"--show", "--map-heads", "1", "-o", "y.npy", "--precision", "f64"});
  CHECK(beside.status == 0);
  CHECK(has_text(beside.out, "\n  head 1\n"));
  CHECK(workspace.has("y.npy"));
}

TEST_CASE("--show draws items of a batch below each other") {
  const Workspace workspace;
  workspace.files.write("two.json", "[[[1,0,0,0],[0,1,0,0]],[[0,0,1,0],[0,0,0,1]]]");
  const Outcome outcome = workspace.run({"-w", "ramp.json", "-i", "two.json", "--show"});
  CHECK(outcome.status == 0);
  CHECK(has_text(outcome.out, "\nitem 0\n"));
  CHECK(has_text(outcome.out, "\nitem 1\n"));
}

TEST_CASE("what carries a result is left alone by --show") {
  const Workspace workspace;
  const Outcome outcome = workspace.ramp({"--show", "-o", "-", "--format", "csv"});
  CHECK(outcome.status == 0);
  CHECK(numbers(outcome.out).size() == 12);
  CHECK(has_text(outcome.err, "head 0"));
  const Outcome refused = workspace.ramp({"--show", "--format", "json"});
  CHECK(refused.status == 2);
  CHECK(refused.err ==
        "mha-run: --show draws for the eye; without it --format writes what is computed\n");
}

TEST_CASE("labels out of a file cannot do anything to the terminal") {
  const Workspace workspace;
  workspace.files.write(
      "x.json", R"({"x": [[1,0,0,0],[0,1,0,0]], "tokens": ["\u001b[31mred", "a\nb"]})");
  const Outcome outcome = workspace.run({"-w", "ramp.json", "-i", "x.json", "--show"});
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  CHECK(has_text(outcome.out, "\\x1B[31mred │"));
}

TEST_CASE("on a terminal --show takes the colours and the columns that it has") {
  const Workspace workspace;
  workspace.files.write("long.txt", [] {
    std::string rows;
    for (int i = 0; i < 30; ++i) rows += "1,0,0," + std::to_string(i) + "\n";
    return rows;
  }());
  const auto shown = [&](const std::string& environment, const std::string& input = "x.csv") {
    const Terminal terminal(/*columns=*/70);
    const Outcome outcome =
        workspace.shell("unset NO_COLOR COLORTERM COLUMNS TERM; " + environment +
                        " mha-run -w ramp.json -i " + input + " --show > " + terminal.path());
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    return terminal.text();
  };
  const char* const truecolour = "\x1b[48;2;";
  const char* const palette = "\x1b[48;5;";
  CHECK(has_text(shown("TERM=xterm COLORTERM=truecolor"), truecolour));
  CHECK(has_text(shown("TERM=xterm COLORTERM=24bit"), truecolour));
  CHECK(has_text(shown("TERM=xterm-direct"), truecolour));
  CHECK(has_text(shown("TERM=xterm-256color"), palette));
  for (const char* environment : {"TERM=dumb COLORTERM=truecolor", "COLORTERM=truecolor",
                                  "TERM=xterm COLORTERM=truecolor NO_COLOR=1"}) {
    INFO(environment);
    const std::string text = shown(environment);
    CHECK(!has_text(text, "\x1b"));
    CHECK(has_text(text, "▓"));
  }
  CHECK(has_text(shown("TERM=xterm COLORTERM=truecolor NO_COLOR="), truecolour));
  // Two maps of 30 keys need 2 + 1 + 2 * 32 + 2 columns side by side.
  const std::string side_by_side = "head 0                            head 1";
  CHECK(has_text(shown("TERM=dumb", "long.txt"), side_by_side));
  CHECK(has_text(shown("TERM=dumb COLUMNS=69", "long.txt"), side_by_side));
  CHECK(!has_text(shown("TERM=dumb COLUMNS=68", "long.txt"), side_by_side));
}
