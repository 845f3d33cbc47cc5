#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heads/measures.h"
#include "tensor/view.h"

namespace mha {

// How far numbers moved.
struct Change {
  double largest = 0.0;   // abs(to - from)
  double relative = 0.0;  // Frobenius norms: ‖to - from‖ / ‖from‖; NaN where from is 0
};
template <typename T>
Change change_of(ConstMatrixView<T> from, ConstMatrixView<T> to);

// What one head does in a run. Norms are Frobenius norms over the queries of a sequence;
// with a batch, numbers of sequences are means over them.
struct HeadInRun {
  std::optional<std::size_t> layer;  // its number, where layers are said
  std::size_t head = 0;
  bool ablated = false;
  HeadMeasures map{};
  double share = 0.0;     // ‖O_r W_O^(r)‖ / ‖attention output‖
  double cosine = 0.0;    // of the two
  double ablation = 0.0;  // ‖Δy‖ / ‖y‖ of the run's y without the head
  // Of its layer, by Jensen-Shannon distance in nats; nothing where it is alone.
  std::optional<std::size_t> nearest;
  double distance = 0.0;
};

struct HeadReport {
  std::vector<HeadInRun> heads;
  std::optional<Change> early_fusion;  // of y, where heads were fused early

  bool empty() const { return heads.empty() && !early_fusion; }
};

// A table for a person, a row a head (none: nothing of it), and how far y moved.
std::string head_report_text(const HeadReport& report);

// {"heads": [{"layer", "head", "ablated", "pattern", "strength", "entropy", "entropy_share",
// "share", "cosine", "ablation", "nearest": {"head", "js"}}, …], "early_fusion": {"max_abs",
// "relative"}}; what was not asked for is left out.
std::string head_report_json(const HeadReport& report);

// `"early_fusion": {…}`, a member of an object.
std::string early_fusion_json(const Change& change);

}  // namespace mha
