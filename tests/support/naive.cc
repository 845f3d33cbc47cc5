#include "support/naive.h"

#include <cmath>
#include <limits>

namespace mha::naive {
namespace {

// [batch, heads, n, width] from source [batch, n, depth] and W [heads, depth,
// width].
std::vector<double> project(const std::vector<double>& source, const std::vector<double>& W,
                            const std::vector<double>& bias, std::size_t batch, std::size_t n,
                            std::size_t depth, std::size_t heads, std::size_t width) {
  std::vector<double> out;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < width; ++c) {
          double sum = bias.empty() ? 0.0 : bias[h * width + c];
          for (std::size_t d = 0; d < depth; ++d) {
            sum += source[(b * n + i) * depth + d] * W[(h * depth + d) * width + c];
          }
          out.push_back(sum);
        }
      }
    }
  }
  return out;
}

// One row of scores to one row of the map.
std::vector<double> softmax(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double s : scores) largest = s > largest ? s : largest;
  std::vector<double> map(scores.size(), 0.0);
  if (std::isinf(largest)) return map;
  double sum = 0.0;
  for (const double s : scores) sum += std::exp(s - largest);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    map[j] = std::exp(scores[j] - largest) / sum;
  }
  return map;
}

}  // namespace

Steps attend(const Layer& layer, const Input& input) {
  const std::size_t n_queries = input.n_queries;
  const std::size_t n_keys = input.n_keys;
  Steps steps;
  steps.q = project(input.x, layer.W_Q, layer.b_Q, input.batch, n_queries, layer.d_model,
                    layer.n_heads, layer.d_head);
  steps.k = project(input.key, layer.W_K, layer.b_K, input.batch, n_keys, layer.d_key,
                    layer.n_kv_heads, layer.d_head);
  steps.v = project(input.value, layer.W_V, layer.b_V, input.batch, n_keys, layer.d_value,
                    layer.n_kv_heads, layer.d_v);
  steps.concat.resize(input.batch * n_queries * layer.n_heads * layer.d_v);
  steps.y.resize(input.batch * n_queries * layer.d_model);

  const std::size_t queries_a_key_head = layer.n_heads / layer.n_kv_heads;
  for (std::size_t b = 0; b < input.batch; ++b) {
    for (std::size_t i = 0; i < n_queries; ++i) {
      for (std::size_t c = 0; c < layer.d_model; ++c) {
        steps.y[(b * n_queries + i) * layer.d_model + c] =
            layer.b_O.empty() ? 0.0 : layer.b_O[c];
      }
    }
    for (std::size_t h = 0; h < layer.n_heads; ++h) {
      const std::size_t query_head = b * layer.n_heads + h;
      const std::size_t key_head = b * layer.n_kv_heads + h / queries_a_key_head;
      for (std::size_t i = 0; i < n_queries; ++i) {
        std::vector<double> row;
        bool any = false;
        for (std::size_t j = 0; j < n_keys; ++j) {
          double score = 0.0;
          for (std::size_t c = 0; c < layer.d_head; ++c) {
            score += steps.q[(query_head * n_queries + i) * layer.d_head + c] *
                     steps.k[(key_head * n_keys + j) * layer.d_head + c];
          }
          score *= layer.scale;
          if (layer.softcap > 0.0) score = layer.softcap * std::tanh(score / layer.softcap);
          const std::size_t cell = (query_head * n_queries + i) * n_keys + j;
          score += input.add[cell];
          if (input.drop[cell] != 0) score = -std::numeric_limits<double>::infinity();
          any = any || !std::isinf(score);
          row.push_back(score);
        }
        if (!any) ++steps.empty_rows;
        const std::vector<double> map = softmax(row);
        steps.scores.insert(steps.scores.end(), row.begin(), row.end());
        steps.maps.insert(steps.maps.end(), map.begin(), map.end());

        std::vector<double> read(layer.d_v, 0.0);
        for (std::size_t c = 0; c < layer.d_v; ++c) {
          for (std::size_t j = 0; j < n_keys; ++j) {
            read[c] += map[j] * steps.v[(key_head * n_keys + j) * layer.d_v + c];
          }
          steps.head_outputs.push_back(read[c]);
          steps.concat[((b * n_queries + i) * layer.n_heads + h) * layer.d_v + c] = read[c];
        }
        for (std::size_t c = 0; c < layer.d_model; ++c) {
          double part = 0.0;
          for (std::size_t e = 0; e < layer.d_v; ++e) {
            part += read[e] * layer.W_O[(h * layer.d_v + e) * layer.d_model + c];
          }
          steps.contributions.push_back(part);
          steps.y[(b * n_queries + i) * layer.d_model + c] += part;
        }
      }
    }
  }
  return steps;
}

}  // namespace mha::naive
