#include "command_line.h"

#include <charconv>
#include <memory>

#include "base/error.h"
#include "files/format.h"
#include "files/names.h"

namespace mha {
namespace {

// CLI11 shows a flag that takes a value as --causal{start}.
class HelpFormatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, positional);
    const std::string shown = "{start}";
    if (const auto at = name.find(shown); at != std::string::npos) {
      name.replace(at, shown.size(), "[=end|off]");
    }
    // … and --bias,!--no-bias as --bias,--no-bias{false}
    const std::string negated = "{false}";
    if (const auto at = name.find(negated); at != std::string::npos) {
      name.erase(at, negated.size());
    }
    return name;
  }
  // Our type names say how many values there are: no "x 2".
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string times = " x " + std::to_string(option->get_expected_max());
    if (text.ends_with(times)) text.resize(text.size() - times.size());
    return text;
  }
};

}  // namespace

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t comma = text.find(',', begin);
    parts.push_back(text.substr(begin, comma - begin));
    if (comma == std::string::npos) return parts;
    begin = comma + 1;
  }
}

std::vector<std::size_t> parse_counts(const std::string& option, const std::string& text) {
  std::vector<std::size_t> counts;
  for (const std::string& part : split_at_commas(text)) {
    std::size_t count = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, count);
    if (part.empty() || error != std::errc{} || stop != end) {
      throw Error(option + ": '" + part + "' is no count; expected numbers from 0, as in 0,3");
    }
    counts.push_back(count);
  }
  return counts;
}

Gemm parse_gemm(const std::string& text) {
  if (text == "auto") return Gemm::automatic;
  if (text == "openblas") return Gemm::openblas;
  if (text == "native") return Gemm::native;
  throw Error("--gemm: '" + printable(text) +
              "' is not known; expected auto, openblas or native");
}

void require(const std::string& option, double value, bool ok, const char* expected) {
  if (ok) return;
  throw Error(option + ": " + format_number(value) + " is not " + expected);
}

void refuse_word(const std::string& option, const std::string& text,
                 const std::string& expected) {
  throw Error(option + ": '" + printable(text) + "' is not known; expected " + expected);
}

void set_up_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "Print this and exit");
}

void refuse_unknown(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) return;
  const std::string name = words.front().substr(0, words.front().find('='));
  if (name.rfind('-', 0) != 0) {
    const bool takes_weights = app.get_option_no_throw("--weights") != nullptr;
    throw Error("'" + words.front() + "' is no option" +
                (takes_weights ? ", files go behind one, as in --weights FILE" : "") +
                "; see --help");
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      known.push_back("--" + long_name);
    }
  }
  throw Error(name + ": unknown option" + did_you_mean(name, known) + "; see --help");
}

void refuse_wrong_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) throw Error(option->get_name() + ": its value is empty; see --help");
      if (option->get_type_name() == "N" && value.front() == '-') {
        throw Error(option->get_name() + ": " + printable(value) + " is not a number from 0");
      }
    }
  }
}

}  // namespace mha
