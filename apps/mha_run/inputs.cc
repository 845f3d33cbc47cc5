#include "mha_run/inputs.h"

#include "base/error.h"
#include "files/raw.h"

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
}

template <typename T>
std::string describe(const std::string& role, const Sequences<T>& sequences) {
  return role + sequences.where + ", " + sequences.form + " " +
         to_string(sequences.values.shape()) + "\n";
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
  inputs.archive = options.raw.empty() ? open_archive(options.weights)
                                       : open_raw(options.weights, options.raw);
  inputs.model = load_attention<T>(inputs.archive, options.model);
  ablate(inputs.model.weights, options.ablate);
  const bool any_value = options.model.allow_nonfinite;
  inputs.x = read_sequences<T>(options.input, any_value);
  if (!options.key.empty()) inputs.key = read_sequences<T>(options.key, any_value);
  if (!options.value.empty()) inputs.value = read_sequences<T>(options.value, any_value);
  const AttentionSizes& sizes = inputs.model.weights.sizes;
  inputs.run = {sizes, check_inputs(sizes, inputs.tensors(), names_of(inputs)),
                inputs.x.values.rank() == 3};
  inputs.mask = read_masks<T>(options, inputs.run.axes);
  label(inputs, options.labels);
  return inputs;
}

template <typename T>
std::string describe(const RunInputs<T>& inputs) {
  const AttentionSizes& sizes = inputs.model.weights.sizes;
  std::string text = "weights  " + inputs.archive.path + ", " + inputs.archive.container +
                     ", " + std::to_string(sizes.n_heads) +
                     (sizes.n_heads == 1 ? " head" : " heads");
  if (sizes.n_kv_heads != sizes.n_heads) {
    text += " on " + std::to_string(sizes.n_kv_heads) +
            (sizes.n_kv_heads == 1 ? " key/value head" : " key/value heads");
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
