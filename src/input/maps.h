#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "files/archive.h"
#include "heads/map_grid.h"
#include "tensor/tensor.h"

namespace mha {

// Attention maps in a file, [layers, items, heads, n_queries, n_keys]; none of them is read.
struct MapsFile {
  Archive archive;
  Member member;  // of its shape as it stands in the file
  std::string where;
  std::size_t layers = 1;
  std::size_t items = 1;  // of a batch
  std::size_t heads = 1;
  std::size_t n_queries = 0;
  std::size_t n_keys = 0;
  bool has_layers = false;
  bool has_items = false;
  bool guessed = false;                    // a fourth axis was taken for layers
  std::vector<std::size_t> layer_numbers;  // [layers], as the model counts
  std::vector<std::string> head_names;     // [heads]: "head 0", "mean over heads"
  std::vector<std::string> queries, keys;  // labels of tokens; empty: none
};

// What a command line says about maps where their file does not.
struct MapsOptions {
  std::string fourth_axis;          // "layers" or "batch", of four; "": as the file says
  std::vector<std::string> labels;  // of tokens; empty: the file's
};

// Maps are a matrix, [heads, n_queries, n_keys], or those with axes in front: layers, a
// batch, or both. A file may say `axes` ("layers,heads,queries,keys"), `layers` (numbers),
// `heads`, `queries`, `keys` or `tokens` (names). Throws Error for other ranks, for no maps,
// and for labels that are as many as neither queries nor keys.
MapsFile open_maps(const std::string& spec, const MapsOptions& options);

// Rows [first, first + count) of one map, [count, n_keys]. Throws Error for what no map
// holds: weights outside 0 to 1, and rows that sum up to something else than 1 or, where a
// query sees no key, 0.
template <typename T>
Tensor<T> read_map_rows(const MapsFile& file, std::size_t layer, std::size_t item,
                        std::size_t head, std::size_t first, std::size_t count);

// What is to be seen of maps. Layers and heads by number, queries and keys by label, number
// or range of numbers ("it", "3", "0-5"); empty: all.
struct MapsChoice {
  std::vector<std::size_t> layers;
  std::vector<std::size_t> heads;
  std::size_t item = 0;
  std::vector<std::string> queries;
  std::vector<std::string> keys;
};

// The chosen ones of one sequence. The grid reads from the file when it is asked and must
// not outlive it. Throws Error that names what is not there.
MapGrid choose_maps(const MapsFile& file, const MapsChoice& choice);

}  // namespace mha
