#pragma once

#include <cmath>
#include <cstddef>
#include <optional>

namespace mha {

// Which keys a query sees by its position. `start` aligns the first query with
// the first key (query i sees keys j <= i), `end` the last query with the last
// key (j <= i + n_keys - n_queries).
enum class Causal { off, start, end };

// How attention scores its keys; what is not said has the default here.
struct AttentionSettings {
  std::optional<double> scale;  // default 1 / sqrt(d_head)
  double softcap = 0.0;         // scores become C tanh(score / C); 0: not at all
  Causal causal = Causal::off;
  bool allow_nonfinite = false;  // scores that overflow pass instead of throwing
};

inline double scale_of(const AttentionSettings& settings, std::size_t d_head) {
  return settings.scale.value_or(1.0 / std::sqrt(static_cast<double>(d_head)));
}

}  // namespace mha
