#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace mha {

// Which keys a query sees by its position. `start` aligns the first query with
// the first key (query i sees keys j <= i), `end` the last query with the last
// key (j <= i + n_keys - n_queries).
enum class Causal { off, start, end };

// Which channels of a head rotary positions turn together (Su et al. 2021,
// section 3.4.2): the i-th of both halves, or neighbours.
enum class Rope { none, halves, pairs };

// How attention scores its keys; what is not said has the default here.
struct AttentionSettings {
  std::optional<double> scale{};  // default 1 / sqrt(d_head)
  double softcap = 0.0;           // scores become C tanh(score / C); 0: not at all
  Causal causal = Causal::off;
  Rope rope = Rope::none;  // positions count from 0, as Causal aligns queries and keys
  double rope_theta = 10000.0;
  std::optional<std::size_t> window{};  // keys farther from the query than this are hidden
  // T5's relative bias: from this distance on, keys share one bucket.
  std::size_t relative_distance = 128;
  double latent_eps = 1e-6;      // of the norms on the latents
  bool allow_nonfinite = false;  // scores that overflow pass instead of throwing
  // An experiment: every head reads its own values with the mean of all heads' maps, the row
  // of a query that sees no key counting as zeros. Maps that are shown are the heads' own.
  bool early_fusion = false;
};

inline double scale_of(const AttentionSettings& settings, std::size_t d_head) {
  return settings.scale.value_or(1.0 / std::sqrt(static_cast<double>(d_head)));
}

// Where a layer normalises: what a residual sum gives (Vaswani et al. 2017), or
// what enters attention and feed-forward (Xiong et al. 2020).
enum class NormPlacement { post, pre };
enum class NormType { layer, rms };
enum class Activation { relu, gelu, gelu_tanh, quick_gelu, silu };

// How much of a layer runs: up to W_O, or all of it.
enum class Part { attention, layer };

// How one encoder layer computes; what is not said has the default here.
struct LayerSettings {
  AttentionSettings attention{};
  NormPlacement norm = NormPlacement::post;
  NormType norm_type = NormType::layer;
  Activation activation = Activation::relu;
  double eps = 1e-5;  // of the norms, inside the root
  Part part = Part::layer;
};

// What users call the values of a setting, in the order of its enumeration:
// of Rope "none", "halves", "pairs".
template <typename Value>
std::span<const std::string_view> value_names();
template <>
std::span<const std::string_view> value_names<Causal>();
template <>
std::span<const std::string_view> value_names<Rope>();
template <>
std::span<const std::string_view> value_names<NormPlacement>();
template <>
std::span<const std::string_view> value_names<NormType>();
template <>
std::span<const std::string_view> value_names<Activation>();
template <>
std::span<const std::string_view> value_names<Part>();

template <typename Value>
std::string_view name_of_value(Value value) {
  return value_names<Value>()[static_cast<std::size_t>(value)];
}

template <typename Value>
std::optional<Value> value_named(std::string_view name) {
  std::size_t place = 0;
  for (const std::string_view known : value_names<Value>()) {
    if (known == name) return static_cast<Value>(place);
    ++place;
  }
  return std::nullopt;
}

}  // namespace mha
