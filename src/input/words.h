#pragma once

#include <string>
#include <vector>

#include "checkpoint/load.h"
#include "checkpoint/model_options.h"
#include "input/sequences.h"

namespace mha {

// A text, and what turns it into vectors.
struct TextInput {
  std::string text;        // "-": all of standard input
  std::string vocabulary;  // path; "": the weights' own
  std::string embeddings;  // path of vectors of words; "": the weights' own
  bool unknown = false;    // words that nobody knows are no error
};

// x [n, d_model] of a text, its tokens as labels.
//   By the weights' embeddings: pieces of WordPiece (input/wordpiece.h) between the
//   tokens that begin and end a text; x = norm(words[piece] + positions[place] +
//   token_types[type]), as far as these are there, the type 1 behind the first token
//   [SEP] (Devlin et al. 2018, figure 2).
//   By a file of vectors of words (input/word_vectors.h): the words between blanks, to
//   the letter, each its vector.
// What an unknown word becomes: [UNK] where the vocabulary has it; else it is an error
// that names it, unless `unknown`: zeros, or <unk> of a file of vectors. `notes`: how
// the text was read, a line each.
// Throws Error, too, for a text without words, for one longer than there are positions
// and for vectors of another width than d_model.
template <typename T>
Sequences<T> read_words(const TextInput& input, OpenedModel& model,
                        const ModelOptions& options, std::vector<std::string>& notes);

}  // namespace mha
