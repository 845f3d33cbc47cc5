#include "mha_run/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "command_line.h"
#include "files/whole_file.h"
#include "input/sequences.h"
#include "model_options.h"

namespace mha {
namespace {

constexpr const char* kExamples =
    R"(Multi-head attention and encoder layers over vectors or words, with every head's map in
sight.

  mha-run -w models/reader.safetensors --text "the cat did not cross" --show
                                                           each head's map, drawn
  mha-run -w pytorch_model.bin -i x.npy --layer 5 -o y.npy --maps maps.npy
                                                           a checkpoint's layer, results to files
  mha-run -w w.bin -i x.npy --expect y.npy                 exit 1 and where they differ
)";

constexpr const char* kFooter =
    R"(Files are recognised by their content. FILE may be - for standard input or output, or
archive.npz:name, file.safetensors:name for one tensor of several.
Exit status: 0 done; 1 a comparison failed; 2 the command line or the data is wrong;
3 the system failed (a file, disk, memory); 141 the reader of standard output went away.
--help-all shows every option.)";

// Text of the options that are turned into values after parsing.
struct Texts {
  ModelTexts model;
  std::string ablate, labels, key_lengths, map_heads, trace_only, precision, format, gemm;
  int verbose = 0;
  bool quiet = false;
};

// One function a help group.
void add_weights_options(CLI::App& app, RunOptions& options, Texts& texts, Rare& rare) {
  const char* group = "Model";
  app.add_option("-w,--weights", options.weights.path,
                 "Read weights: safetensors, PyTorch, .npz, JSON, a folder of .npy, …,\n"
                 "under native names or those of PyTorch and Hugging Face models")
      ->type_name("FILE")
      ->group(group);
  add_model_options(app, options.weights, texts.model, rare);
  rare.push_back(
      app.add_option("--ablate", texts.ablate,
                     "Drop the part of these heads in y (of every layer that runs);\n"
                     "their maps stay as they are")
          ->type_name("0,3,...")
          ->group(group));
}

void add_input_options(CLI::App& app, RunOptions& options, Texts& texts) {
  const char* group = "Input";
  app.add_option(
         "-i,--input", options.input,
         "Read x, [n, d_model] or [batch, n, d_model]: npy, npz,\nsafetensors, JSON, text")
      ->type_name("FILE|-")
      ->group(group);
  app.add_option("--text", options.text.text,
                 "Read x from words: by the embeddings of the weights, or by\n"
                 "--embeddings; -: all of standard input")
      ->type_name("TEXT|-")
      ->group(group);
  app.add_option("--embeddings", options.text.embeddings,
                 "Split the text at blanks and take the words' vectors from this\n"
                 "file: a word and its numbers a line (word2vec, GloVe)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--vocab", options.text.vocabulary,
                 "Split the text into this vocabulary's pieces, a word a line\n"
                 "(default: the weights' own, or vocab.txt beside them)")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--unknown", options.text.unknown,
               "Take <unk> or zeros for words that nobody knows")
      ->group(group);
  app.add_option("--key", options.key,
                 "Read the source of K (cross-attention; default: input)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--value", options.value, "Read the source of V (default: key)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--labels", texts.labels, "Name the tokens in the report")
      ->type_name("a,b,...")
      ->group(group);
  app.add_option("--keep-mask", options.keep_masks,
                 "Attend where 1 or true (Hugging Face, ONNX,\nscaled_dot_product_attention)")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--drop-mask", options.drop_masks,
                 "Do not attend where 1 or true (nn.MultiheadAttention);\nmasks may be given "
                 "several times, and add up")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--add-mask", options.add_masks, "Add floats to the scaled scores")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->group(group);
  app.add_option("--key-lengths", texts.key_lengths,
                 "Take keys from this index on as padding, a number per batch item")
      ->type_name("a,b,...")
      ->group(group);
}

void add_result_options(CLI::App& app, RunOptions& options, Texts& texts, Rare& rare) {
  const char* group = "Results";
  app.add_option("-o,--output", options.output, "Write y; the suffix names the format")
      ->type_name("FILE|-")
      ->group(group);
  app.add_option("--maps", options.maps,
                 "Write the attention maps [n_heads, n_q, n_k], of several layers with\n"
                 "a layer axis in front; .npy is streamed")
      ->type_name("FILE")
      ->group(group);
  rare.push_back(app.add_option("--map-heads", texts.map_heads, "Take these heads' maps only")
                     ->type_name("0,3,...")
                     ->group(group));
  rare.push_back(app.add_flag("--average-heads", options.average_heads,
                              "Take the mean map over (chosen) heads")
                     ->group(group));
  app.add_option("--trace", options.trace, "Write every intermediate by name")
      ->type_name("FILE.npz")
      ->group(group);
  rare.push_back(app.add_option("--trace-only", texts.trace_only, "Write these steps only")
                     ->type_name("q,scores,...")
                     ->group(group));
  app.add_flag("--head-report", options.head_report,
               "Say what each head does: entropy and pattern of its map, its share\n"
               "of the output, what y is without it, the head most like it")
      ->group(group);
  rare.push_back(app.add_flag("--early-fusion", options.early_fusion,
                              "Let every head read its own V with the mean of all maps, an\n"
                              "experiment, and say how far y moved")
                     ->group(group));
  app.add_option("--format", texts.format,
                 "Write stdout (and files of any suffix) as npy, npz, json, csv or text")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--show", options.show,
               "Draw the maps in place of numbers, side by side, in colour on a\n"
               "terminal that has some")
      ->group(group);
  app.add_flag("--full", options.full, "Shorten nothing in the report")->group(group);
}

void add_compare_options(CLI::App& app, RunOptions& options) {
  const char* group = "Comparison";
  app.add_option("--expect", options.expect, "Compare y with this; exit 1 where they differ")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--expect-maps", options.expect_maps, "Compare the maps")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--expect-trace", options.expect_trace,
                 "Compare the steps this file holds; name the first that differs")
      ->type_name("FILE.npz")
      ->group(group);
  app.add_option("--atol", options.tolerance.atol, "Allow this absolute difference")
      ->type_name("A")
      ->capture_default_str()
      ->group(group);
  app.add_option("--rtol", options.tolerance.rtol,
                 "plus this times the expected value, as numpy.allclose")
      ->type_name("R")
      ->capture_default_str()
      ->group(group);
}

void add_run_options(CLI::App& app, RunOptions& options, Texts& texts, Rare& rare) {
  const char* group = "Run";
  app.add_option("--precision", texts.precision,
                 "Compute every step in f32 (default) or f64, the reference")
      ->type_name("f32|f64")
      ->group(group);
  app.add_option("--threads", options.threads,
                 "Compute on N threads (default: OPENBLAS_NUM_THREADS or\n"
                 "OMP_NUM_THREADS, else the processors this process may use)")
      ->type_name("N")
      ->group(group);
  rare.push_back(
      app.add_option("--gemm", texts.gemm,
                     "Who multiplies f32 matrices with weights (default: auto, the\n"
                     "faster for each size)")
          ->type_name("auto|openblas|native")
          ->group(group));
  app.add_flag("--dry-run", options.dry_run,
               "Print the plan (shapes, FLOPs, bytes) and compute nothing")
      ->group(group);
  app.add_flag("-v,--verbose", texts.verbose,
               "Say which settings are in force and who said so")
      ->group(group);
  rare.push_back(
      app.add_flag("-q,--quiet", texts.quiet, "Say nothing but errors")->group(group));
}

Format parse_format(const std::string& name) {
  if (const auto format = format_named(name)) return *format;
  refuse_word("--format", name, "npy, npz, json, csv or text");
}

void finish(RunOptions& options, const Texts& texts) {
  finish_model_options(options.weights.model, texts.model);
  for (const auto& [name, value] : {std::pair{"--atol", options.tolerance.atol},
                                    std::pair{"--rtol", options.tolerance.rtol}}) {
    require(name, value, std::isfinite(value) && value >= 0, "a number from 0");
  }
  if (!texts.ablate.empty()) options.ablate = parse_counts("--ablate", texts.ablate);
  if (!texts.map_heads.empty()) {
    options.map_heads = parse_counts("--map-heads", texts.map_heads);
  }
  if (!texts.key_lengths.empty()) {
    options.key_lengths = parse_counts("--key-lengths", texts.key_lengths);
  }
  if (!texts.labels.empty()) options.labels = split_at_commas(texts.labels);
  if (!texts.trace_only.empty()) options.trace_only = split_at_commas(texts.trace_only);
  if (!texts.format.empty()) options.format = parse_format(texts.format);
  if (!texts.precision.empty() && texts.precision != "f32" && texts.precision != "f64") {
    refuse_word("--precision", texts.precision, "f32 or f64");
  }
  options.f64 = texts.precision == "f64";
  if (options.threads == 0u) throw Error("--threads: 0 is not a number from 1");
  if (!texts.gemm.empty()) options.gemm = parse_gemm(texts.gemm);
  options.loudness = texts.quiet         ? Loudness::quiet
                     : texts.verbose > 0 ? Loudness::verbose
                                         : Loudness::normal;
}

// Paths that a run opens, without the names of tensors in them.
std::vector<std::string> files_read(const RunOptions& options) {
  std::vector<std::string> specs = {options.input,  options.key,         options.value,
                                    options.expect, options.expect_maps, options.expect_trace};
  for (const auto* masks : {&options.keep_masks, &options.drop_masks, &options.add_masks}) {
    specs.insert(specs.end(), masks->begin(), masks->end());
  }
  std::vector<std::string> paths = {options.weights.path, options.weights.model.config,
                                    options.text.vocabulary, options.text.embeddings};
  if (options.text.text == "-") paths.emplace_back("-");
  for (const std::string& spec : specs) paths.push_back(parse_source(spec).path);
  return paths;
}

// x is vectors or text, and words come in at the first layer.
void check_text(const RunOptions& options) {
  const TextInput& text = options.text;
  if (text.text.empty()) {
    for (const auto& [name, given] : {std::pair{"--vocab", !text.vocabulary.empty()},
                                      std::pair{"--embeddings", !text.embeddings.empty()},
                                      std::pair{"--unknown", text.unknown}}) {
      if (given) throw Error(std::string(name) + " needs --text TEXT");
    }
    if (options.input.empty()) {
      throw Error("--input FILE or --text TEXT is missing; see --help");
    }
    return;
  }
  if (!options.input.empty()) throw Error("--text: --input gives x already; give one of them");
  if (!text.vocabulary.empty() && !text.embeddings.empty()) {
    throw Error("--vocab: --embeddings has words of its own; give one of them");
  }
  const auto& layers = options.weights.model.layers;
  if (!layers || layers->first == 0) return;
  const std::string last = std::to_string(layers->last);
  throw Error("--text: words come in at layer 0, and --layer begins with " +
              std::to_string(layers->first) + "; --layer 0-" + last +
              " runs the layers before too, --input gives what comes in there");
}

// Combinations that cannot mean anything, and names used twice.
void check(const RunOptions& options) {
  if (options.weights.path.empty()) throw Error("--weights FILE is missing; see --help");
  check_text(options);
  // Devices and pipes have no suffix.
  const std::string suffix = std::filesystem::path(options.trace).extension().string();
  if (!suffix.empty() && suffix != ".npz") {
    throw Error("--trace: " + options.trace + " ends in " + suffix +
                ", expected .npz, the only form of a trace");
  }
  if (!options.trace_only.empty() && options.trace.empty()) {
    throw Error("--trace-only needs --trace FILE.npz");
  }
  const bool bare = options.output.empty() && options.maps.empty();
  if (options.show && options.format && (options.reports() || options.head_report) && bare) {
    throw Error("--show draws for the eye; without it --format writes what is computed");
  }
  if (options.head_report && bare && options.format && *options.format != Format::json &&
      *options.format != Format::text) {
    throw Error("--format: a head report is json or text; -o and --maps write other forms");
  }
  const bool shows_maps = !options.maps.empty() || !options.expect_maps.empty() ||
                          options.reports() || options.show;
  if ((!options.map_heads.empty() || options.average_heads) && !shows_maps) {
    throw Error(
        "--map-heads and --average-heads need --maps FILE, --expect-maps FILE or --show");
  }
  const std::vector<std::string> inputs = files_read(options);
  if (std::count(inputs.begin(), inputs.end(), "-") > 1) {
    throw Error("standard input (-) can be read by one option only");
  }
  std::vector<std::string> outputs;
  for (const auto& [name, path] :
       {std::pair{"--output", options.output}, std::pair{"--maps", options.maps},
        std::pair{"--trace", options.trace}}) {
    if (path.empty()) continue;
    for (const std::string& other : outputs) {
      if (!same_target(path, other)) continue;
      throw Error(std::string(name) + ": " + path + " is written by another option already" +
                  (path == other ? "" : ", as " + other));
    }
    for (const std::string& input : inputs) {
      if (!std::filesystem::is_regular_file(input) || !same_target(path, input)) continue;
      throw Error(std::string(name) + ": " + path +
                  " is read by another option and would be lost; write elsewhere");
    }
    outputs.push_back(path);
  }
}

}  // namespace

Request parse_run_options(int argc, const char* const* argv) {
  Request request;
  Texts texts;
  bool show_all = false;
  Rare rare;
  CLI::App app(kExamples, "mha-run");
  set_up_help(app);
  app.set_version_flag("--version", "mha-run " MHA_VERSION);
  app.add_flag("--help-all", show_all, "Print every option and exit");
  app.footer(kFooter);
  app.allow_extras();
  add_weights_options(app, request.options, texts, rare);
  add_input_options(app, request.options, texts);
  add_result_options(app, request.options, texts, rare);
  add_compare_options(app, request.options);
  add_run_options(app, request.options, texts, rare);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    for (CLI::Option* option : rare) option->group("");  // CLI11 shows no nameless group
    request.text = app.help();
    return request;
  } catch (const CLI::CallForVersion&) {
    request.text = "mha-run " MHA_VERSION "\n";
    return request;
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help");
  }
  if (show_all) {
    request.text = app.help();
    return request;
  }
  refuse_unknown(app);
  refuse_wrong_values(app);
  finish(request.options, texts);
  check(request.options);
  return request;
}

}  // namespace mha
