#pragma once

#include <cstddef>
#include <vector>

// Multi-head attention a second time, as plainly as it can be said: loops over
// double, no BLAS, nothing shared with the code under test. It judges both
// precisions.
namespace mha::naive {

// Row-major, in the layout of the papers: a matrix a head.
struct Layer {
  std::size_t d_model = 0, d_key = 0, d_value = 0;
  std::size_t n_heads = 0, n_kv_heads = 0, d_head = 0, d_v = 0;
  std::vector<double> W_Q = {};  // [n_heads, d_model, d_head]
  std::vector<double> W_K = {};  // [n_kv_heads, d_key, d_head]
  std::vector<double> W_V = {};  // [n_kv_heads, d_value, d_v]
  std::vector<double> W_O = {};  // [n_heads, d_v, d_model]
  std::vector<double> b_Q = {};  // [n_heads, d_head]; empty: no bias
  std::vector<double> b_K = {};  // [n_kv_heads, d_head]
  std::vector<double> b_V = {};  // [n_kv_heads, d_v]
  std::vector<double> b_O = {};  // [d_model]
  double scale = 1.0;
  double softcap = 0.0;  // 0: none
};

struct Input {
  std::size_t batch = 0, n_queries = 0, n_keys = 0;
  std::vector<double> x;      // [batch, n_queries, d_model]
  std::vector<double> key;    // [batch, n_keys, d_key]
  std::vector<double> value;  // [batch, n_keys, d_value]
  // Every query and key of every head spelled out, [batch, n_heads, n_queries,
  // n_keys]: 1 where it may not attend, and what is added to the scores.
  std::vector<char> drop;
  std::vector<double> add;
};

// All with a leading batch axis, then as the layer's steps.
struct Steps {
  std::vector<double> q, k, v, scores, maps, head_outputs, concat, contributions, y;
  std::size_t empty_rows = 0;
};

Steps attend(const Layer& layer, const Input& input);

}  // namespace mha::naive
