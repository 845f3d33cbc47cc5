#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "checkpoint/torch_init.h"
#include "files/archive_writer.h"
#include "log.h"
#include "model_options.h"
#include "tensor/tensor.h"

namespace mha {

struct InspectOptions {
  WeightsInput input;
  bool json = false;
};

struct ConvertOptions {
  WeightsInput input;
  std::string output;
  ArchiveFormat format = ArchiveFormat::safetensors;
};

struct InitOptions {
  TorchArguments arguments;
  std::uint64_t seed = 0;
  std::string output;
  ArchiveFormat format = ArchiveFormat::safetensors;
  Shape sample_shape;
  std::string sample;  // path; "": none
};

// What the command line of mha-weights asked for; a string is a text to print
// (--help, --version).
struct WeightsRequest {
  std::variant<std::string, InspectOptions, ConvertOptions, InitOptions> command;
  Loudness loudness = Loudness::normal;
};

// Throws Error for a command line that is wrong: one line that names the option,
// and for an unknown one the nearest known.
WeightsRequest parse_weights_options(int argc, const char* const* argv);

}  // namespace mha
