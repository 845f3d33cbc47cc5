#include "mha_weights/inspect.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/label.h"
#include "base/memory.h"
#include "checkpoint/inspect.h"
#include "files/json.h"
#include "files/names.h"
#include "mha_weights/files.h"
#include "program.h"

namespace mha {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// A row a line, columns aligned; a cell beyond `widest` pushes its own row only.
std::string table(const Rows& rows, std::size_t widest = 64) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t width = display_width(row[i]);
      if (width <= widest) widths[i] = std::max(widths[i], width);
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + pad_right(row[i], widths[i]) + " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string text_of(const Inspection& found) {
  std::string text = printable(found.path) + ": " + found.container + ", " +
                     count_of(found.tensors.size(), "tensor") + ", " +
                     count_of(found.parameters, "parameter") + ", " +
                     format_bytes(found.bytes) + "\n";
  text += "scheme: " + (found.scheme.empty() ? "not recognised" : found.scheme) + "\n";
  for (const std::string& line : found.evidence) text += "  " + printable(line) + "\n";
  if (found.n_layers != 0) {
    text += "layers: " + std::to_string(found.n_layers) +
            (found.final_norm ? " and a last norm" : "") + "\n";
  }
  if (!found.problem.empty()) text += "problem: " + printable(found.problem) + "\n";
  Rows rows;
  for (const SettingInForce& setting : found.settings) {
    rows.push_back(
        {printable(setting.name), printable(setting.value), printable(setting.source)});
  }
  if (!rows.empty()) text += "settings:\n" + table(rows);
  rows.clear();
  const std::string none = found.scheme.empty() ? "unknown" : "unused";
  for (const InspectedTensor& tensor : found.tensors) {
    rows.push_back({tensor.name.empty() ? "(no name)" : printable(tensor.name),
                    printable(tensor.dtype), to_string(tensor.shape),
                    tensor.role.empty() ? none : printable(tensor.role)});
  }
  if (!rows.empty()) text += "tensors:\n" + table(rows);
  rows.clear();
  for (const Skipped& skipped : found.skipped) {
    rows.push_back({printable(skipped.name), printable(skipped.what)});
  }
  if (!rows.empty()) text += "no tensors, skipped:\n" + table(rows);
  return text;
}

// "[a,\n b]" of things that are JSON already.
template <typename List, typename Write>
std::string json_list(const List& list, const Write& write) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() > 1 ? ",\n    " : "\n    ") + write(item);
  return text + (text.size() > 1 ? "\n  ]" : "]");
}

std::string json_of(const Inspection& found) {
  const auto quoted = [](const std::string& text) { return json_quoted(text); };
  const auto or_null = [](const std::string& text) {
    return text.empty() ? "null" : json_quoted(text);
  };
  std::string text = "{\n  \"path\": " + quoted(found.path);
  const auto add = [&text](const char* name, const std::string& json) {
    text += std::string(",\n  \"") + name + "\": " + json;
  };
  add("container", quoted(found.container));
  add("scheme", or_null(found.scheme));
  add("evidence", json_list(found.evidence, quoted));
  add("layers", found.n_layers == 0 ? "null" : std::to_string(found.n_layers));
  add("last_norm", found.final_norm ? "true" : "false");
  add("problem", or_null(found.problem));
  add("settings", json_list(found.settings, [](const SettingInForce& setting) {
        return "{\"name\": " + json_quoted(setting.name) +
               ", \"value\": " + json_quoted(setting.value) +
               ", \"source\": " + json_quoted(setting.source) + "}";
      }));
  add("tensors", json_list(found.tensors, [&or_null](const InspectedTensor& tensor) {
        return "{\"name\": " + json_quoted(tensor.name) +
               ", \"dtype\": " + json_quoted(tensor.dtype) +
               ", \"shape\": " + to_string(tensor.shape) +
               ", \"role\": " + or_null(tensor.role) + "}";
      }));
  add("skipped", json_list(found.skipped, [](const Skipped& skipped) {
        return "{\"name\": " + json_quoted(skipped.name) +
               ", \"what\": " + json_quoted(skipped.what) + "}";
      }));
  add("parameters", std::to_string(found.parameters));
  add("bytes", std::to_string(found.bytes));
  return text + "\n}\n";
}

}  // namespace

void inspect(const InspectOptions& options) {
  const Inspection found = inspect(open_weights(options.input), options.input.model);
  print(options.json ? json_of(found) : text_of(found));
}

}  // namespace mha
