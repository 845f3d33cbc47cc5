#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mha {

// By word.
template <typename T>
using WordVectors = std::map<std::string, std::vector<T>>;

// The width that vectors must have, and who asks for it: "d_model of w.json".
struct Width {
  std::size_t numbers = 0;
  std::string source;
};

// Reads the vectors of those `words` that a file has, in the text form of
// word2vec and GloVe: a line a word and its numbers, with blanks between; a first
// line of two whole numbers counts words and width. Of a word that is there twice
// the first counts; a word with blanks in it is passed over. The file is read once from its
// start to its end, so that a pipe will do, and never held. Throws Error with the line for
// another number of numbers and for those of a wanted word that are none, or not finite
// (unless allowed); Error(Fault::system) where it cannot be read.
template <typename T>
WordVectors<T> read_word_vectors(const std::string& path,
                                 const std::vector<std::string>& words, const Width& width,
                                 bool allow_nonfinite);

}  // namespace mha
