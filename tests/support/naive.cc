#include "support/naive.h"

#include <cmath>
#include <complex>
#include <cstdlib>
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

using Rows = std::vector<double>;

// Rows of `width` divided by their root mean square.
Rows rms_normal(Rows rows, const Rows& weight, double eps) {
  const std::size_t width = weight.size();
  for (std::size_t i = 0; i < rows.size(); i += width) {
    double squares = 0.0;
    for (std::size_t c = 0; c < width; ++c) squares += rows[i + c] * rows[i + c];
    const double size = std::sqrt(squares / static_cast<double>(width) + eps);
    for (std::size_t c = 0; c < width; ++c) rows[i + c] *= weight[c] / size;
  }
  return rows;
}

// The last d channels of each row [.., n, width] as complex numbers, times
// e^(i position theta^(-2 c / d)).
void turn(Rows& rows, const Layer& layer, std::size_t n, std::size_t width, std::size_t d,
          std::size_t first_position) {
  if (layer.turn == Turn::none || d == 0) return;
  for (std::size_t row = 0; row < rows.size() / width; ++row) {
    double* channels = rows.data() + (row + 1) * width - d;
    const auto position = static_cast<double>(first_position + row % n);
    for (std::size_t c = 0; c < d / 2; ++c) {
      const double angle = position / std::pow(layer.theta, static_cast<double>(2 * c) /
                                                                static_cast<double>(d));
      double& real = channels[layer.turn == Turn::halves ? c : 2 * c];
      double& imaginary = channels[layer.turn == Turn::halves ? c + d / 2 : 2 * c + 1];
      const auto turned = std::complex(real, imaginary) * std::polar(1.0, angle);
      real = turned.real();
      imaginary = turned.imag();
    }
  }
}

// [batch, heads, n, left + right] from left's and right's rows; right has as
// many heads as left, or one for all.
Rows beside(const Rows& left, std::size_t left_width, const Rows& right,
            std::size_t right_width, std::size_t heads, std::size_t right_heads,
            std::size_t n) {
  Rows result;
  for (std::size_t row = 0; row < left.size() / left_width; ++row) {
    const std::size_t item = row / (heads * n);
    const std::size_t head = row / n % heads % right_heads;
    const std::size_t other = (item * right_heads + head) * n + row % n;
    for (std::size_t c = 0; c < left_width; ++c) result.push_back(left[row * left_width + c]);
    for (std::size_t c = 0; c < right_width; ++c) {
      result.push_back(right[other * right_width + c]);
    }
  }
  return result;
}

// [batch, heads, n + more, width]: to each head's rows its learned one, then zeros.
Rows behind(const Rows& rows, const Rows& learned, bool zeros, std::size_t heads,
            std::size_t n, std::size_t width) {
  Rows result;
  for (std::size_t head = 0; head < rows.size() / (n * width); ++head) {
    for (std::size_t c = 0; c < n * width; ++c) result.push_back(rows[head * n * width + c]);
    for (std::size_t c = 0; c < width && !learned.empty(); ++c) {
      result.push_back(learned[head % heads * width + c]);
    }
    if (zeros) result.resize(result.size() + width, 0.0);
  }
  return result;
}

// q, k and v of the keys of the input, turned.
void project_all(const Layer& layer, const Input& input, Steps& steps) {
  steps.q = project(input.x, layer.W_Q, layer.b_Q, input.batch, input.n_queries, layer.d_model,
                    layer.n_heads, layer.d_head);
  steps.k = project(input.key, layer.W_K, layer.b_K, input.batch, input.n_keys, layer.d_key,
                    layer.n_kv_heads, layer.d_head);
  steps.v = project(input.value, layer.W_V, layer.b_V, input.batch, input.n_keys,
                    layer.d_value, layer.n_kv_heads, layer.d_v);
  turn(steps.q, layer, input.n_queries, layer.d_head, layer.d_head, input.first_query);
  turn(steps.k, layer, input.n_keys, layer.d_head, layer.d_head, input.first_key);
}

// The same through latents.
void project_latents(const Layer& layer, const Input& input, Steps& steps) {
  const Latents& latents = layer.latents;
  const std::size_t heads = layer.n_heads;
  const std::size_t d_nope = layer.d_head - latents.d_rope;
  const auto of_heads = [&](const Rows& source, const Rows& W, std::size_t n,
                            std::size_t depth, std::size_t n_heads, std::size_t width) {
    return project(source, W, {}, input.batch, n, depth, n_heads, width);
  };
  Rows c_q = input.x;
  std::size_t depth = layer.d_model;
  if (latents.q_rank > 0) {
    c_q = of_heads(c_q, latents.W_DQ, input.n_queries, depth, 1, latents.q_rank);
    c_q = rms_normal(c_q, latents.q_norm, latents.eps);
    depth = latents.q_rank;
  }
  Rows c_kv =
      of_heads(input.key, latents.W_DKV, input.n_keys, layer.d_model, 1, latents.kv_rank);
  c_kv = rms_normal(c_kv, latents.kv_norm, latents.eps);
  Rows q_turned = of_heads(c_q, latents.W_QR, input.n_queries, depth, heads, latents.d_rope);
  Rows k_turned =
      of_heads(input.key, latents.W_KR, input.n_keys, layer.d_model, 1, latents.d_rope);
  turn(q_turned, layer, input.n_queries, latents.d_rope, latents.d_rope, input.first_query);
  turn(k_turned, layer, input.n_keys, latents.d_rope, latents.d_rope, input.first_key);
  steps.q = beside(of_heads(c_q, latents.W_UQ, input.n_queries, depth, heads, d_nope), d_nope,
                   q_turned, latents.d_rope, heads, heads, input.n_queries);
  steps.k = beside(of_heads(c_kv, latents.W_UK, input.n_keys, latents.kv_rank, heads, d_nope),
                   d_nope, k_turned, latents.d_rope, heads, 1, input.n_keys);
  steps.v = of_heads(c_kv, latents.W_UV, input.n_keys, latents.kv_rank, heads, layer.d_v);
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

std::size_t bucket(long distance, std::size_t buckets, std::size_t far) {
  const std::size_t direction = buckets / 2;
  const std::size_t exact = direction / 2;
  const std::size_t wide = direction - exact;
  const auto away = static_cast<std::size_t>(std::labs(distance));
  std::size_t found = away < exact ? away : exact;
  const auto ratio = [exact](std::size_t n) {
    return static_cast<long double>(n) / static_cast<long double>(exact);
  };
  const auto power = [](long double base, std::size_t exponent) {
    long double result = 1;
    for (std::size_t i = 0; i < exponent; ++i) result *= base;
    return result;
  };
  for (std::size_t t = 1; away >= exact && t < wide; ++t) {
    if (power(ratio(away), wide) >= power(ratio(far), t)) found = exact + t;
  }
  return found + (distance > 0 ? direction : 0);
}

Steps attend(const Layer& layer, const Input& input) {
  const std::size_t n_queries = input.n_queries;
  const std::size_t n_keys = input.n_keys;
  Steps steps;
  const bool latent = layer.latents.kv_rank > 0;
  latent ? project_latents(layer, input, steps) : project_all(layer, input, steps);
  steps.k =
      behind(steps.k, layer.bias_k, layer.zero_key, layer.n_kv_heads, n_keys, layer.d_head);
  steps.v = behind(steps.v, layer.bias_v, layer.zero_key, layer.n_kv_heads, n_keys, layer.d_v);
  const std::size_t columns =
      n_keys + (layer.bias_k.empty() ? 0 : 1) + (layer.zero_key ? 1 : 0);
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
        for (std::size_t j = 0; j < columns; ++j) {
          double score = 0.0;
          for (std::size_t c = 0; c < layer.d_head; ++c) {
            score += steps.q[(query_head * n_queries + i) * layer.d_head + c] *
                     steps.k[(key_head * columns + j) * layer.d_head + c];
          }
          score *= layer.scale;
          if (layer.softcap > 0.0) score = layer.softcap * std::tanh(score / layer.softcap);
          if (j < n_keys && layer.buckets > 0) {
            const long distance = static_cast<long>(input.first_key + j) -
                                  static_cast<long>(input.first_query + i);
            score += layer.relative[bucket(distance, layer.buckets, layer.relative_distance) *
                                        layer.n_heads +
                                    h];
          }
          if (j < n_keys) {
            const std::size_t cell = (query_head * n_queries + i) * n_keys + j;
            score += input.add[cell];
            if (input.drop[cell] != 0) score = -std::numeric_limits<double>::infinity();
          }
          any = any || !std::isinf(score);
          row.push_back(score);
        }
        if (!any) ++steps.empty_rows;
        const std::vector<double> map = softmax(row);
        steps.scores.insert(steps.scores.end(), row.begin(), row.end());
        steps.maps.insert(steps.maps.end(), map.begin(), map.end());
      }
    }
    for (std::size_t h = 0; h < layer.n_heads; ++h) {
      const std::size_t key_head = b * layer.n_kv_heads + h / queries_a_key_head;
      for (std::size_t i = 0; i < n_queries; ++i) {
        std::vector<double> map(columns, 0.0);
        for (std::size_t j = 0; j < columns; ++j) {
          for (std::size_t other = 0; other < layer.n_heads; ++other) {
            if (!layer.early_fusion && other != h) continue;
            map[j] += steps.maps[((b * layer.n_heads + other) * n_queries + i) * columns + j] /
                      (layer.early_fusion ? static_cast<double>(layer.n_heads) : 1.0);
          }
        }
        std::vector<double> read(layer.d_v, 0.0);
        for (std::size_t c = 0; c < layer.d_v; ++c) {
          for (std::size_t j = 0; j < columns; ++j) {
            read[c] += map[j] * steps.v[(key_head * columns + j) * layer.d_v + c];
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
