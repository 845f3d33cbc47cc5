#include "mha_weights/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.h"
#include "command_line.h"
#include "files/names.h"
#include "files/whole_file.h"
#include "model_options.h"

namespace mha {
namespace {

constexpr const char* kExamples =
    R"(Weights files: what is in them, the same weights in another format, fresh weights.

  mha-weights inspect pytorch_model.bin                       scheme, settings, a row a tensor
  mha-weights convert pytorch_model.bin w.npz --layer 3       native names, numbers unchanged
  mha-weights init --like torch --seed 0 --d-model 8 --n-heads 2 -o w.bin --sample 1,4,8 x.npy
)";

constexpr const char* kFooter =
    R"(Files are recognised by their content; the suffix of an output says what is written:
.json, .npz, .safetensors or .bin (safetensors too).
Exit status: 0 done; 2 the command line or the data is wrong; 3 the system failed (a file,
disk, memory); 141 the reader of standard output went away.
mha-weights COMMAND --help shows a command's options.)";

// Text of the options that are turned into values after parsing.
struct Texts {
  ModelTexts model;
  std::string format, like = "torch", module = "Linear", seed = "0", norm, activation;
  std::vector<std::string> sample;
  int verbose = 0;
  bool quiet = false;
};

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& text,
                      Texts& texts) {
  CLI::App* command = app.add_subcommand(name, text);
  set_up_help(*command);
  command->allow_extras();
  command->add_flag("-v,--verbose", texts.verbose,
                    "Say which settings are in force and what is left out");
  command->add_flag("-q,--quiet", texts.quiet, "Say nothing but errors");
  return command;
}

void add_weights_input(CLI::App& command, WeightsInput& input, Texts& texts) {
  command
      .add_option("FILE", input.path,
                  "A weights file of any container and naming scheme, or a folder")
      ->type_name("");
  Rare rare;  // this help is short enough to show all
  add_model_options(command, input, texts.model, rare);
  // These say how to compute, which nobody does here.
  for (const char* name : {"--part", "--absorb"}) {
    command.remove_option(command.get_option(name));
  }
}

void add_output(CLI::App& command, Texts& texts) {
  command
      .add_option("--format", texts.format,
                  "Write json, npz or safetensors, whatever the suffix (default: by it)")
      ->type_name("NAME");
}

void add_init_options(CLI::App& command, InitOptions& options, Texts& texts) {
  TorchArguments& arguments = options.arguments;
  command.add_option("-o,--output", options.output, "Write the weights")->type_name("FILE");
  command
      .add_option("--sample", texts.sample,
                  "Write torch.randn of that shape, drawn right after the weights, as .npy")
      ->type_name("1,4,8 FILE")
      ->expected(2);
  command.add_option("--like", texts.like, "Draw as this library does: torch, bit for bit")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--seed", texts.seed, "torch.manual_seed(S)")
      ->type_name("S")
      ->capture_default_str();
  command
      .add_option("--module", texts.module,
                  "Linear: four nn.Linear for queries, keys, values, output;\n"
                  "MultiheadAttention; TransformerEncoderLayer")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--d-model", arguments.d_model, "Width of x and of y")->type_name("N");
  command.add_option("--n-heads", arguments.n_heads, "Heads, each d_model / N wide")
      ->type_name("N");
  command.add_flag("--bias,!--no-bias", arguments.bias, "With biases (default) or without");
  const char* multihead = "MultiheadAttention";
  command.add_option("--kdim", arguments.d_key, "Width of the source of K (default: d_model)")
      ->type_name("N")
      ->group(multihead);
  command
      .add_option("--vdim", arguments.d_value, "Width of the source of V (default: d_model)")
      ->type_name("N")
      ->group(multihead);
  command
      .add_flag("--add-bias-kv", arguments.bias_key,
                "One more learned key and value behind the others")
      ->group(multihead);
  command
      .add_flag("--add-zero-attn", arguments.zero_key,
                "One more key and value, of zeros, behind the others")
      ->group(multihead);
  const char* layer = "TransformerEncoderLayer";
  command.add_option("--d-ff", arguments.d_ff, "Width of the feed-forward")
      ->type_name("N")
      ->capture_default_str()
      ->group(layer);
  command.add_option("--layers", arguments.n_layers, "As many copies, as TransformerEncoder")
      ->type_name("N")
      ->capture_default_str()
      ->group(layer);
  command.add_option("--norm", texts.norm, "Pre-norm is norm_first (default: post)")
      ->type_name("post|pre")
      ->group(layer);
  command
      .add_option("--activation", texts.activation,
                  "Of the feed-forward: relu (default), gelu, …")
      ->type_name("NAME")
      ->group(layer);
  add_output(command, texts);
}

ArchiveFormat output_format(const Texts& texts, const std::string& path) {
  if (texts.format.empty()) return archive_format_of_path(path);
  if (const auto format = archive_format_named(texts.format)) return *format;
  refuse_word("--format", texts.format, "json, npz, safetensors or bin");
}

void finish_input(WeightsInput& input, const Texts& texts) {
  if (input.path.empty()) throw Error("FILE is missing; see --help");
  finish_model_options(input.model, texts.model);
}

void finish_inspect(InspectOptions& options, const Texts& texts) {
  finish_input(options.input, texts);
  options.json = texts.format == "json";
  if (options.json || texts.format.empty() || texts.format == "text") return;
  refuse_word("--format", texts.format, "text or json");
}

// Whether writing to `output` would lose what is read from `input`.
bool is_overwritten(const std::string& input, const std::string& output) {
  return std::filesystem::is_regular_file(input) && same_target(input, output);
}

void finish_convert(ConvertOptions& options, const Texts& texts) {
  finish_input(options.input, texts);
  if (options.output.empty()) throw Error("OUT is missing; see --help");
  options.format = output_format(texts, options.output);
  const std::string& path = options.input.path;
  const std::string& config = options.input.model.config;
  const auto beside = std::filesystem::path(path).replace_filename("config.json").string();
  for (const std::string& input : {path, config.empty() ? beside : config}) {
    if (!is_overwritten(input, options.output)) continue;
    throw Error(printable(options.output) +
                ": is what is read and would be lost; write elsewhere");
  }
}

// torch.manual_seed() takes numbers of both kinds of 64 bits.
std::uint64_t parse_seed(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::uint64_t seed = 0;
  auto result = std::from_chars(text.data(), end, seed);
  if (result.ptr != end || result.ec != std::errc{}) {
    std::int64_t negative = 0;
    result = std::from_chars(text.data(), end, negative);
    seed = static_cast<std::uint64_t>(negative);
  }
  if (!text.empty() && result.ptr == end && result.ec == std::errc{}) return seed;
  throw Error("--seed: '" + printable(text) + "' is no whole number of 64 bits");
}

TorchModule parse_module(const std::string& text) {
  if (text == "Linear") return TorchModule::four_linear;
  if (text == "MultiheadAttention") return TorchModule::multihead_attention;
  if (text == "TransformerEncoderLayer") return TorchModule::transformer_encoder_layer;
  const std::vector<std::string> known = {"Linear", "MultiheadAttention",
                                          "TransformerEncoderLayer"};
  throw Error("--module: '" + printable(text) + "' is not known" + did_you_mean(text, known) +
              "; expected " + list_of(known));
}

// An option that the module has no use for would seem to have done something.
void refuse_unused(const CLI::App& command, const std::string& module) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string& group = option->get_group();
    const bool of_module = group == "MultiheadAttention" || group == "TransformerEncoderLayer";
    if (!of_module || group == module || option->count() == 0) continue;
    throw Error(option->get_name() + " is for --module " + group + ", not " + module);
  }
}

void finish_init(const CLI::App& command, InitOptions& options, const Texts& texts) {
  if (texts.like != "torch") refuse_word("--like", texts.like, "torch");
  TorchArguments& arguments = options.arguments;
  arguments.module = parse_module(texts.module);
  refuse_unused(command, texts.module);
  for (const char* name : {"--d-model", "--n-heads", "--output"}) {
    if (command.get_option(name)->count() == 0) {
      throw Error(std::string(name) + " is missing; see --help");
    }
  }
  options.seed = parse_seed(texts.seed);
  if (!texts.norm.empty()) arguments.norm = parse_word<NormPlacement>("--norm", texts.norm);
  if (!texts.activation.empty()) {
    arguments.activation = parse_word<Activation>("--activation", texts.activation);
  }
  options.format = output_format(texts, options.output);
  if (texts.sample.empty()) return;
  options.sample_shape = parse_counts("--sample", texts.sample[0]);
  options.sample = texts.sample[1];
  if (same_target(options.sample, options.output)) {
    throw Error("--sample: " + printable(options.sample) + " is written by --output already");
  }
}

// The word that stands where a command should.
void refuse_unknown_command(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const std::vector<std::string> commands = {"inspect", "convert", "init"};
  if (!words.empty() && words.front().rfind('-', 0) != 0) {
    throw Error("'" + printable(words.front()) + "' is no command" +
                did_you_mean(words.front(), commands) + "; expected " + list_of(commands) +
                "; see --help");
  }
  refuse_unknown(app);
}

}  // namespace

WeightsRequest parse_weights_options(int argc, const char* const* argv) {
  WeightsRequest request;
  Texts texts;
  InspectOptions inspect;
  ConvertOptions convert;
  InitOptions init;
  CLI::App app(kExamples, "mha-weights");
  set_up_help(app);
  app.set_version_flag("--version", "mha-weights " MHA_VERSION);
  app.footer(kFooter);
  app.allow_extras();
  app.require_subcommand(0, 1);

  CLI::App* inspecting =
      add_command(app, "inspect", "Say what is in a weights file, from its headers", texts);
  add_weights_input(*inspecting, inspect.input, texts);
  inspecting->add_option("--format", texts.format, "Print text (default) or json")
      ->type_name("NAME");

  CLI::App* converting = add_command(
      app, "convert", "Write the layers of a weights file under native names", texts);
  add_weights_input(*converting, convert.input, texts);
  converting->add_option("OUT", convert.output, "Where to; the suffix names the format")
      ->type_name("");
  add_output(*converting, texts);

  CLI::App* initialising = add_command(
      app, "init", "Draw fresh weights as PyTorch's modules do, bit for bit", texts);
  add_init_options(*initialising, init, texts);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto asked = app.get_subcommands();
    request.command = asked.empty() ? app.help() : asked.front()->help("mha-weights");
    return request;
  } catch (const CLI::CallForVersion&) {
    request.command = "mha-weights " MHA_VERSION "\n";
    return request;
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help");
  }
  refuse_unknown_command(app);
  for (const CLI::App* command : {inspecting, converting, initialising}) {
    if (!command->parsed()) continue;
    refuse_unknown(*command);
    refuse_wrong_values(*command);
  }
  request.loudness = texts.quiet         ? Loudness::quiet
                     : texts.verbose > 0 ? Loudness::verbose
                                         : Loudness::normal;
  if (inspecting->parsed()) {
    finish_inspect(inspect, texts);
    request.command = inspect;
  } else if (converting->parsed()) {
    finish_convert(convert, texts);
    request.command = convert;
  } else if (initialising->parsed()) {
    finish_init(*initialising, init, texts);
    request.command = init;
  } else {
    throw Error("a command is missing, expected inspect, convert or init; see --help");
  }
  return request;
}

}  // namespace mha
