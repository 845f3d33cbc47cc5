#pragma once

#include <random>
#include <vector>

#include "layer/attention.h"
#include "support/naive.h"

// A layer with its input for both sides: told once for the naive reference,
// turned into the weights, tensors and masks of the layer under test.
namespace mha {

struct Scenario {
  naive::Layer layer;
  naive::Input input;
  AttentionSettings settings;
  // Masks as a user gives them; reference() spells them out.
  struct Values {
    Shape shape;  // four axes, 1 where it broadcasts
    std::vector<double> values;
  };
  std::vector<Values> drop;
  std::vector<Values> add;
  std::vector<std::size_t> key_lengths;
};

// Sizes from which random_scenario() fills a layer and its input with numbers
// that are exact in f32. Weights keep q, k, v and scores near 1.
struct ScenarioSizes {
  std::size_t batch = 1, n_queries = 4, n_keys = 4;
  std::size_t d_model = 8, d_key = 8, d_value = 8;
  std::size_t n_heads = 2, n_kv_heads = 2, d_head = 4, d_v = 4;
  bool biases = true;
  bool bias_key = false, zero_key = false;
  std::size_t buckets = 0;                          // of a relative bias; 0: none
  std::size_t q_rank = 0, kv_rank = 0, d_rope = 0;  // latents; kv_rank 0: none
};

Scenario random_scenario(const ScenarioSizes& sizes, std::mt19937& random);

// A mask of random zeros and ones (drop: `share` of ones) or normal numbers.
Scenario::Values random_drop(Shape shape, double share, std::mt19937& random);
Scenario::Values random_add(Shape shape, std::mt19937& random);

// Runs the naive reference on it, all masks spelled out.
naive::Steps reference(const Scenario& scenario);

// Runs attention() on it and compares every step and y with the reference: maps
// within 1e-6 (f32; scores beyond 10 in proportion), every other step within
// 5e-6 of its largest number, twice as near as the layer promises for y; f64
// within 1e-13 of both, a few hundred roundings. Latent attention is run in its
// absorbed form too, whose maps and what follows the heads' reads are the same.
template <typename T>
void check_against_reference(const Scenario& scenario);

template <typename T>
AttentionWeights<T> weights_of(const Scenario& scenario);
template <typename T>
Mask<T> mask_of(const Scenario& scenario);
template <typename T>
Tensor<T> tensor_of(Shape shape, const std::vector<double>& values);

}  // namespace mha
