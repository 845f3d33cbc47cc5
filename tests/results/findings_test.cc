#include "results/findings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

#include "base/label.h"
#include "catch.h"
#include "files/bytes.h"
#include "files/json.h"
#include "results/feed.h"

namespace mha {
namespace {

HeadMeasures measures(HeadPattern pattern, double strength) {
  HeadMeasures m;
  m.rows = 12;
  m.entropy = 1.25;
  m.entropy_share = 0.5;
  m.confidence = 0.75;
  m.self = 0.125;
  m.previous = 0.0625;
  m.next = 0.25;
  m.first = 0.5;
  m.delimiter = 0.375;
  m.distance = 2.5;
  m.offset = -1;
  m.offset_share = 0.875;
  m.pattern = pattern;
  m.strength = strength;
  return m;
}

// Two heads that are alike and one that is not.
Findings three_heads() {
  Findings findings;
  findings.sequences = 2;
  findings.delimiters = true;
  findings.heads = {{3, "0", measures(HeadPattern::previous, 0.93)},
                    {3, "1", measures(HeadPattern::neighbours, 0.5)},
                    {11, "0", measures(HeadPattern::mixed, 0.75)}};
  findings.distances = tensor_of<double>({3, 3}, {0, .3, .01, .3, 0, .2, .01, .2, 0});
  return findings;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

JsonNode parsed(const std::string& text) { return parse_json(Bytes::own(text), "findings"); }

}  // namespace

TEST_CASE("the table of findings has a row a head, groups and distances") {
  const std::string text = findings_text(three_heads());
  CHECK(has(text, "3 heads, 2 sequences, means over 12 query rows\n"));
  CHECK(has(text, "attention is not attribution"));
  CHECK(has(text,
            "layer  head  pattern            entropy  conf.  self  prev  next  first  delim  "
            "dist.  nearest\n"
            "    3     0  previous 0.93    1.25  50%   0.75  0.12  0.06  0.25   0.50   0.38"
            "    2.5  11.0 0.010\n"));
  CHECK(has(text, "0.05 nats:\n  3.0 11.0\n"));
  CHECK(has(text, "\n3.1   0.3000  0.0000  0.2000\n"));
  CHECK(widest_line(text) <= 100);
}

TEST_CASE("what is not known has no column") {
  Findings findings = three_heads();
  findings.delimiters = false;
  for (Findings::Head& head : findings.heads) head.layer.reset();
  const std::string text = findings_text(findings);
  CHECK_FALSE(has(text, "delim"));
  CHECK_FALSE(has(text, "layer  head"));
  CHECK(has(text, "self … first: weight there"));
}

TEST_CASE("a head alone has neither a nearest one nor distances") {
  Findings findings;
  findings.sequences = 1;
  findings.heads = {{std::nullopt, "mean over heads", measures(HeadPattern::broad, 0.99)}};
  findings.distances = Tensor<double>::zeros({1, 1});
  const std::string text = findings_text(findings);
  CHECK(has(text, "mean over heads  broad 0.99"));
  CHECK_FALSE(has(text, "Jensen-Shannon distances"));
  CHECK(has(findings_json(findings), "\"head\": \"mean over heads\""));
  CHECK(has(findings_json(findings), "\"nearest\": null"));
  CHECK(has(findings_csv(findings), ",,,0\n"));
}

TEST_CASE("a full BERT's table fits, names of any kind too") {
  Findings findings;
  findings.delimiters = true;
  findings.sequences = 1;
  for (std::size_t i = 0; i < 144; ++i) {
    HeadMeasures m = measures(i % 2 == 0 ? HeadPattern::positional : HeadPattern::broad, 0.97);
    m.offset = -123;
    m.distance = 4095.0;
    m.entropy_share = 1.0;
    m.empty_rows = 1;
    findings.heads.push_back({i / 12 + 100, std::to_string(i % 12), m});
  }
  findings.distances = Tensor<double>::zeros({144, 144});
  const std::string text = findings_text(findings);
  CHECK(widest_line(text) <= 100);
  CHECK(has(text, "offset -123 0.97"));
  CHECK(has(text, "144 map rows with no key left out"));
  CHECK(has(text, "…"));
  CHECK_FALSE(has(findings_text(findings, true), "…  "));
  findings.heads[0].name = "\x1b[31m";
  CHECK_FALSE(has(findings_text(findings), "\x1b"));
}

TEST_CASE("findings read back as JSON") {
  Findings findings = three_heads();
  findings.rollouts.push_back({{"a", "b"}, tensor_of<double>({2, 2}, {1, 0, .25, .75})});
  const JsonNode json = parsed(findings_json(findings));
  CHECK(json.find("sequences")->number == 2);
  const JsonNode& heads = *json.find("heads");
  REQUIRE(heads.children.size() == 3);
  const JsonNode& head = heads.children[0];
  CHECK(head.find("layer")->number == 3);
  CHECK(head.find("head")->number == 0);
  CHECK(head.find("pattern")->text == "previous");
  CHECK(head.find("strength")->number == 0.93);
  CHECK(head.find("entropy")->number == 1.25);
  CHECK(head.find("offset")->number == -1);
  CHECK(head.find("delimiter")->number == 0.375);
  CHECK(head.find("rows")->number == 12);
  CHECK(head.find("nearest")->find("layer")->number == 11);
  CHECK(head.find("nearest")->find("js")->number == 0.01);
  CHECK(head.find("group")->number == 0);
  CHECK(heads.children[1].find("group")->number == 1);
  CHECK(heads.children[2].find("group")->number == 0);
  CHECK(json.find("js")->shape == Shape{3, 3});
  CHECK(json.find("rollouts")->shape == Shape{1, 2, 2});
}

TEST_CASE("findings are a line a head in CSV") {
  Findings findings = three_heads();
  findings.delimiters = false;
  findings.heads[1].name = "a,\"b\"";
  const std::string text = findings_csv(findings);
  CHECK(
      has(text,
          "layer,head,pattern,rows,empty_rows,strength,entropy,entropy_share,confidence,self,"
          "previous,next,first,delimiter,distance,offset,offset_share,nearest,js,group\n"));
  CHECK(has(text,
            "\n3,0,previous,12,0,0.93,1.25,0.5,0.75,0.125,0.0625,0.25,0.5,,2.5,-1,0.875,11.0,"
            "0.01,0\n"));
  CHECK(has(text, "\n3,\"a,\"\"b\"\"\",neighbours,"));
}

TEST_CASE("a distance that is none is null, and dashes no groups together") {
  Findings findings = three_heads();
  const double none = std::nan("");
  findings.distances = tensor_of<double>({3, 3}, {0, none, none, none, 0, .2, none, .2, 0});
  const std::string json = findings_json(findings);
  CHECK(has(json, "[0, null, null]"));
  CHECK(has(json, "\"nearest\": null"));
  CHECK(has(findings_text(findings), "nats: none\n"));
}

TEST_CASE("rollouts are shown with their tokens' labels") {
  Findings findings = three_heads();
  findings.rollouts.push_back({{"it", "cat"}, tensor_of<double>({2, 2}, {1, 0, .25, .75})});
  const std::string text = findings_text(findings);
  CHECK(has(text, "rollout: "));
  CHECK(has(text, "\ncat  0.2500  0.7500\n"));
}

}  // namespace mha
