#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "input/maps.h"
#include "log.h"

namespace mha {

// mha-maps show: maps on the terminal.
struct ShowOptions {
  std::string input;
  MapsOptions maps;
  MapsChoice choice;
  std::size_t top = 0;  // heaviest keys named behind each query
  std::optional<std::size_t> width;
  std::string color = "auto";
};

// mha-maps render: a picture or a page.
struct RenderOptions {
  std::string input;
  MapsOptions maps;
  MapsChoice choice;
  std::string output;
  std::string format;  // "png", "svg", "html": the option's or the suffix
};

// mha-maps analyze: what each head does, over all files.
struct AnalyzeOptions {
  std::vector<std::string> inputs;
  MapsOptions maps;
  std::vector<std::string> delimiters;  // labels of keys; empty: marks and punctuation
  std::vector<std::size_t> key_lengths;  // of each sequence; empty: there is no padding
  bool rollout = false;
  std::string format = "text";  // "text", "json", "csv"
  bool full = false;
};

// What the command line asked for; a text is to be printed (--help, --version).
struct MapsRequest {
  std::variant<std::string, ShowOptions, RenderOptions, AnalyzeOptions> command;
  Loudness loudness = Loudness::normal;
};

// Throws Error for a command line that is wrong: one line that names the option, and for
// an unknown one the nearest known.
MapsRequest parse_maps_options(int argc, const char* const* argv);

}  // namespace mha
