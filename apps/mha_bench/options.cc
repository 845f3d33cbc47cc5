#include "mha_bench/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "command_line.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr const char* kExamples =
    R"(How fast attention is on this machine, and how near to what its arithmetic units can do.

  mha-bench                                                   n = 128 and 2048, one thread and all
  mha-bench --n 512 --maps --part layer --threads 2           a whole layer, maps kept in memory
  mha-bench --sweep heads                                     cost does not depend on n_heads
)";

constexpr const char* kFooter =
    R"(Each case is checked against the f64 path before it is timed. Times are of single runs, the
least and the median, over rounds in which the cases take turns.
Exit status: 0 done; 1 a case differs from the f64 path; 2 the command line is wrong; 3 the
system failed (memory); 141 the reader of standard output went away.)";

// Text of the options that are turned into values after parsing.
struct Texts {
  std::string n, threads, sweep, part, activation, gemm, format;
  int verbose = 0;
  bool quiet = false;
};

void add_layer_options(CLI::App& app, BenchOptions& options, Texts& texts) {
  const char* group = "Layer";
  app.add_option("--d-model", options.d_model, "Width of x and of y")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--n-heads", options.n_heads.front(), "Heads, each d_model / N wide")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--n", texts.n, "Vectors of x (default: 128,2048)")
      ->type_name("a,b,...")
      ->group(group);
  app.add_option("--part", texts.part, "Attention alone (default) or the whole layer")
      ->type_name("attention|layer")
      ->group(group);
  app.add_option("--d-ff", options.d_ff, "Width of the feed-forward of a whole layer")
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--activation", texts.activation,
                 "Of the feed-forward: relu, gelu (default), gelu_tanh, quick_gelu, silu")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--causal", options.causal, "Query i sees keys j <= i only")->group(group);
  app.add_flag("--maps", options.maps, "Write every head's map to memory, too")->group(group);
}

void add_run_options(CLI::App& app, BenchOptions& options, Texts& texts) {
  const char* group = "Run";
  app.add_option("--threads", texts.threads,
                 "On so many threads (default: 1 and what mha-run would take)")
      ->type_name("a,b,...")
      ->group(group);
  app.add_option("--sweep", texts.sweep,
                 "All head counts up to 16 that divide d_model (n 512), or n from 16 to\n"
                 "8192 (with maps 2048)")
      ->type_name("heads|n")
      ->group(group);
  app.add_option("--rounds", options.rounds, "Rounds, each about 50 ms a case or one run")
      ->type_name("R")
      ->capture_default_str()
      ->group(group);
  app.add_option("--gemm", texts.gemm,
                 "Who multiplies with weights (default: auto, the faster for each size)")
      ->type_name("auto|openblas|native")
      ->group(group);
  app.add_option("--format", texts.format, "Print text (default) or json")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("-v,--verbose", texts.verbose, "Say what was checked")->group(group);
  app.add_flag("-q,--quiet", texts.quiet, "No warnings")->group(group);
}

std::vector<std::size_t> parse_sizes(const std::string& option, const std::string& text) {
  std::vector<std::size_t> sizes = parse_counts(option, text);
  for (const std::size_t size : sizes) {
    require(option, static_cast<double>(size), size > 0, "a number from 1");
  }
  return sizes;
}

template <typename Value>
void parse(const std::string& option, const std::string& text, Value& value) {
  if (text.empty()) return;
  const auto parsed = value_named<Value>(text);
  if (!parsed) {
    const std::vector<std::string> known(value_names<Value>().begin(),
                                         value_names<Value>().end());
    throw Error(option + ": '" + printable(text) + "' is not known; expected one of " +
                list_of(known));
  }
  value = *parsed;
}

BenchOptions::Sweep parse_sweep(const std::string& text) {
  if (text.empty()) return BenchOptions::Sweep::none;
  if (text == "heads") return BenchOptions::Sweep::heads;
  if (text == "n") return BenchOptions::Sweep::n;
  throw Error("--sweep: '" + printable(text) + "' is not known; expected heads or n");
}

bool parse_format(const std::string& text) {
  if (text.empty() || text == "text") return false;
  if (text == "json") return true;
  throw Error("--format: '" + printable(text) + "' is not known; expected text or json");
}

// The sizes that a sweep goes through, and what it fixes beside.
void spread(const CLI::App& app, BenchOptions& options) {
  using Sweep = BenchOptions::Sweep;
  if (options.sweep == Sweep::none) return;
  const char* swept = options.sweep == Sweep::heads ? "--n-heads" : "--n";
  if (app.get_option(swept)->count() > 0) {
    throw Error(std::string("--sweep chooses ") + swept + " itself; give one of the two");
  }
  if (options.sweep == Sweep::n) {
    options.n.clear();
    const std::size_t last = options.maps ? 2048 : 8192;
    for (std::size_t n = 16; n <= last; n *= 2) options.n.push_back(n);
    return;
  }
  if (app.get_option("--n")->count() == 0) options.n = {512};
  options.n_heads.clear();
  for (std::size_t heads = 1; heads <= 16; ++heads) {
    if (options.d_model % heads == 0) options.n_heads.push_back(heads);
  }
}

void finish(const CLI::App& app, BenchOptions& options, const Texts& texts) {
  for (const auto& [name, size] :
       {std::pair{"--d-model", options.d_model},
        std::pair{"--n-heads", options.n_heads.front()}, std::pair{"--d-ff", options.d_ff},
        std::pair{"--rounds", options.rounds}}) {
    require(name, static_cast<double>(size), size > 0, "a number from 1");
  }
  if (!texts.n.empty()) options.n = parse_sizes("--n", texts.n);
  if (!texts.threads.empty()) options.threads = parse_sizes("--threads", texts.threads);
  parse("--part", texts.part, options.part);
  parse("--activation", texts.activation, options.activation);
  for (const char* name : {"--d-ff", "--activation"}) {
    if (options.part == Part::attention && app.get_option(name)->count() > 0) {
      throw Error(std::string(name) + " is for --part layer");
    }
  }
  if (!texts.gemm.empty()) options.gemm = parse_gemm(texts.gemm);
  options.json = parse_format(texts.format);
  options.sweep = parse_sweep(texts.sweep);
  spread(app, options);
  options.loudness = texts.quiet         ? Loudness::quiet
                     : texts.verbose > 0 ? Loudness::verbose
                                         : Loudness::normal;
}

}  // namespace

BenchRequest parse_bench_options(int argc, const char* const* argv) {
  BenchRequest request;
  Texts texts;
  CLI::App app(kExamples, "mha-bench");
  set_up_help(app);
  app.set_version_flag("--version", "mha-bench " MHA_VERSION);
  app.footer(kFooter);
  app.allow_extras();
  add_layer_options(app, request.options, texts);
  add_run_options(app, request.options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    request.text = app.help();
    return request;
  } catch (const CLI::CallForVersion&) {
    request.text = "mha-bench " MHA_VERSION "\n";
    return request;
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help");
  }
  refuse_unknown(app);
  refuse_wrong_values(app);
  finish(app, request.options, texts);
  return request;
}

}  // namespace mha
