#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heads/measures.h"
#include "tensor/tensor.h"

namespace mha {

// What an analysis of maps found.
struct Findings {
  struct Head {
    std::optional<std::size_t> layer;  // its number, where there are some
    std::string name;                  // "0", "mean over heads"
    HeadMeasures map{};
  };
  struct Rollout {
    std::vector<std::string> labels;  // of tokens; empty: none
    Tensor<double> values;            // [n, n]
  };

  std::size_t sequences = 0;
  bool delimiters = false;  // it is known which keys are some
  std::vector<Head> heads;
  Tensor<double> distances;       // [heads, heads], Jensen-Shannon, nats
  std::vector<Rollout> rollouts;  // of each sequence, where they were asked for
};

// Heads that are no further apart than this, in nats, are alike.
inline constexpr double kAlike = 0.05;

// "previous 0.93": the pattern with its strength; "offset +2 0.97" where it is positional.
std::string pattern_text(const HeadMeasures& measures);

// A table for a person, at most 100 columns wide with usual names: a row a head; then groups
// of like heads, the distances (shortened beyond a dozen heads) and the rollouts; `full`
// shortens nothing. Labels are made printable.
std::string findings_text(const Findings& findings, bool full = false);

// {"sequences", "heads": [{"layer", "head", "pattern", "rows", …, "nearest": {"layer", "head",
// "js"}, "group"}, …], "js": [[…]], "rollouts": [[[…]], …]}; a layer that has no number, a
// delimiter that is not known, a nearest head where there is none: null.
std::string findings_json(const Findings& findings);

// A line of names, then a line a head.
std::string findings_csv(const Findings& findings);

}  // namespace mha
