#include "model_options.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "command_line.h"
#include "files/names.h"
#include "files/raw.h"

namespace mha {
namespace {

constexpr const char* kGroup = "Model";

template <typename Value>
void parse(const std::string& option, const std::string& text, std::optional<Value>& value) {
  if (!text.empty()) value = parse_word<Value>(option, text);
}

// "5", "2-4" or "all"
std::optional<LayerRange> parse_layers(const std::string& text) {
  if (text.empty() || text == "all") return std::nullopt;
  const std::string subject = "--layer: '" + printable(text) + "'";
  const auto number = [&](std::string_view digits) {
    std::size_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    if (failure == std::errc() && stop == end) return value;
    throw Error(subject +
                " names no layers; expected one, as in 5, a range, as in 2-4, or all");
  };
  const std::string_view all = text;
  const std::size_t dash = all.find('-');
  const std::size_t first = number(all.substr(0, dash));
  const std::size_t last = dash == all.npos ? first : number(all.substr(dash + 1));
  if (first <= last) return LayerRange{first, last};
  throw Error(subject + " ends before it begins");
}

}  // namespace

void add_model_options(CLI::App& app, WeightsInput& input, ModelTexts& texts, Rare& rare) {
  ModelOptions& options = input.model;
  const auto rarely = [&rare](CLI::Option* option) { rare.push_back(option->group(kGroup)); };
  app.add_option("--layer", texts.layers,
                 "Take these encoder layers, counted from 0: 5, 2-4 or all (default);\n"
                 "a stack's last norm runs only with all")
      ->type_name("K|A-B|all")
      ->group(kGroup);
  app.add_option("--part", texts.part,
                 "Stop after (the last layer's) attention, or run the whole layer;\n"
                 "default: all that the file holds")
      ->type_name("attention|layer")
      ->group(kGroup);
  app.add_option("--config", options.config,
                 "Read model settings, native or Hugging Face's (default: config.json\n"
                 "beside the weights)")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--prefix", options.prefix,
                 "Take this tower of a file with several: vision_model., encoder.")
      ->type_name("P")
      ->group(kGroup);
  app.add_option("--n-heads", options.n_heads,
                 "Split matrices into N heads, where neither file nor config says")
      ->type_name("N")
      ->group(kGroup);
  rarely(app.add_option("--n-kv-heads", options.n_kv_heads,
                        "Take N key/value heads, each read by n_heads / N query heads")
             ->type_name("N"));
  app.add_flag("--causal{start}", texts.causal,
               "Let query i see keys j <= i only, both counted from the start;\n"
               "--causal=end aligns the last query with the last key,\n"
               "--causal=off drops what the file says")
      ->group(kGroup);
  app.add_option("--scale", options.scale, "Multiply scores by S in place of 1/sqrt(d_head)")
      ->type_name("S")
      ->group(kGroup);
  rarely(app.add_option("--softcap", options.softcap,
                        "Turn scaled scores into C tanh(score / C); 0: do not")
             ->type_name("C"));
  rarely(app.add_option("--norm", texts.norm,
                        "Normalise after the residual sums, or what enters attention\n"
                        "and feed-forward")
             ->type_name("post|pre"));
  rarely(app.add_option("--activation", texts.activation,
                        "Take this in the feed-forward: " + one_of(value_names<Activation>()) +
                            "; gelu is erf's")
             ->type_name("NAME"));
  rarely(app.add_option("--eps", options.eps,
                        "Add E to the variance in the norms, inside the root")
             ->type_name("E"));
  rarely(app.add_option("--rope", texts.rope,
                        "Turn q and k by their positions, channels paired with the\n"
                        "other half's or with neighbours")
             ->type_name("halves|pairs|none"));
  rarely(app.add_option("--rope-theta", options.rope_theta,
                        "Take T as base of the rotary frequencies (default 10000)")
             ->type_name("T"));
  rarely(app.add_flag("--absorb", options.absorb,
                      "Compute latent attention with W_UK and W_UV multiplied into\n"
                      "W_UQ and W_O"));
  rarely(app.add_flag("--allow-nonfinite", options.allow_nonfinite,
                      "Let NaN and Inf in weights and inputs through"));
  rarely(app.add_option(
                "--raw", input.raw,
                "Read headerless weights: d_model=512,n_heads=8[,d_head=][,dtype=][,bias]")
             ->type_name("LAYOUT"));
}

void finish_model_options(ModelOptions& options, const ModelTexts& texts) {
  parse("--causal", texts.causal, options.causal);
  parse("--rope", texts.rope, options.rope);
  parse("--norm", texts.norm, options.norm);
  parse("--activation", texts.activation, options.activation);
  parse("--part", texts.part, options.part);
  options.layers = parse_layers(texts.layers);
  for (const auto& [name, value] :
       {std::pair{"--scale", options.scale}, std::pair{"--rope-theta", options.rope_theta},
        std::pair{"--eps", options.eps}}) {
    if (value) require(name, *value, std::isfinite(*value) && *value > 0, "a number above 0");
  }
  if (const auto softcap = options.softcap) {
    require("--softcap", *softcap, std::isfinite(*softcap) && *softcap >= 0,
            "a number from 0");
  }
}

Archive open_weights(const WeightsInput& input) {
  return input.raw.empty() ? open_archive(input.path) : open_raw(input.path, input.raw);
}

}  // namespace mha
