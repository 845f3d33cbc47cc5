#include "results/bench_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "files/names.h"
#include "results/table.h"

namespace mha {
namespace {

// Times of micro- to kiloseconds with about four digits.
std::string ms_text(double ms) {
  return formatted(ms < 1.0 ? "%.4f" : ms < 10.0 ? "%.3f" : ms < 100.0 ? "%.2f" : "%.1f", ms);
}

double flops_a_second(const BenchResult& result) {
  return flops_of(result.of) / (result.times.ms_min * 1e-3);
}

double of_peak(const BenchResult& result) {
  return flops_a_second(result) / result.times.peak;
}

std::string formula_of(const BenchCase& of) {
  std::string text = "8 n d_model² + ";
  text += of.causal() ? "2 n² d_model (causal: half of the n² part)" : "4 n² d_model";
  return of.whole_layer() ? text + " + 4 n d_model d_ff" : text;
}

std::string heading(const BenchCase& of) {
  std::string text = "d_model " + std::to_string(of.d_model());
  if (!of.whole_layer()) return "attention, " + text;
  const LayerSettings& settings = of.layer().settings;
  return "whole layer, " + text + ", d_ff " + std::to_string(of.layer().sizes().d_ff) + ", " +
         std::string(name_of_value(settings.activation)) + ", " +
         std::string(name_of_value(settings.norm)) + "-norm";
}

}  // namespace

std::string bench_table(std::span<const BenchResult> results, const std::string& units) {
  const BenchCase& first = results.front().of;
  std::string text = heading(first) + ", f32, random weights and vectors; " + units + "\n" +
                     "flops: " + formula_of(first) + "; n_heads is not in it\n" +
                     "peak: multiply-adds on registers alone, in this run on these threads\n" +
                     "error: largest difference of y from f64 over the largest |y|, over the "
                     "queries checked\n\n";
  std::vector<std::vector<std::string>> rows = {{"n", "heads", "threads", "maps", "ms min",
                                                 "median", "GFLOP/s", "peak", "of peak",
                                                 "tokens/s", "checked", "error"}};
  for (const BenchResult& result : results) {
    const BenchCase& of = result.of;
    const BenchTimes& times = result.times;
    rows.push_back(
        {std::to_string(of.n()), std::to_string(of.n_heads()), std::to_string(times.threads),
         of.maps ? "yes" : "no", ms_text(times.ms_min), ms_text(times.ms_median),
         formatted("%.1f", flops_a_second(result) * 1e-9),
         formatted("%.1f", times.peak * 1e-9), formatted("%.0f %%", 100.0 * of_peak(result)),
         formatted("%.0f", static_cast<double>(of.n()) / (times.ms_min * 1e-3)),
         result.check.queries == of.n() ? "all" : std::to_string(result.check.queries),
         formatted("%.0e", result.check.y_error)});
  }
  return text + aligned(rows);
}

std::string heads_sweep_text(std::span<const BenchResult> results) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const BenchResult*>> groups;
  for (const BenchResult& result : results) {
    groups[{result.of.n(), result.times.threads}].push_back(&result);
  }
  std::string text;
  for (const auto& [key, group] : groups) {
    const auto ms = [](const BenchResult* result) { return result->times.ms_min; };
    const auto [fastest, slowest] = std::ranges::minmax_element(group, {}, ms);
    text += "n " + std::to_string(key.first) + ", " + count_of(key.second, "thread") + ": " +
            count_of((*slowest)->of.n_heads(), "head") + ", the slowest, " +
            ((*slowest)->of.n_heads() == 1 ? "takes " : "take ") +
            formatted("%.2f", ms(*slowest) / ms(*fastest)) + " times as long as " +
            count_of((*fastest)->of.n_heads(), "head") + ", the fastest";
    text += group.front()->of.maps ? " (maps are n_heads n² numbers to write)\n" : "\n";
  }
  return text;
}

std::string n_sweep_text(std::span<const BenchResult> results) {
  std::map<std::size_t, std::vector<const BenchResult*>> groups;  // by threads
  for (const BenchResult& result : results) groups[result.times.threads].push_back(&result);
  std::string text;
  for (const auto& [threads, group] : groups) {
    for (std::size_t i = 1; i < group.size(); ++i) {
      const BenchResult& from = *group[i - 1];
      const BenchResult& to = *group[i];
      text += count_of(threads, "thread") + ", n " + std::to_string(from.of.n()) + " to " +
              std::to_string(to.of.n()) + ": " +
              formatted("%.2f", to.times.ms_min / from.times.ms_min) + " times the time, " +
              formatted("%.2f", flops_of(to.of) / flops_of(from.of)) + " times the flops\n";
    }
  }
  return text;
}

std::string bench_json(std::span<const BenchResult> results) {
  std::string text = "[";
  for (const BenchResult& result : results) {
    const BenchCase& of = result.of;
    const BenchTimes& times = result.times;
    text += text.size() > 1 ? ",\n  {" : "\n  {";
    const auto add = [&text](const char* name, const std::string& value) {
      text += std::string(text.back() == '{' ? "\"" : ", \"") + name + "\": " + value;
    };
    add("n", std::to_string(of.n()));
    add("d_model", std::to_string(of.d_model()));
    add("n_heads", std::to_string(of.n_heads()));
    add("threads", std::to_string(times.threads));
    add("maps", of.maps ? "true" : "false");
    add("part", "\"" + std::string(name_of_value(of.layer().settings.part)) + "\"");
    add("ms_min", formatted("%.6g", times.ms_min));
    add("ms_median", formatted("%.6g", times.ms_median));
    add("gflops", formatted("%.6g", flops_a_second(result) * 1e-9));
    add("peak_gflops", formatted("%.6g", times.peak * 1e-9));
    add("of_peak", formatted("%.4g", of_peak(result)));
    text += "}";
  }
  return text + "\n]\n";
}

std::string name_of(const BenchCase& of) {
  return "n " + std::to_string(of.n()) + ", " + count_of(of.n_heads(), "head") + ", " +
         count_of(of.threads, "thread");
}

std::string check_text(const BenchCase& of, const BenchCheck& check) {
  std::string text = "y of " + std::to_string(check.queries) + " of " +
                     std::to_string(of.n()) + " queries differs from f64 by up to " +
                     formatted("%.1e", check.y_error) + " of the largest |y|";
  if (!of.maps) return text;
  return text + ", their maps by up to " + formatted("%.1e", check.map_error) +
         ", sums of map rows from 1 by up to " + formatted("%.1e", check.sum_error);
}

}  // namespace mha
