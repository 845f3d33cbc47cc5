#include "results/findings.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "files/json.h"
#include "files/names.h"
#include "heads/distances.h"
#include "results/report.h"
#include "results/table.h"

namespace mha {
namespace {

using Cells = std::vector<std::string>;

bool has_layers(const Findings& findings) {
  return !findings.heads.empty() && findings.heads.front().layer.has_value();
}

// "0.3", "3".
std::string short_name(const Findings::Head& head) {
  return (head.layer ? std::to_string(*head.layer) + "." : "") + printable(head.name);
}

std::string weight(double value) { return cell("%.2f", value); }

// The nearest other head; nothing where there is none.
std::optional<std::size_t> nearest_of(const Findings& findings, std::size_t head) {
  const std::size_t nearest = nearest_head(findings.distances.matrix(), head);
  if (nearest == head) return std::nullopt;
  return nearest;
}

std::string table_of(const Findings& findings) {
  const bool layers = has_layers(findings);
  std::vector<Cells> rows;
  Cells names = {"head", "pattern", "entropy", "conf.", "self", "prev", "next", "first"};
  if (findings.delimiters) names.emplace_back("delim");
  names.insert(names.end(), {"dist.", "nearest"});
  if (layers) names.insert(names.begin(), "layer");
  rows.push_back(names);
  for (std::size_t i = 0; i < findings.heads.size(); ++i) {
    const Findings::Head& head = findings.heads[i];
    const HeadMeasures& m = head.map;
    Cells cells;
    if (head.layer) cells.push_back(std::to_string(*head.layer));
    cells.insert(cells.end(),
                 {printable(head.name), pattern_text(m),
                  cell("%.2f", m.entropy) + cell(" %3.0f%%", 100 * m.entropy_share),
                  weight(m.confidence), weight(m.self), weight(m.previous), weight(m.next),
                  weight(m.first)});
    if (findings.delimiters) cells.push_back(weight(m.delimiter));
    cells.push_back(cell("%.1f", m.distance));
    const auto nearest = nearest_of(findings, i);
    cells.push_back(nearest ? short_name(findings.heads[*nearest]) +
                                  formatted(" %.3f", findings.distances.matrix()(i, *nearest))
                            : "");
    rows.push_back(std::move(cells));
  }
  const std::size_t nearest = names.size() - 1;
  return layers ? aligned(rows, {2, nearest}) : aligned(rows, {1, nearest});
}

std::string groups_text(const Findings& findings) {
  const auto group = groups_of_like(findings.distances.matrix(), kAlike);
  const std::size_t count = *std::ranges::max_element(group) + 1;
  std::string text = "groups of heads alike, no two further apart than " +
                     formatted("%.2f", kAlike) + " nats:";
  std::string lines;
  for (std::size_t g = 0; g < count; ++g) {
    Cells members = {" "};
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] == g) members.push_back(short_name(findings.heads[i]));
    }
    if (members.size() > 2) lines += wrapped(members, 2);
  }
  return text + (lines.empty() ? " none\n" : "\n" + lines);
}

std::string matrix_text(const Tensor<double>& matrix, const Cells& labels,
                        const ExcerptLimits& limits) {
  Excerpt<double> excerpt(matrix.shape(), 1, limits);
  excerpt.rows({0, 0, 0}, matrix.matrix());
  return excerpt.matrix_text(0, labels, labels);
}

std::string distances_text(const Findings& findings, bool full) {
  Cells names;
  for (const Findings::Head& head : findings.heads) names.push_back(short_name(head));
  return "\nJensen-Shannon distances, nats\n" +
         matrix_text(findings.distances, names, full ? kNoLimits : ExcerptLimits{12, 10});
}

std::string rollouts_text(const Findings& findings, bool full) {
  std::string text;
  for (std::size_t i = 0; i < findings.rollouts.size(); ++i) {
    const Findings::Rollout& rollout = findings.rollouts[i];
    text += "\nrollout";
    if (findings.rollouts.size() > 1) text += " of sequence " + std::to_string(i);
    text += ": how much of a column's token is in a row's behind the last layer\n";
    text +=
        matrix_text(rollout.values, rollout.labels, full ? kNoLimits : ExcerptLimits{12, 6});
  }
  return text;
}

std::size_t empty_rows(const Findings& findings) {
  std::size_t empty = 0;
  for (const Findings::Head& head : findings.heads) empty += head.map.empty_rows;
  return empty;
}

// "0" for a name that is a number, else the name in quotes.
std::string json_name(const std::string& name) {
  const bool number = !name.empty() && name.size() < 10 &&
                      name.find_first_not_of("0123456789") == name.npos &&
                      (name == "0" || name.front() != '0');
  return number ? name : json_quoted(name);
}

std::string json_layer(const Findings::Head& head) {
  return head.layer ? std::to_string(*head.layer) : "null";
}

void add_matrix(const Tensor<double>& matrix, std::string& text) {
  text += "[";
  for (std::size_t i = 0; i < matrix.shape()[0]; ++i) {
    text += i == 0 ? "[" : ",\n[";
    for (std::size_t j = 0; j < matrix.shape()[1]; ++j) {
      text += (j == 0 ? "" : ", ") + json_number(matrix.matrix()(i, j));
    }
    text += "]";
  }
  text += "]";
}

// A field of RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The measures by the names that JSON and CSV give them.
std::vector<std::pair<std::string, std::string>> numbers_of(const HeadMeasures& m,
                                                            bool delimiters) {
  return {{"rows", std::to_string(m.rows)},
          {"empty_rows", std::to_string(m.empty_rows)},
          {"strength", json_number(m.strength)},
          {"entropy", json_number(m.entropy)},
          {"entropy_share", json_number(m.entropy_share)},
          {"confidence", json_number(m.confidence)},
          {"self", json_number(m.self)},
          {"previous", json_number(m.previous)},
          {"next", json_number(m.next)},
          {"first", json_number(m.first)},
          {"delimiter", delimiters ? json_number(m.delimiter) : "null"},
          {"distance", json_number(m.distance)},
          {"offset", std::to_string(m.offset)},
          {"offset_share", json_number(m.offset_share)}};
}

}  // namespace

std::string pattern_text(const HeadMeasures& m) {
  if (m.rows == 0) return "-";
  std::string name(name_of(m.pattern));
  if (m.pattern == HeadPattern::positional) {
    name = "offset " + formatted("%+.0f", static_cast<double>(m.offset));
  }
  return name + formatted(" %.2f", m.strength);
}

std::string findings_text(const Findings& findings, bool full) {
  const std::size_t heads = findings.heads.size();
  const std::size_t most = std::ranges::max_element(findings.heads, {}, [](const auto& head) {
                             return head.map.rows;
                           })->map.rows;
  const std::size_t empty = empty_rows(findings);
  std::string text = count_of(heads, "head") + ", " +
                     count_of(findings.sequences, "sequence") + ", means over " +
                     count_of(most, "query row");
  if (empty > 0) text += " (" + count_of(empty, "map row") + " with no key left out)";
  text +=
      "\nattention is not attribution: a map knows nothing of the size of what is read\n\n";
  text += table_of(findings);
  text +=
      "\npattern: with its strength, of mixed the largest weight; entropy: nats, and of what "
      "equal "
      "weights\non the visible keys have; conf.: largest weight; self … " +
      std::string(findings.delimiters ? "delim" : "first") +
      ": weight there;\ndist.: mean |i - j|; nearest: by Jensen-Shannon distance, 0 to "
      "0.693\n";
  if (heads > 1) text += "\n" + groups_text(findings) + distances_text(findings, full);
  return text + rollouts_text(findings, full);
}

std::string findings_json(const Findings& findings) {
  const auto group = groups_of_like(findings.distances.matrix(), kAlike);
  std::string text =
      "{\"sequences\": " + std::to_string(findings.sequences) + ",\n\"heads\": [";
  for (std::size_t i = 0; i < findings.heads.size(); ++i) {
    const Findings::Head& head = findings.heads[i];
    text += i == 0 ? "\n" : ",\n";
    text += "{\"layer\": " + json_layer(head) + ", \"head\": " + json_name(head.name) +
            ", \"pattern\": " + json_quoted(name_of(head.map.pattern));
    for (const auto& [name, value] : numbers_of(head.map, findings.delimiters)) {
      text += ", \"" + name + "\": " + value;
    }
    text += ", \"nearest\": ";
    if (const auto nearest = nearest_of(findings, i)) {
      const Findings::Head& other = findings.heads[*nearest];
      text += "{\"layer\": " + json_layer(other) + ", \"head\": " + json_name(other.name) +
              ", \"js\": " + json_number(findings.distances.matrix()(i, *nearest)) + "}";
    } else {
      text += "null";
    }
    text += ", \"group\": " + std::to_string(group[i]) + "}";
  }
  text += "],\n\"js\": ";
  add_matrix(findings.distances, text);
  if (!findings.rollouts.empty()) {
    text += ",\n\"rollouts\": [";
    for (const Findings::Rollout& rollout : findings.rollouts) {
      text += &rollout == &findings.rollouts.front() ? "\n" : ",\n";
      add_matrix(rollout.values, text);
    }
    text += "]";
  }
  return text + "}\n";
}

std::string findings_csv(const Findings& findings) {
  const auto group = groups_of_like(findings.distances.matrix(), kAlike);
  std::string text;
  for (std::size_t i = 0; i < findings.heads.size(); ++i) {
    const Findings::Head& head = findings.heads[i];
    const auto numbers = numbers_of(head.map, findings.delimiters);
    if (i == 0) {
      text = "layer,head,pattern";
      for (const auto& [name, value] : numbers) text += "," + name;
      text += ",nearest,js,group\n";
    }
    text += (head.layer ? std::to_string(*head.layer) : "") + "," + csv_field(head.name) +
            "," + std::string(name_of(head.map.pattern));
    for (const auto& [name, value] : numbers) text += "," + (value == "null" ? "" : value);
    const auto nearest = nearest_of(findings, i);
    text += "," + (nearest ? csv_field(short_name(findings.heads[*nearest])) : "");
    text += "," + (nearest ? json_number(findings.distances.matrix()(i, *nearest)) : "");
    text += "," + std::to_string(group[i]) + "\n";
  }
  return text;
}

}  // namespace mha
