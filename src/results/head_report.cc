#include "results/head_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "files/json.h"
#include "files/names.h"
#include "results/findings.h"
#include "results/table.h"

namespace mha {
namespace {

std::string heads_text(const std::vector<HeadInRun>& heads) {
  const bool layers = heads.front().layer.has_value();
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"head", "pattern", "entropy", "share", "cosine", "ablating", "nearest"});
  if (layers) rows.front().insert(rows.front().begin(), "layer");
  bool any_ablated = false;
  for (const HeadInRun& head : heads) {
    std::vector<std::string> cells;
    if (head.layer) cells.push_back(std::to_string(*head.layer));
    any_ablated = any_ablated || head.ablated;
    cells.insert(
        cells.end(),
        {std::to_string(head.head), pattern_text(head.map), cell("%.4f", head.map.entropy),
         cell("%.4f", head.share), cell("%.4f", head.cosine),
         head.ablated ? "ablated" : cell("%.4f", head.ablation),
         head.nearest ? std::to_string(*head.nearest) + cell(" %.4f", head.distance) : ""});
    rows.push_back(std::move(cells));
  }
  const std::size_t nearest = rows.front().size() - 1;
  const auto most =
      std::ranges::max_element(heads, {}, [](const HeadInRun& head) { return head.map.rows; });
  std::string text = "heads: means over " + count_of(most->map.rows, "query row") +
                     "; attention is not attribution\n\n";
  text += layers ? aligned(rows, {2, nearest}) : aligned(rows, {1, nearest});
  text +=
      "\npattern: with its strength, of mixed the largest weight; entropy in nats; share: "
      "‖O_r W_O^(r)‖ /\n‖attention output‖, Frobenius; cosine: of both; ablating: ‖Δy‖ / ‖y‖ "
      "of the "
      "run without the head;\nnearest head of the layer by Jensen-Shannon distance, 0 to "
      "0.693 nats\n";
  if (any_ablated)
    text += "ablated: the head adds nothing to y; its map is the computed one\n";
  return text;
}

}  // namespace

template <typename T>
Change change_of(ConstMatrixView<T> from, ConstMatrixView<T> to) {
  Change change;
  double moved = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < from.rows; ++i) {
    for (std::size_t j = 0; j < from.cols; ++j) {
      const auto value = static_cast<double>(from(i, j));
      const double difference = static_cast<double>(to(i, j)) - value;
      change.largest = std::max(change.largest, std::abs(difference));
      moved += difference * difference;
      size += value * value;
    }
  }
  change.relative =
      size > 0.0 ? std::sqrt(moved / size) : std::numeric_limits<double>::quiet_NaN();
  return change;
}

std::string head_report_text(const HeadReport& report) {
  std::string text = report.heads.empty() ? "" : heads_text(report.heads);
  if (report.early_fusion) {
    text += std::string(text.empty() ? "" : "\n") + "early fusion moved y by up to " +
            formatted("%.4g", report.early_fusion->largest) + "; ‖Δy‖ / ‖y‖ " +
            cell("%.4g", report.early_fusion->relative) + "\n";
  }
  return text;
}

std::string early_fusion_json(const Change& change) {
  return "\"early_fusion\": {\"max_abs\": " + json_number(change.largest) +
         ", \"relative\": " + json_number(change.relative) + "}";
}

std::string head_report_json(const HeadReport& report) {
  std::string text;
  for (const HeadInRun& head : report.heads) {
    text += text.empty() ? "\"heads\": [\n" : ",\n";
    text += "{\"layer\": " + (head.layer ? std::to_string(*head.layer) : "null") +
            ", \"head\": " + std::to_string(head.head) +
            ", \"ablated\": " + (head.ablated ? "true" : "false") +
            ", \"pattern\": " + json_quoted(name_of(head.map.pattern)) +
            ", \"strength\": " + json_number(head.map.strength) +
            ", \"entropy\": " + json_number(head.map.entropy) +
            ", \"entropy_share\": " + json_number(head.map.entropy_share) +
            ", \"share\": " + json_number(head.share) +
            ", \"cosine\": " + json_number(head.cosine) +
            ", \"ablation\": " + json_number(head.ablation) + ", \"nearest\": ";
    text += head.nearest ? "{\"head\": " + std::to_string(*head.nearest) +
                               ", \"js\": " + json_number(head.distance) + "}}"
                         : "null}";
  }
  if (!text.empty()) text += "]";
  if (report.early_fusion) {
    text += (text.empty() ? "" : ",\n") + early_fusion_json(*report.early_fusion);
  }
  return "{" + text + "}\n";
}

template Change change_of(ConstMatrixView<float>, ConstMatrixView<float>);
template Change change_of(ConstMatrixView<double>, ConstMatrixView<double>);

}  // namespace mha
