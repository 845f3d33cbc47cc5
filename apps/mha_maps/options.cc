#include "mha_maps/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "command_line.h"
#include "files/names.h"
#include "heads/heatmap.h"

namespace mha {
namespace {

constexpr const char* kExamples =
    R"(Attention maps: on the terminal, as a picture or a page, and what each head does.

  mha-maps show maps.npz --head 0                  a heat map that fits the terminal
  mha-maps render maps.npz -o maps.html            one page to click through, no network
  mha-maps analyze maps.npz                        a row a head: entropy, pattern, like heads
)";

constexpr const char* kFooter =
    R"(Maps are [n_heads, n_q, n_k] in any file that mha-run writes, with axes for layers and a
batch in front where there are some; file.npz:NAME takes one tensor of several. A map file in
.npz brings its labels along.
Exit status: 0 done; 2 the command line or the data is wrong; 3 the system failed (a file,
disk, memory); 141 the reader of standard output went away.
mha-maps COMMAND --help shows a command's options.)";

// Text of the options that are turned into values after parsing.
struct Texts {
  std::string labels, layers, heads, queries, keys, delimiters, key_lengths;
  int verbose = 0;
  bool quiet = false;
};

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& text,
                      Texts& texts) {
  CLI::App* command = app.add_subcommand(name, text);
  set_up_help(*command);
  command->allow_extras();
  command->add_flag("-q,--quiet", texts.quiet, "Say nothing but errors");
  return command;
}

void add_maps_options(CLI::App& command, MapsOptions& maps, Texts& texts) {
  command
      .add_option("--labels", texts.labels,
                  "Name the tokens: rows, columns, or both where they are as many")
      ->type_name("a,b,...");
  command
      .add_option("--axes", maps.fourth_axis,
                  "What the first of four axes is, where the file does not say\n"
                  "(default: layers)")
      ->type_name("layers|batch");
}

void add_choice(CLI::App& command, MapsChoice& choice, Texts& texts) {
  const char* group = "Selection";
  command.add_option("--layer", texts.layers, "Take these layers only")
      ->type_name("0,3,...")
      ->group(group);
  command.add_option("--head", texts.heads, "Take these heads only")
      ->type_name("0,3,...")
      ->group(group);
  command.add_option("--item", choice.item, "Take this sequence of a batch (default: 0)")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--query", texts.queries, "Take these rows only, by label, number or range")
      ->type_name("it,3,5-7")
      ->group(group);
  command.add_option("--key", texts.keys, "Take these columns only, likewise")
      ->type_name("it,3,5-7")
      ->group(group);
}

void add_show_options(CLI::App& command, ShowOptions& show) {
  const char* group = "Drawing";
  command
      .add_option("--top", show.top,
                  "Draw each head by itself and name the N heaviest keys\nbehind each query")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--width", show.width,
                  "Draw N columns wide (default: COLUMNS, the terminal's or 80)")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--color", show.color,
                  "Draw in colour; auto: where the terminal has some and NO_COLOR\n"
                  "is not set, else in shades of grey")
      ->type_name("auto|truecolor|256|never")
      ->capture_default_str()
      ->group(group);
}

void finish_show(const ShowOptions& show) {
  if (show.width && *show.width < kNarrowestHeatmap) {
    throw Error("--width: " + std::to_string(*show.width) + " is not a number from " +
                std::to_string(kNarrowestHeatmap));
  }
}

void finish_maps(const std::string& input, MapsOptions& maps, const Texts& texts) {
  if (input.empty()) throw Error("FILE is missing; see --help");
  if (!texts.labels.empty()) maps.labels = split_at_commas(texts.labels);
  const std::string& axis = maps.fourth_axis;
  if (!axis.empty() && axis != "layers" && axis != "batch") {
    refuse_word("--axes", axis, "layers or batch");
  }
}

void finish_choice(MapsChoice& choice, const Texts& texts) {
  if (!texts.layers.empty()) choice.layers = parse_counts("--layer", texts.layers);
  if (!texts.heads.empty()) choice.heads = parse_counts("--head", texts.heads);
  if (!texts.queries.empty()) choice.queries = split_at_commas(texts.queries);
  if (!texts.keys.empty()) choice.keys = split_at_commas(texts.keys);
}

void finish_analyze(AnalyzeOptions& options, const Texts& texts) {
  if (options.inputs.empty()) throw Error("FILE is missing; see --help");
  for (const std::string& input : options.inputs) finish_maps(input, options.maps, texts);
  if (std::ranges::count(options.inputs, "-") > 1) {
    throw Error("standard input (-) can be read once only");
  }
  if (!texts.key_lengths.empty()) {
    options.key_lengths = parse_counts("--key-lengths", texts.key_lengths);
  }
  if (!texts.delimiters.empty()) options.delimiters = split_at_commas(texts.delimiters);
  if (options.format != "text" && options.format != "json" && options.format != "csv") {
    refuse_word("--format", options.format, "text, json or csv");
  }
  if (options.rollout && options.format == "csv") {
    throw Error("--rollout: is a matrix beside the table, --format json or text shows both");
  }
}

// The word that stands where a command should.
void refuse_unknown_command(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  const std::vector<std::string> commands = {"show", "render", "analyze"};
  if (!words.empty() && words.front().rfind('-', 0) != 0) {
    throw Error("'" + printable(words.front()) + "' is no command" +
                did_you_mean(words.front(), commands) + "; expected " + list_of(commands) +
                "; see --help");
  }
  refuse_unknown(app);
}

}  // namespace

MapsRequest parse_maps_options(int argc, const char* const* argv) {
  MapsRequest request;
  Texts texts;
  ShowOptions show;
  RenderOptions render;
  AnalyzeOptions analyze;
  CLI::App app(kExamples, "mha-maps");
  set_up_help(app);
  app.set_version_flag("--version", "mha-maps " MHA_VERSION);
  app.footer(kFooter);
  app.allow_extras();
  app.require_subcommand(0, 1);

  CLI::App* showing = add_command(app, "show", "Draw heat maps on the terminal", texts);
  showing->add_option("FILE", show.input, "Maps, [n_heads, n_q, n_k]")->type_name("");
  add_maps_options(*showing, show.maps, texts);
  add_choice(*showing, show.choice, texts);
  add_show_options(*showing, show);

  CLI::App* rendering =
      add_command(app, "render", "Draw a picture (PNG, SVG) or a page (HTML)", texts);
  rendering->add_option("FILE", render.input, "Maps, [n_heads, n_q, n_k]")->type_name("");
  rendering
      ->add_option("-o,--output", render.output,
                   "Write the picture; the suffix names the format. In PNG letters beyond\n"
                   "ASCII are boxes; SVG and HTML show those of all scripts")
      ->type_name("FILE|-");
  rendering
      ->add_option("--format", render.format, "Write png, svg or html, whatever the suffix")
      ->type_name("NAME");
  add_maps_options(*rendering, render.maps, texts);
  add_choice(*rendering, render.choice, texts);

  CLI::App* analyzing = add_command(app, "analyze", "Say what each head does", texts);
  analyzing
      ->add_option("FILE", analyze.inputs,
                   "Maps, [n_heads, n_q, n_k]; several files add up to one table")
      ->type_name("");
  analyzing->add_option("--format", analyze.format, "Print text (default), json or csv")
      ->type_name("NAME");
  analyzing
      ->add_option("--delimiters", texts.delimiters,
                   "Take keys of these labels as delimiters (default: [CLS], [SEP],\n"
                   "<s> and the like, and punctuation)")
      ->type_name("a,b,...");
  analyzing
      ->add_option("--key-lengths", texts.key_lengths,
                   "Take keys from this index on as padding, a number per sequence")
      ->type_name("a,b,...");
  analyzing->add_flag("--rollout", analyze.rollout,
                      "Follow attention through the layers (Abnar & Zuidema 2020)");
  analyzing->add_flag("--full", analyze.full, "Shorten no matrix");
  add_maps_options(*analyzing, analyze.maps, texts);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto asked = app.get_subcommands();
    request.command = asked.empty() ? app.help() : asked.front()->help("mha-maps");
    return request;
  } catch (const CLI::CallForVersion&) {
    request.command = "mha-maps " MHA_VERSION "\n";
    return request;
  } catch (const CLI::ParseError& error) {
    throw Error(std::string(error.what()) + "; see --help");
  }
  refuse_unknown_command(app);
  for (const CLI::App* command : {showing, rendering, analyzing}) {
    if (!command->parsed()) continue;
    refuse_unknown(*command);
    refuse_wrong_values(*command);
  }
  if (texts.quiet) request.loudness = Loudness::quiet;
  if (showing->parsed()) {
    finish_maps(show.input, show.maps, texts);
    finish_choice(show.choice, texts);
    finish_show(show);
    request.command = show;
  } else if (rendering->parsed()) {
    finish_maps(render.input, render.maps, texts);
    finish_choice(render.choice, texts);
    if (render.output.empty()) throw Error("--output FILE is missing; see --help");
    request.command = render;
  } else if (analyzing->parsed()) {
    finish_analyze(analyze, texts);
    request.command = analyze;
  } else {
    throw Error("a command is missing, expected show, render or analyze; see --help");
  }
  return request;
}

}  // namespace mha
