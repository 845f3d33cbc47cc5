#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "catch.h"
#include "checkpoint/load.h"
#include "layer/encoder.h"
#include "support/golden.h"

// The checkpoints of tests/golden/schemes and what their families make of them.
namespace mha {

inline ModelOptions with_heads(std::size_t n_heads, std::string prefix = "") {
  ModelOptions options;
  options.n_heads = n_heads;
  options.prefix = std::move(prefix);
  return options;
}

inline ModelOptions with_prefix(std::string prefix) {
  ModelOptions options;
  options.prefix = std::move(prefix);
  return options;
}

inline std::string scheme_path(const std::string& file) {
  return source_path("tests/golden/schemes/" + file);
}

inline ModelOptions with_config(const std::string& file) {
  ModelOptions options;
  options.config = scheme_path(file);
  return options;
}

struct SchemeGolden {
  std::string file;                       // the checkpoint, under tests/golden/schemes
  std::string scheme;                     // by which it is recognised
  ModelOptions options;                   // what its own files do not say
  std::string expected = "expected.npz";  // beside it
};

// Keeps the maps of every layer, [batch, n_heads, n_queries, columns] each.
template <typename T>
class MapsOfLayers final : public StackObserver<T> {
 public:
  MapsOfLayers(const Encoder<T>& encoder, const MaskAxes& axes) {
    for (const Layer<T>& layer : encoder.layers) {
      const AttentionSizes& sizes = layer.attention.sizes;
      layers_.emplace_back(
          Shape{axes.batch, sizes.n_heads, axes.n_queries, sizes.columns(axes.n_keys)});
    }
  }
  Observer<T>& layer(std::size_t index) override { return layers_.at(index); }

  // Of all layers one after another.
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Maps& layer : layers_) {
      all.insert(all.end(), layer.kept.values().begin(), layer.kept.values().end());
    }
    return all;
  }

 private:
  struct Maps final : Observer<T> {
    explicit Maps(Shape shape) : kept(Tensor<T>::zeros(std::move(shape))) {}
    bool wants(Step step) const override { return step == Step::maps; }
    void rows(Step step, const Place& place, ConstMatrixView<T> block) override {
      if (step != Step::maps) return;
      const auto whole = kept.matrix(place.item * kept.shape()[1] + place.head);
      for (std::size_t i = 0; i < block.rows; ++i) {
        std::copy_n(block.row(i), block.cols, whole.row(place.first_row + i));
      }
    }
    Tensor<T> kept;
  };
  std::vector<Maps> layers_;
};

// Largest difference, in units of the largest expected number; NaN where there
// is one.
inline double distance(const std::vector<double>& found, const Tensor<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double largest = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double one = std::abs(found[i] - expected.data()[i]);
    if (!(one <= largest)) largest = one;
    size = std::max(size, std::abs(expected.data()[i]));
  }
  return largest / size;
}

struct Distances {
  double y = 0.0;
  double maps = 0.0;
};

// Runs a loaded model on a golden's inputs and says how far it is from what
// was expected.
template <typename T>
Distances run_golden(const Encoder<T>& encoder, const Archive& golden) {
  const auto x = read<T>(golden, "x");
  const bool self = golden.find("key") == nullptr;
  const auto key = self ? Tensor<T>() : read<T>(golden, "key");
  const auto value = self ? Tensor<T>() : read<T>(golden, "value");
  const AttentionInputs<T> inputs = {x, self ? x : key, self ? x : value};
  const MaskAxes axes = check_inputs(encoder.layers.at(0).attention.sizes, inputs);
  MapsOfLayers<T> maps(encoder, axes);
  AttentionFindings findings;
  const Tensor<T> y = encode(encoder, {}, inputs, maps, findings);
  CHECK(findings.empty_rows == 0);
  return {distance({y.values().begin(), y.values().end()}, read<double>(golden, "y")),
          distance(maps.values(), read<double>(golden, "maps"))};
}

inline Archive expected_of(const SchemeGolden& golden) {
  const std::string folder = golden.file.substr(0, golden.file.find('/') + 1);
  return open_archive(scheme_path(folder + golden.expected));
}

}  // namespace mha
