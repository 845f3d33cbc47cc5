#include "mha_run/outputs.h"

#include <algorithm>

#include "mha_run/show.h"
#include "program.h"

namespace mha {
namespace {

constexpr const char* kStdout = "-";

// --format, else the suffix; npy on a pipe.
Format format_of(const RunOptions& options, const std::string& path) {
  if (options.format) return *options.format;
  return path == kStdout ? Format::npy : format_of_path(path);
}

void require_no_terminal(const WholeFile& file, Format format, const std::string& path) {
  if (format != Format::npy && format != Format::npz) return;
  mha::require_no_terminal(file, path, format == Format::npy ? "npy" : "npz",
                           ", or use --format text");
}

template <typename T>
ExpectedValues<T> open_expected(const std::string& spec, const std::string& name,
                                const Shape& shape) {
  const OpenedTensor opened = open_tensor(spec, name);
  ExpectedValues<T> expected(opened.archive, *opened.member);
  require_shape(expected, shape, opened.archive.container == "text",
                where(opened.archive, *opened.member), name);
  return expected;
}

ExcerptLimits limits_of(const RunOptions& options) {
  return options.full ? kNoLimits : ExcerptLimits{};
}

}  // namespace

template <typename T>
RunOutputs<T>::RunOutputs(const RunOptions& options, const RunInputs<T>& inputs)
    : options_(options),
      inputs_(inputs),
      y_path_(options.output),
      sinks_(inputs.run.layers.size()),
      select_(inputs.run.axes.n_heads, options.map_heads, options.average_heads) {
  const Shape& y_shape = inputs.x.values.shape();
  const std::size_t n_maps = select_.count();
  maps_shape_ = inputs.run.maps_shape(n_maps);

  if (options.show) {
    maps_shown_ = std::make_unique<Collect<T>>(maps_shape_, n_maps, "--show");
    select_.add(*maps_shown_);
  } else if (options.reports()) {
    if (!options.format) {
      maps_excerpt_ = std::make_unique<Excerpt<T>>(maps_shape_, n_maps, limits_of(options));
      select_.add(*maps_excerpt_);
    } else if (*options.format == Format::json) {
      maps_kept_ = std::make_unique<Collect<T>>(maps_shape_, n_maps, "--format json");
      select_.add(*maps_kept_);
    } else {
      y_path_ = kStdout;
    }
  }
  if (!options.maps.empty()) open_maps();
  if (!y_path_.empty()) {
    const Format format = format_of(options, y_path_);
    y_file_ = std::make_unique<WholeFile>(y_path_, element_count(y_shape) * sizeof(T));
    require_no_terminal(*y_file_, format, y_path_);
  }
  if (!options.trace.empty()) {
    trace_ = std::make_unique<TraceFile<T>>(options.trace, options.trace_only, inputs.run);
    require_no_terminal(trace_->file(), Format::npz, options.trace);
    trace_->watch(sinks_);
  }
  expect_values();
  if (maps_excerpt_ || maps_kept_ || maps_shown_ || maps_stream_ || maps_check_) {
    for (std::size_t place = 0; place < inputs.run.layers.size(); ++place) {
      from_layers_.push_back(
          std::make_unique<FromLayer<T>>(select_, place, inputs.run.axes.batch));
      sinks_.at(place).add(Step::maps, *from_layers_.back());
    }
  }
}

// .npy is streamed where the file can be written in any order.
template <typename T>
void RunOutputs<T>::open_maps() {
  const Format format = format_of(options_, options_.maps);
  const bool npy = format == Format::npy;
  const std::size_t n_maps = select_.count();
  maps_file_ = std::make_unique<WholeFile>(
      options_.maps, npy ? NpyStream<T>::file_size(options_.maps, maps_shape_) : 0);
  require_no_terminal(*maps_file_, format, options_.maps);
  if (npy && maps_file_->seekable() && options_.maps != kStdout) {
    maps_stream_ = std::make_unique<NpyStream<T>>(*maps_file_, maps_shape_, n_maps);
    select_.add(*maps_stream_);
  } else {
    maps_kept_ = std::make_unique<Collect<T>>(maps_shape_, n_maps, "--maps " + options_.maps);
    select_.add(*maps_kept_);
  }
}

template <typename T>
void RunOutputs<T>::expect_values() {
  const Shape& y_shape = inputs_.x.values.shape();
  if (!options_.expect.empty()) {
    y_check_ = std::make_unique<Compare<T>>(
        "y", open_expected<T>(options_.expect, "y", y_shape), 1, options_.tolerance);
    sinks_.at(inputs_.run.layers.size()).add(Step::y, *y_check_);
  }
  if (!options_.expect_maps.empty()) {
    maps_check_ = std::make_unique<Compare<T>>(
        "maps", open_expected<T>(options_.expect_maps, "maps", maps_shape_), select_.count(),
        options_.tolerance);
    select_.add(*maps_check_);
  }
  if (!options_.expect_trace.empty()) {
    trace_check_ = std::make_unique<ExpectedTrace<T>>(open_archive(options_.expect_trace),
                                                      inputs_.run, options_.tolerance);
    trace_check_->watch(sinks_);
  }
}

template <typename T>
int RunOutputs<T>::finish(const Tensor<T>& y, const HeadReport& heads) {
  if (y_file_) write_tensor(*y_file_, format_of(options_, y_path_), y, "y");
  if (maps_file_ && maps_kept_) {
    const Format format = format_of(options_, options_.maps);
    if (format == Format::npz) {
      write_maps_npz(*maps_file_, maps_kept_->tensor(), maps_members());
    } else {
      write_tensor(*maps_file_, format, maps_kept_->tensor(), "maps");
    }
  }
  if (trace_) trace_->write();

  if (y_file_) y_file_->commit();
  if (maps_file_) maps_file_->commit();
  if (trace_) trace_->file().commit();

  if (maps_shown_) {
    std::vector<std::string> names;
    for (std::size_t place = 0; place < select_.count(); ++place) {
      names.push_back(head_name(place));
    }
    mha::print_beside(options_,
                      describe(inputs_) + draw_maps(maps_shown_->tensor(), names, inputs_));
  }
  const bool json = options_.format == Format::json;
  bool json_of_heads = false;
  if (maps_excerpt_) {
    const std::string of_heads = head_report_text(heads);
    print(report(y) + (of_heads.empty() ? "" : "\n" + of_heads));
  } else if (maps_kept_ && !maps_file_) {
    print_json(y, heads);
  } else if (!heads.empty()) {
    json_of_heads = json;
    print_beside(json ? head_report_json(heads)
                      : (maps_shown_ ? "\n" : "") + head_report_text(heads));
  }
  // One document of JSON has nothing behind it.
  return print_verdicts(json_of_heads);
}

template <typename T>
std::string RunOutputs<T>::report(const Tensor<T>& y) const {
  const std::size_t batch = inputs_.run.axes.batch;
  const std::size_t n_maps = select_.count();
  const auto of_item = [&](std::size_t item) {
    return batch > 1 ? ", item " + std::to_string(item) : std::string();
  };
  Excerpt<T> rows(y.shape(), 1, limits_of(options_));
  for (std::size_t item = 0; item < batch; ++item) rows.rows({item, 0, 0}, y.matrix(item));

  std::string text = describe(inputs_);
  for (std::size_t item = 0; item < batch; ++item) {
    text += "\ny " + to_string(y.shape()) + of_item(item) + "\n";
    text += rows.matrix_text(item, inputs_.query_labels, {});
  }
  text += "\nmaps " + to_string(maps_shape_) + ": a row a query, a column a key\n";
  std::size_t matrix = 0;
  for (const TracedLayer& layer : inputs_.run.layers) {
    const std::string of_layer =
        inputs_.run.layers.size() > 1 ? "layer " + std::to_string(layer.index) + ", " : "";
    for (std::size_t item = 0; item < batch; ++item) {
      for (std::size_t place = 0; place < n_maps; ++place, ++matrix) {
        text += of_layer + head_name(place) + of_item(item) + "\n";
        text += maps_excerpt_->matrix_text(matrix, inputs_.query_labels, inputs_.key_labels);
      }
    }
  }
  return text;
}

template <typename T>
std::string RunOutputs<T>::head_name(std::size_t place) const {
  if (options_.average_heads) return "mean over heads";
  return "head " +
         std::to_string(options_.map_heads.empty() ? place : options_.map_heads[place]);
}

template <typename T>
MapsMembers RunOutputs<T>::maps_members() const {
  MapsMembers members{inputs_.run.batched ? "batch,heads,queries,keys" : "heads,queries,keys",
                      {},
                      {},
                      inputs_.query_labels,
                      inputs_.key_labels};
  if (inputs_.run.layers.size() > 1) {
    members.axes = "layers," + members.axes;
    for (const TracedLayer& layer : inputs_.run.layers) members.layers.push_back(layer.index);
  }
  const bool all = options_.map_heads.empty() && !options_.average_heads;
  for (std::size_t place = 0; place < (all ? 0 : select_.count()); ++place) {
    members.heads.push_back(head_name(place));
  }
  return members;
}

template <typename T>
void RunOutputs<T>::print_json(const Tensor<T>& y, const HeadReport& heads) const {
  WholeFile out(kStdout);
  out.write("{\"y\":\n");
  write_tensor(out, Format::json, y, "y");
  out.write(",\"maps\":\n");
  write_tensor(out, Format::json, maps_kept_->tensor(), "maps");
  if (heads.early_fusion) out.write("," + early_fusion_json(*heads.early_fusion) + "\n");
  out.write("}\n");
  out.commit();
}

template <typename T>
int RunOutputs<T>::print_verdicts(bool on_stderr) const {
  std::vector<Verdict> verdicts;
  if (trace_check_) verdicts = trace_check_->verdicts();
  const bool traced = !verdicts.empty();
  std::string text;
  if (traced) text += describe_first(verdicts);
  if (maps_check_) verdicts.push_back(maps_check_->verdict());
  if (y_check_) verdicts.push_back(y_check_->verdict());
  for (const Verdict& verdict : verdicts) text += describe(verdict, options_.tolerance);
  if (text.empty()) return 0;
  if (on_stderr) {
    log_result(text);
  } else {
    print_beside(text);
  }
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const Verdict& verdict) { return verdict.equal(); })
             ? 0
             : 1;
}

// A bare --format writes y to stdout, too.
template <typename T>
void RunOutputs<T>::print_beside(const std::string& text) const {
  if (y_path_ == kStdout) {
    log_result(text);
  } else {
    mha::print_beside(options_, text);
  }
}

void print_beside(const RunOptions& options, const std::string& text) {
  const auto paths = {options.output, options.maps, options.trace};
  const bool taken = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return same_target(path, kStdout);
  });
  if (taken) {
    log_result(text);
  } else {
    print(text);
  }
}

template class RunOutputs<float>;
template class RunOutputs<double>;

}  // namespace mha
