#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "checkpoint/load.h"

namespace mha {

// Options that only --help-all shows.
using Rare = std::vector<CLI::Option*>;

// Text of the options about the model that become values after parsing.
struct ModelTexts {
  std::string causal, rope, norm, activation, layers, part;
};

// What every tool asks about a model: which of a file's layers, and what the
// file does not say. `options` and `texts` are borrowed and must outlive the
// parsing.
void add_model_options(CLI::App& app, ModelOptions& options, ModelTexts& texts, Rare& rare);

// Turns the texts into values. Throws Error that names the option, for numbers
// out of range too.
void finish_model_options(ModelOptions& options, const ModelTexts& texts);

}  // namespace mha
