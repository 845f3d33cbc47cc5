#include "mha_run/inputs.h"

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

template <typename T>
Mask<T> read_masks(const RunOptions& options, const MaskAxes& axes) {
  Mask<T> mask;
  for (const std::string& spec : options.keep_masks) {
    mask.drop.push_back(read_drop_mask(spec, true, axes));
    log_detail("keep mask " + spec + ": 1 = may attend");
  }
  for (const std::string& spec : options.drop_masks) {
    mask.drop.push_back(read_drop_mask(spec, false, axes));
    log_detail("drop mask " + spec + ": 1 = may not attend");
  }
  for (const std::string& spec : options.add_masks) {
    std::string doubtful;
    mask.add.push_back(read_add_mask<T>(spec, axes, doubtful));
    if (!doubtful.empty()) log_warning(doubtful);
  }
  mask.key_lengths = options.key_lengths;
  if (!mask.key_lengths.empty() && mask.key_lengths.size() != axes.batch) {
    throw Error("--key-lengths: " + std::to_string(mask.key_lengths.size()) +
                " numbers, expected " + std::to_string(axes.batch) +
                ", one for each item of the batch");
  }
  for (const std::size_t length : mask.key_lengths) {
    if (length > axes.n_keys) {
      throw Error("--key-lengths: " + std::to_string(length) + " is more than the " +
                  std::to_string(axes.n_keys) + " keys there are");
    }
  }
  return mask;
}

// What stands behind the keys in the maps has no token; its columns are called
// after what they are.
void label_extra_columns(std::vector<std::string>& labels, const AttentionSizes& sizes) {
  if (labels.empty()) return;
  if (sizes.bias_key) labels.emplace_back("bias_k");
  if (sizes.zero_key) labels.emplace_back("zero");
}

// Labels from the option name the queries, and the keys where these are the
// same tokens; a file's own name its own tokens, where their number fits.
template <typename T>
void label(RunInputs<T>& inputs, const std::vector<std::string>& option) {
  const Sequences<T>& keys = inputs.key ? *inputs.key : inputs.x;
  if (!option.empty() && option.size() != inputs.run.axes.n_queries) {
    throw Error("--labels: " + std::to_string(option.size()) + " names, expected " +
                std::to_string(inputs.run.axes.n_queries) + ", one for each token of " +
                inputs.x.where);
  }
  inputs.query_labels = option.empty() ? inputs.x.labels : option;
  inputs.key_labels = option.empty() || inputs.key ? keys.labels : option;
  if (inputs.query_labels.size() != inputs.run.axes.n_queries) inputs.query_labels.clear();
  if (inputs.key_labels.size() != inputs.run.axes.n_keys) inputs.key_labels.clear();
  label_extra_columns(inputs.key_labels, inputs.run.layers.front().sizes.attention);
}

template <typename T>
std::string describe(const std::string& role, const Sequences<T>& sequences) {
  return role + sequences.where + ", " + sequences.form + " " +
         to_string(sequences.values.shape()) + "\n";
}

// Cross-attention is attention's alone: a layer adds what it read to its one input.
void refuse_cross_attention(const std::string& option, const OpenedModel& model) {
  const LayerSettings& settings = model.layers.front().settings;
  const bool alone = model.layers.size() == 1 && settings.part == Part::attention;
  if (alone && settings.norm == NormPlacement::post) return;
  throw Error(option + ": other sources are for attention alone, " +
              model.translated.archive.path +
              (alone ? " has attention that normalises its one input (norm is pre)"
                     : " runs whole encoder layers; --part attention stops before"));
}

template <typename T>
TracedRun run_of(const OpenedModel& model, const Encoder<T>& encoder,
                 const AttentionInputs<T>& tensors, const InputNames& names) {
  TracedRun run;
  for (const Layer<T>& layer : encoder.layers) {
    run.layers.push_back({layer.index, layer.sizes(), layer.settings});
  }
  run.axes = check_inputs(run.layers.front().sizes.attention, tensors, names);
  run.batched = tensors.x.rank() == 3;
  run.last_norm = model.final_norm;
  return run;
}

// "2 layers, post-norm, gelu, d_ff 3072, "; nothing for attention alone.
std::string describe_layers(const TracedRun& run, const OpenedModel& model) {
  const TracedLayer& first = run.layers.front();
  std::string text;
  if (model.translated.stack) {
    text += run.layers.size() == 1 ? "layer " + std::to_string(first.index)
                                   : "layers " + std::to_string(first.index) + " to " +
                                         std::to_string(run.layers.back().index);
    text += ", ";
  }
  if (first.settings.part == Part::attention && run.layers.size() == 1) {
    return text + (first.settings.norm == NormPlacement::pre ? "pre-norm attention, " : "");
  }
  text += std::string(first.settings.norm == NormPlacement::pre ? "pre" : "post") + "-norm, " +
          std::string(name_of_value(first.settings.activation)) + ", d_ff " +
          std::to_string(first.sizes.d_ff) + ", ";
  return text;
}

template <typename T>
Sequences<T> read_text(const RunOptions& options, OpenedModel& model) {
  std::vector<std::string> notes;
  Sequences<T> x = read_words<T>(options.text, model, options.weights.model, notes);
  for (const std::string& note : notes) log_detail(note);
  return x;
}

template <typename T>
InputNames names_of(const RunInputs<T>& inputs) {
  InputNames names{inputs.x.where};
  if (inputs.key) names.key = inputs.key->where;
  if (inputs.value) names.value = inputs.value->where;
  return names;
}

}  // namespace

template <typename T>
AttentionInputs<T> RunInputs<T>::tensors() const {
  const Tensor<T>& keys = key ? key->values : x.values;
  return {x.values, keys, value ? value->values : keys};
}

template <typename T>
RunInputs<T> read_inputs(const RunOptions& options) {
  RunInputs<T> inputs;
  const ModelOptions& asked = options.weights.model;
  inputs.archive = open_weights(options.weights);
  inputs.model = open_model(inputs.archive, asked);
  if (!options.key.empty()) refuse_cross_attention("--key", inputs.model);
  if (!options.value.empty()) refuse_cross_attention("--value", inputs.model);
  inputs.encoder = read_model<T>(inputs.model, asked);
  for (Layer<T>& layer : inputs.encoder.layers) ablate(layer.attention, options.ablate);
  const bool any_value = asked.allow_nonfinite;
  inputs.x = options.text.text.empty() ? read_sequences<T>(options.input, any_value)
                                       : read_text<T>(options, inputs.model);
  if (!options.key.empty()) inputs.key = read_sequences<T>(options.key, any_value);
  if (!options.value.empty()) inputs.value = read_sequences<T>(options.value, any_value);
  inputs.run = run_of(inputs.model, inputs.encoder, inputs.tensors(), names_of(inputs));
  inputs.mask = read_masks<T>(options, inputs.run.axes);
  label(inputs, options.labels);
  return inputs;
}

template <typename T>
std::string describe(const RunInputs<T>& inputs) {
  const AttentionSizes& sizes = inputs.run.layers.front().sizes.attention;
  const std::string& scheme = inputs.model.translated.scheme;
  std::string text = "weights  " + inputs.archive.path + ", " + inputs.archive.container +
                     (scheme == "native" ? "" : ", " + scheme) + ", " +
                     describe_layers(inputs.run, inputs.model) +
                     count_of(sizes.n_heads, "head");
  if (sizes.n_kv_heads != sizes.n_heads) {
    text += " on " + count_of(sizes.n_kv_heads, "key/value head");
  }
  text += ", d_model " + std::to_string(sizes.d_model) + ", d_head " +
          std::to_string(sizes.d_head);
  if (sizes.d_v != sizes.d_head) text += ", d_v " + std::to_string(sizes.d_v);
  text += "\n" + describe("input    ", inputs.x);
  if (inputs.key) text += describe("key      ", *inputs.key);
  if (inputs.value) text += describe("value    ", *inputs.value);
  return text;
}

template struct RunInputs<float>;
template struct RunInputs<double>;
template RunInputs<float> read_inputs<float>(const RunOptions&);
template RunInputs<double> read_inputs<double>(const RunOptions&);
template std::string describe<float>(const RunInputs<float>&);
template std::string describe<double>(const RunInputs<double>&);

}  // namespace mha
