#include "mha_maps/analyze.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/names.h"
#include "heads/delimiters.h"
#include "heads/measure_heads.h"
#include "heads/rollout.h"
#include "mha_maps/files.h"
#include "program.h"
#include "results/findings.h"
#include "threads.h"

namespace mha {
namespace {

// Of the rows of all heads that are held at a time.
constexpr std::size_t kBlockBytes = std::size_t{32} << 20;
// What a row may have on padding: masks of finite numbers leave some dust there.
constexpr double kDust = 1e-3;

// What adds up must be the maps of the same heads.
void require_same_heads(const MapsFile& file, const MapsFile& first) {
  const auto heads_of = [](const MapsFile& maps) {
    return (maps.has_layers ? count_of(maps.layers, "layer") + " of " : "") +
           count_of(maps.heads, "head");
  };
  if (heads_of(file) != heads_of(first)) {
    throw Error(file.where + " has " + heads_of(file) + ", expected " + heads_of(first) +
                " as " + first.where + " has");
  }
  if (file.layer_numbers != first.layer_numbers || file.head_names != first.head_names) {
    throw Error(file.where + " has other layers or heads than " + first.where +
                " by their numbers and names, expected the same");
  }
}

// Measures take padding to be without weight: an entropy would be more than that of equal
// weights on the keys that are left.
void require_no_weight_behind(std::size_t keys, ConstMatrixView<float> rows,
                              const std::string& source) {
  for (std::size_t i = 0; i < rows.rows; ++i) {
    double weight = 0.0;
    for (std::size_t j = keys; j < rows.cols; ++j) {
      weight += static_cast<double>(rows.row(i)[j]);
    }
    if (weight <= kDust) continue;
    throw Error("--key-lengths: " + source + " has weight " + format_number(weight) +
                " behind its " + count_of(keys, "key") +
                ", expected none on padding; were these maps computed without the mask?");
  }
}

// Adds up the maps of all sequences of all files.
class Analysis {
 public:
  explicit Analysis(const AnalyzeOptions& options)
      : options_(options), unseen_(options.delimiters) {}

  void add(MapsFile file) {
    if (!first_) {
      heads_.emplace(file.layers * file.heads);
      name_heads(file);
      findings_.delimiters = true;
    } else {
      require_same_heads(file, *first_);
    }
    const std::vector<std::uint8_t> delimiters = delimiters_in(file);
    for (std::size_t item = 0; item < file.items; ++item, ++findings_.sequences) {
      add_rows(file, item, delimiters);
      if (options_.rollout) add_rollout(file, item);
    }
    if (!first_) first_ = std::move(file);
  }

  Findings findings() {
    const std::size_t lengths = options_.key_lengths.size();
    if (lengths != 0 && lengths != findings_.sequences) {
      throw Error("--key-lengths: " + count_of(lengths, "number") + ", expected " +
                  std::to_string(findings_.sequences) + ", one for each sequence");
    }
    if (!unseen_.empty()) {
      throw Error("--delimiters: '" + printable(unseen_.front()) + "' is no key's label");
    }
    for (std::size_t i = 0; i < findings_.heads.size(); ++i) {
      findings_.heads[i].map = heads_->measures(i);
    }
    findings_.distances = heads_->distances();
    return std::move(findings_);
  }

 private:
  // Of the sequence that comes now, without padding.
  std::size_t keys_of(const MapsFile& file) const {
    const std::vector<std::size_t>& lengths = options_.key_lengths;
    if (lengths.empty()) return file.n_keys;
    if (findings_.sequences >= lengths.size()) {
      throw Error("--key-lengths: " + count_of(lengths.size(), "number") +
                  ", expected one for each sequence; with " + file.where + " there are more");
    }
    const std::size_t length = lengths[findings_.sequences];
    if (length > file.n_keys) {
      throw Error("--key-lengths: " + std::to_string(length) + " is more than the " +
                  count_of(file.n_keys, "key") + " of " + file.where);
    }
    return length;
  }

  // Where queries are as many as keys, padding is theirs too.
  std::size_t queries_of(const MapsFile& file) const {
    return file.n_queries == file.n_keys ? keys_of(file) : file.n_queries;
  }

  void name_heads(const MapsFile& file) {
    constexpr std::string_view kPrefix = "head ";
    for (std::size_t layer = 0; layer < file.layers; ++layer) {
      for (std::string name : file.head_names) {
        if (name.starts_with(kPrefix)) name.erase(0, kPrefix.size());
        Findings::Head head;
        if (file.has_layers) head.layer = file.layer_numbers[layer];
        head.name = std::move(name);
        findings_.heads.push_back(std::move(head));
      }
    }
  }

  std::vector<std::uint8_t> delimiters_in(const MapsFile& file) {
    if (file.keys.empty()) {
      if (!options_.delimiters.empty()) {
        throw Error("--delimiters: the keys of " + file.where +
                    " have no labels; --labels names them");
      }
      findings_.delimiters = false;
    }
    std::erase_if(unseen_,
                  [&](const std::string& word) { return is_one_of(word, file.keys); });
    return delimiters_of(file.keys, options_.delimiters);
  }

  void add_rows(const MapsFile& file, std::size_t item,
                const std::vector<std::uint8_t>& delimiters) {
    const std::size_t heads = file.layers * file.heads;
    const std::size_t queries = queries_of(file);
    const std::size_t block = std::clamp<std::size_t>(
        kBlockBytes / (heads * file.n_keys * sizeof(float)), 1, file.n_queries);
    for (std::size_t first = 0; first < queries; first += block) {
      const std::size_t rows = std::min(block, queries - first);
      std::vector<Tensor<float>> maps;
      std::vector<ConstMatrixView<float>> views;
      for (std::size_t head = 0; head < heads; ++head) {
        maps.push_back(read_map_rows<float>(file, head / file.heads, item, head % file.heads,
                                            first, rows));
        views.push_back(std::as_const(maps.back()).matrix());
        require_no_weight_behind(keys_of(file), views.back(), file.where);
      }
      heads_->rows(static_cast<std::ptrdiff_t>(first),
                   std::span<const ConstMatrixView<float>>(views),
                   {keys_of(file), 0, delimiters});
    }
  }

  void add_rollout(const MapsFile& file, std::size_t item) {
    if (file.n_queries != file.n_keys) {
      throw Error("--rollout: " + file.where + " has " +
                  count_of(file.n_queries, "query row") + " on " +
                  count_of(file.n_keys, "key") + ", expected as many");
    }
    const std::size_t n = queries_of(file);
    require_memory(3 * n * (n + file.n_keys) * sizeof(double),
                   "--rollout over " + std::to_string(n) + " tokens");
    Tensor<double> rollout = no_rollout(n);
    for (std::size_t layer = 0; layer < file.layers && n > 0; ++layer) {
      Tensor<double> mean = Tensor<double>::zeros({n, file.n_keys});
      for (std::size_t head = 0; head < file.heads; ++head) {
        const Tensor<double> map = read_map_rows<double>(file, layer, item, head, 0, n);
        for (std::size_t i = 0; i < map.size(); ++i) {
          mean.data()[i] += map.data()[i] / static_cast<double>(file.heads);
        }
      }
      roll_out(std::as_const(mean).matrix().col_block(0, n), rollout);
    }
    std::vector<std::string> labels = file.queries;
    labels.resize(std::min(labels.size(), n));
    findings_.rollouts.push_back({std::move(labels), std::move(rollout)});
  }

  const AnalyzeOptions& options_;
  std::vector<std::string> unseen_;  // delimiters that no file has had so far
  std::optional<MapsFile> first_;
  std::optional<MeasureHeads> heads_;
  Findings findings_;
};

}  // namespace

void analyze(const AnalyzeOptions& options) {
  set_up_threads(std::nullopt);
  Analysis analysis(options);
  std::vector<std::string> names;
  for (const std::string& input : options.inputs) {
    MapsFile file = open_maps_file(input, options.maps);
    names.push_back(file.where + " " + to_string(file.member.shape));
    analysis.add(std::move(file));
  }
  const Findings findings = analysis.findings();
  if (options.format == "json") {
    print(findings_json(findings));
  } else if (options.format == "csv") {
    print(findings_csv(findings));
  } else {
    print("maps  " + list_of(names, 3) + "\n" + findings_text(findings, options.full));
  }
}

}  // namespace mha
