#include "results/head_report.h"

#include <cmath>
#include <string>
#include <utility>

#include "catch.h"
#include "results/feed.h"

namespace mha {
namespace {

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

HeadReport report() {
  HeadReport report;
  HeadInRun head;
  head.map.rows = 4;
  head.map.entropy = 0.5;
  head.map.entropy_share = 0.25;
  head.map.pattern = HeadPattern::previous;
  head.map.strength = 0.75;
  head.share = 0.625;
  head.cosine = -0.5;
  head.ablation = 0.125;
  head.nearest = 1;
  head.distance = 0.25;
  report.heads.push_back(head);
  HeadInRun other = head;
  other.head = 1;
  other.ablated = true;
  other.cosine = std::nan("");
  other.ablation = 0.0;
  other.nearest.reset();
  report.heads.push_back(other);
  return report;
}

}  // namespace

TEST_CASE("how far numbers moved is the largest difference and a ratio of norms") {
  const auto from = tensor_of<double>({2, 2}, {3, 0, 0, 4});
  const auto to = tensor_of<double>({2, 2}, {3, 0, 3, 0});
  const Change change = change_of(std::as_const(from).matrix(), std::as_const(to).matrix());
  CHECK(change.largest == 4.0);
  CHECK(change.relative == 1.0);  // 5 / 5
  const auto zeros = Tensor<double>::zeros({2, 2});
  CHECK(std::isnan(change_of(zeros.matrix(), std::as_const(to).matrix()).relative));
}

TEST_CASE("a head report is a row a head") {
  const std::string text = head_report_text(report());
  CHECK(has(text, "heads: means over 4 query rows; attention is not attribution\n\n"));
  CHECK(has(text, "\n   0  previous 0.75   0.5000  0.6250  -0.5000    0.1250  1 0.2500\n"));
  CHECK(has(text, "\n   1  previous 0.75   0.5000  0.6250        -   ablated\n"));
  CHECK(has(text, "its map is the computed one"));
  CHECK_FALSE(has(text, "layer  head"));
}

TEST_CASE("a head report of a stack says the layers") {
  HeadReport stack = report();
  for (HeadInRun& head : stack.heads) head.layer = 7;
  CHECK(has(head_report_text(stack), "\n    7     0  previous 0.75"));
  CHECK(has(head_report_json(stack), "{\"layer\": 7, \"head\": 0,"));
}

TEST_CASE("a head report in JSON is one object") {
  HeadReport full = report();
  full.early_fusion = Change{0.5, std::nan("")};
  CHECK(head_report_json(full) ==
        "{\"heads\": [\n"
        "{\"layer\": null, \"head\": 0, \"ablated\": false, \"pattern\": \"previous\", "
        "\"strength\": 0.75, \"entropy\": 0.5, \"entropy_share\": 0.25, \"share\": 0.625, "
        "\"cosine\": -0.5, \"ablation\": 0.125, \"nearest\": {\"head\": 1, \"js\": 0.25}},\n"
        "{\"layer\": null, \"head\": 1, \"ablated\": true, \"pattern\": \"previous\", "
        "\"strength\": 0.75, \"entropy\": 0.5, \"entropy_share\": 0.25, \"share\": 0.625, "
        "\"cosine\": null, \"ablation\": 0, \"nearest\": null}],\n"
        "\"early_fusion\": {\"max_abs\": 0.5, \"relative\": null}}\n");
  HeadReport alone;
  alone.early_fusion = Change{0.5, 0.25};
  CHECK(head_report_json(alone) ==
        "{\"early_fusion\": {\"max_abs\": 0.5, \"relative\": 0.25}}\n");
  CHECK(head_report_text(alone) == "early fusion moved y by up to 0.5; ‖Δy‖ / ‖y‖ 0.25\n");
}

}  // namespace mha
