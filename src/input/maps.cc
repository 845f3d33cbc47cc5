#include "input/maps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "files/format.h"
#include "files/member_view.h"
#include "files/names.h"
#include "input/sequences.h"

namespace mha {
namespace {

// What a sum of weights in half precision may be off.
constexpr double kSlack = 0.01;

std::optional<std::size_t> number_in(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (text.empty() || result.ptr != end || result.ec != std::errc{}) return std::nullopt;
  return number;
}

std::vector<std::string> list_named(const Archive& archive, const std::string& name) {
  const auto found = archive.lists.find(name);
  return found == archive.lists.end() ? std::vector<std::string>{} : found->second;
}

// What stands in front of heads, queries and keys.
struct Axes {
  bool layers = false;
  bool items = false;
  bool guessed = false;
};

Axes axes_of(const Archive& archive, std::size_t rank, const std::string& fourth,
             const std::string& where) {
  if (rank == 5) return {true, true, false};
  if (rank < 4) return {};
  const auto said = archive.settings.find("axes");
  std::string axes = said == archive.settings.end() ? "" : said->second;
  for (const std::string& axis : list_named(archive, "axes")) {
    axes += (axes.empty() ? "" : ",") + axis;
  }
  const bool of_layers = axes == "layers,heads,queries,keys";
  const bool of_batch = axes == "batch,heads,queries,keys";
  if (!axes.empty() && !of_layers && !of_batch) {
    throw Error(where + " has four axes, but `axes` is " + printable(axes));
  }
  if (axes.empty()) return {fourth != "batch", fourth == "batch", fourth.empty()};
  if (!fourth.empty() && (fourth == "layers") != of_layers) {
    throw Error("--axes: " + fourth + ", but " + archive.path + " says " + axes);
  }
  return {of_layers, of_batch, false};
}

// Numbers of layers as the model counts them; from 0 where the file does not say.
std::vector<std::size_t> layer_numbers_of(const MapsFile& file) {
  std::vector<std::size_t> numbers(file.layers);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  const Member* said = file.has_layers ? file.archive.find("layers") : nullptr;
  if (said == nullptr || said->shape != Shape{file.layers}) return numbers;
  const Tensor<double> values = read_tensor<double>(file.archive, *said);
  for (std::size_t i = 0; i < file.layers; ++i) {
    const double value = values.data()[i];
    if (!(value >= 0.0 && value < 1e9)) {
      throw Error(where(file.archive, *said) + " holds " + format_number(value) +
                  ", no number of a layer");
    }
    numbers[i] = static_cast<std::size_t>(value);
  }
  return numbers;
}

// The labels of an axis: those of its own name, or `tokens` where these are as many.
std::vector<std::string> labels_of(const MapsFile& file, const std::string& axis,
                                   std::size_t length) {
  std::vector<std::string> labels = list_named(file.archive, axis);
  if (labels.size() == length) return labels;
  if (!labels.empty()) {
    throw Error(file.archive.path + ": `" + axis + "` names " + std::to_string(labels.size()) +
                ", but the maps have " + std::to_string(length));
  }
  labels = list_named(file.archive, "tokens");
  return labels.size() == length ? labels : std::vector<std::string>{};
}

void label_by_option(MapsFile& file, const std::vector<std::string>& labels) {
  if (labels.empty()) return;
  if (labels.size() != file.n_queries && labels.size() != file.n_keys) {
    throw Error("--labels: " + std::to_string(labels.size()) + " names, " + file.where +
                " has " + std::to_string(file.n_queries) + " queries and " +
                std::to_string(file.n_keys) + " keys");
  }
  if (labels.size() == file.n_queries) file.queries = labels;
  if (labels.size() == file.n_keys) file.keys = labels;
}

// "maps.npy: layer 1, item 0, head 3, query 7".
std::string place_of(const MapsFile& file, std::size_t layer, std::size_t item,
                     std::size_t head, std::size_t query) {
  std::string place = file.where + ": ";
  if (file.has_layers) place += "layer " + std::to_string(file.layer_numbers[layer]) + ", ";
  if (file.has_items) place += "item " + std::to_string(item) + ", ";
  return place + file.head_names[head] + ", query " + std::to_string(query);
}

template <typename T>
void require_weights(const T* row, std::size_t n, const auto& place) {
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const auto weight = static_cast<double>(row[j]);
    sum += weight;
    if (weight >= 0.0 && weight <= 1.0 + kSlack) continue;
    throw Error(place() + ": the weight of key " + std::to_string(j) + " is " +
                format_number(row[j]) + ", expected 0 to 1; are these maps?");
  }
  if (sum == 0.0 || std::abs(sum - 1.0) <= kSlack) return;
  throw Error(place() + ": the weights sum up to " + format_number(static_cast<float>(sum)) +
              ", expected 1, or 0 where no key is seen; are these maps?");
}

// Numbers of the axis that a part of an option means.
std::vector<std::size_t> places_named(const std::string& part,
                                      const std::vector<std::string>& labels, std::size_t n,
                                      const std::string& option) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == part) places.push_back(i);
  }
  if (!places.empty()) return places;
  const std::size_t dash = part.find('-');
  const auto first = number_in(std::string_view(part).substr(0, dash));
  const auto last =
      dash == part.npos ? first : number_in(std::string_view(part).substr(dash + 1));
  if (!first || !last || *first > *last) {
    throw Error(
        option + ": '" + printable(part) + "' is no label, number or range" +
        did_you_mean(part, labels) +
        (labels.empty() ? "; there are no labels" : "; labels are " + list_of(labels)));
  }
  if (*last >= n) {
    throw Error(option + ": " + part + " is not there, expected 0 to " +
                std::to_string(n - 1));
  }
  for (std::size_t i = *first; i <= *last; ++i) places.push_back(i);
  return places;
}

std::vector<std::size_t> all_or(const std::vector<std::string>& parts,
                                const std::vector<std::string>& labels, std::size_t n,
                                const std::string& option) {
  std::vector<std::size_t> places;
  for (const std::string& part : parts) {
    const std::vector<std::size_t> named = places_named(part, labels, n, option);
    places.insert(places.end(), named.begin(), named.end());
  }
  if (parts.empty()) {
    places.resize(n);
    std::iota(places.begin(), places.end(), std::size_t{0});
  }
  return places;
}

// Places of the chosen numbers among those that there are.
std::vector<std::size_t> places_of(const std::vector<std::size_t>& chosen,
                                   const std::vector<std::size_t>& numbers,
                                   const std::string& option) {
  std::vector<std::size_t> places;
  for (const std::size_t number : chosen) {
    const auto found = std::ranges::find(numbers, number);
    if (found == numbers.end()) {
      std::vector<std::string> known;
      known.reserve(numbers.size());
      for (const std::size_t one : numbers) known.push_back(std::to_string(one));
      throw Error(option + ": " + std::to_string(number) + " is not there, expected " +
                  list_of(known));
    }
    places.push_back(static_cast<std::size_t>(found - numbers.begin()));
  }
  if (chosen.empty()) {
    places.resize(numbers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
  }
  return places;
}

// The file's name, and the tensor's where it is not the usual one.
std::string title_of(const MapsFile& file) {
  std::string title = std::filesystem::path(file.archive.path).filename().string();
  if (title.empty()) title = file.archive.path;
  const std::string& name = file.member.name;
  return name.empty() || name == "maps" ? title : title + ": " + printable(name);
}

std::vector<std::string> labels_at(const std::vector<std::string>& labels,
                                   const std::vector<std::size_t>& places) {
  std::vector<std::string> chosen;
  chosen.reserve(places.size());
  for (const std::size_t place : places) {
    chosen.push_back(labels.empty() ? std::to_string(place) : labels[place]);
  }
  return chosen;
}

}  // namespace

MapsFile open_maps(const std::string& spec, const MapsOptions& options) {
  OpenedTensor opened = open_tensor(spec, "maps");
  MapsFile file;
  file.where = where(opened.archive, *opened.member);
  file.member = *opened.member;
  file.archive = std::move(opened.archive);
  const Shape& shape = file.member.shape;
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 5) {
    throw Error(file.where + " is " + to_string(shape) +
                ", expected maps [n_heads, n_queries, n_keys], with a batch or layers in "
                "front where there are some");
  }
  if (std::ranges::find(shape, std::size_t{0}) != shape.end()) {
    throw Error(file.where + " is " + to_string(shape) + ": there are no maps in it");
  }
  const Axes axes = axes_of(file.archive, rank, options.fourth_axis, file.where);
  file.has_layers = axes.layers;
  file.has_items = axes.items;
  file.guessed = axes.guessed;
  file.n_keys = shape[rank - 1];
  file.n_queries = shape[rank - 2];
  if (rank > 2) file.heads = shape[rank - 3];
  if (axes.layers) file.layers = shape[0];
  if (axes.items) file.items = shape[rank - 4];
  file.layer_numbers = layer_numbers_of(file);
  file.head_names = list_named(file.archive, "heads");
  if (file.head_names.size() != file.heads) {
    file.head_names.clear();
    for (std::size_t h = 0; h < file.heads; ++h) {
      file.head_names.push_back("head " + std::to_string(h));
    }
  }
  file.queries = labels_of(file, "queries", file.n_queries);
  file.keys = labels_of(file, "keys", file.n_keys);
  label_by_option(file, options.labels);
  // Once, or each block of rows would inflate what is deflated.
  file.member.fetch = [bytes = file.member.fetch()] { return bytes; };
  return file;
}

template <typename T>
Tensor<T> read_map_rows(const MapsFile& file, std::size_t layer, std::size_t item,
                        std::size_t head, std::size_t first, std::size_t count) {
  Member rows = file.member;
  std::size_t axis = 0;
  if (file.has_layers) rows = slice(std::move(rows), axis++, layer, 1);
  if (file.has_items) rows = slice(std::move(rows), axis++, item, 1);
  if (rows.shape.size() - axis == 3) rows = slice(std::move(rows), axis++, head, 1);
  rows = slice(std::move(rows), axis, first, count);
  Tensor<T> map = read_tensor<T>(file.archive, rows);
  map.reshape({count, file.n_keys});
  for (std::size_t i = 0; i < count; ++i) {
    require_weights(map.data() + i * file.n_keys, file.n_keys,
                    [&] { return place_of(file, layer, item, head, first + i); });
  }
  return map;
}

MapGrid choose_maps(const MapsFile& file, const MapsChoice& choice) {
  if (choice.item >= file.items) {
    throw Error("--item: " + std::to_string(choice.item) + " is not there, " + file.where +
                " holds " + std::to_string(file.items));
  }
  if (!choice.layers.empty() && !file.has_layers) {
    throw Error("--layer: " + file.where + " holds the maps of one layer");
  }
  std::vector<std::size_t> head_numbers(file.heads);
  std::iota(head_numbers.begin(), head_numbers.end(), std::size_t{0});
  const auto layers = places_of(choice.layers, file.layer_numbers, "--layer");
  const auto heads = places_of(choice.heads, head_numbers, "--head");
  const auto queries = all_or(choice.queries, file.queries, file.n_queries, "--query");
  const auto keys = all_or(choice.keys, file.keys, file.n_keys, "--key");

  MapGrid grid;
  grid.title = title_of(file);
  grid.stack = file.has_layers;
  for (const std::size_t layer : layers) grid.layers.push_back(file.layer_numbers[layer]);
  for (const std::size_t head : heads) grid.heads.push_back(file.head_names[head]);
  grid.queries = labels_at(file.queries, queries);
  grid.keys = labels_at(file.keys, keys);
  const bool whole = choice.queries.empty() && choice.keys.empty();
  grid.map = [&file, item = choice.item, layers, heads, queries, keys, whole](
                 std::size_t layer, std::size_t head) {
    Tensor<float> map =
        read_map_rows<float>(file, layers.at(layer), item, heads.at(head), 0, file.n_queries);
    if (whole) return map;
    Tensor<float> part({queries.size(), keys.size()});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const float* from = map.data() + queries[i] * file.n_keys;
      float* to = part.data() + i * keys.size();
      for (std::size_t j = 0; j < keys.size(); ++j) to[j] = from[keys[j]];
    }
    return part;
  };
  return grid;
}

template Tensor<float> read_map_rows(const MapsFile&, std::size_t, std::size_t, std::size_t,
                                     std::size_t, std::size_t);
template Tensor<double> read_map_rows(const MapsFile&, std::size_t, std::size_t, std::size_t,
                                      std::size_t, std::size_t);

}  // namespace mha
