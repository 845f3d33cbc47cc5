#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "command_line.h"

namespace mha {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Colours colours_of_terminal() {
  const std::string_view term = variable("TERM");
  if (::isatty(STDOUT_FILENO) == 0 || !variable("NO_COLOR").empty() || term.empty() ||
      term == "dumb") {
    return Colours::none;
  }
  const std::string_view depth = variable("COLORTERM");
  if (depth == "truecolor" || depth == "24bit" || term.ends_with("-direct")) {
    return Colours::truecolour;
  }
  return Colours::palette;  // today even the plainest terminals map 256 to what they have
}

std::size_t columns_of_terminal() {
  const std::string_view text = variable("COLUMNS");
  std::size_t columns = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (result.ec == std::errc{} && columns > 0) return columns;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return Screen{}.columns;
}

}  // namespace

Screen screen_of(const std::string& color, std::optional<std::size_t> width) {
  Screen screen;
  screen.columns = width ? *width : columns_of_terminal();
  if (color == "auto") {
    screen.colours = colours_of_terminal();
  } else if (color == "truecolor") {
    screen.colours = Colours::truecolour;
  } else if (color == "256") {
    screen.colours = Colours::palette;
  } else if (color != "never") {
    refuse_word("--color", color, "auto, truecolor, 256 or never");
  }
  return screen;
}

}  // namespace mha
