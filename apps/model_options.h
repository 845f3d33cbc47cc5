#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "checkpoint/model_options.h"
#include "files/archive.h"

namespace mha {

// A weights file, and what the command line says about it.
struct WeightsInput {
  std::string path;
  std::string raw;  // layout of headerless weights; "": the file says
  ModelOptions model;
};

// Options that only --help-all shows.
using Rare = std::vector<CLI::Option*>;

// Text of the options about the model that become values after parsing.
struct ModelTexts {
  std::string causal, rope, norm, activation, layers, part;
};

// What every tool asks about a model beside its path: which of a file's layers,
// and what the file does not say. `input` and `texts` are borrowed and must
// outlive the parsing.
void add_model_options(CLI::App& app, WeightsInput& input, ModelTexts& texts, Rare& rare);

// Turns the texts into values. Throws Error that names the option, for numbers
// out of range too.
void finish_model_options(ModelOptions& options, const ModelTexts& texts);

// Throws what open_archive() and open_raw() throw.
Archive open_weights(const WeightsInput& input);

}  // namespace mha
