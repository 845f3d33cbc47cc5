#pragma once

#include <cstddef>
#include <vector>

// Multi-head attention a second time, as plainly as it can be said: loops over
// double, no BLAS, nothing shared with the code under test. It judges both
// precisions.
namespace mha::naive {

enum class Turn { none, halves, neighbours };

// DeepSeek-V2's latents; without a q_rank W_UQ and W_QR read x.
struct Latents {
  std::size_t q_rank = 0, kv_rank = 0, d_rope = 0;  // d_nope = d_head - d_rope
  std::vector<double> W_DQ = {};                    // [d_model, q_rank]
  std::vector<double> q_norm = {};                  // [q_rank]
  std::vector<double> W_UQ = {};                    // [n_heads, q_rank or d_model, d_nope]
  std::vector<double> W_QR = {};                    // [n_heads, q_rank or d_model, d_rope]
  std::vector<double> W_DKV = {};                   // [d_model, kv_rank]
  std::vector<double> kv_norm = {};                 // [kv_rank]
  std::vector<double> W_UK = {};                    // [n_heads, kv_rank, d_nope]
  std::vector<double> W_UV = {};                    // [n_heads, kv_rank, d_v]
  std::vector<double> W_KR = {};                    // [d_model, d_rope]
  double eps = 0.0;
};

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
  double softcap = 0.0;               // 0: none
  std::vector<double> bias_k = {};    // [n_kv_heads, d_head]; empty: no such key
  std::vector<double> bias_v = {};    // [n_kv_heads, d_v]
  bool zero_key = false;              // a key and a value of zeros, the last
  bool early_fusion = false;          // each head reads with the mean of all maps
  std::size_t buckets = 0;            // 0: no relative bias
  std::vector<double> relative = {};  // [buckets, n_heads]
  std::size_t relative_distance = 0;
  Turn turn = Turn::none;
  double theta = 0.0;
  Latents latents = {};  // kv_rank 0: none
};

struct Input {
  std::size_t batch = 0, n_queries = 0, n_keys = 0;
  std::size_t first_query = 0, first_key = 0;  // positions
  std::vector<double> x;                       // [batch, n_queries, d_model]
  std::vector<double> key;                     // [batch, n_keys, d_key]
  std::vector<double> value;                   // [batch, n_keys, d_value]
  // Every query and key of every head spelled out, [batch, n_heads, n_queries,
  // n_keys]: 1 where it may not attend, and what is added to the scores.
  std::vector<char> drop;
  std::vector<double> add;
};

// All with a leading batch axis, then as the layer's steps. The learned and the
// zero key are the last columns of scores and maps, the last rows of k and v.
struct Steps {
  std::vector<double> q, k, v, scores, maps, head_outputs, concat, contributions, y;
  std::size_t empty_rows = 0;
};

Steps attend(const Layer& layer, const Input& input);

// T5's bucket of a key so far behind the query, without a logarithm: bucket
// exact + t of one direction begins where (a / exact)^wide = (far / exact)^t.
std::size_t bucket(long distance, std::size_t buckets, std::size_t far);

}  // namespace mha::naive
