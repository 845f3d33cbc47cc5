#include "checkpoint/model_options.h"

#include "files/format.h"

namespace mha {

std::string layer_not_there(std::size_t layer, std::size_t n_layers) {
  return "layer " + std::to_string(layer) + " is not there, " +
         (n_layers == 1 ? "there is layer 0 alone"
                        : "layers are 0 to " + std::to_string(n_layers - 1));
}

TranslateOptions translate_options(const ModelOptions& options) {
  return {options.prefix, options.config, options.n_heads, options.n_kv_heads,
          options.rope.has_value()};
}

std::vector<Said> said_by(const ModelOptions& options) {
  std::vector<Said> said;
  const auto add = [&](const char* name, const char* option, auto value, auto text) {
    if (value) said.push_back({name, std::string(text(*value)), option});
  };
  const auto count = [](std::size_t value) { return std::to_string(value); };
  const auto number = [](double value) { return format_number(value); };
  const auto word = [](auto value) { return name_of_value(value); };
  add("n_heads", "--n-heads", options.n_heads, count);
  add("n_kv_heads", "--n-kv-heads", options.n_kv_heads, count);
  add("scale", "--scale", options.scale, number);
  add("softcap", "--softcap", options.softcap, number);
  add("causal", "--causal", options.causal, word);
  add("rope", "--rope", options.rope, word);
  add("rope_theta", "--rope-theta", options.rope_theta, number);
  add("norm", "--norm", options.norm, word);
  add("activation", "--activation", options.activation, word);
  add("eps", "--eps", options.eps, number);
  return said;
}

}  // namespace mha
