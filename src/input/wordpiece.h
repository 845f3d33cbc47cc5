#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/embeddings.h"

namespace mha {

// A piece of a text.
struct Piece {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t number = kNone;  // in the vocabulary; kNone: it is not there
  std::string text;            // as the vocabulary has it, or a word that it has not
  std::size_t word = 0;        // counted from 0 between blanks
  std::string unknown{};       // the word that [UNK] stands for, or would; "": it is known
};

// Splits text into pieces of a vocabulary as BERT's tokenizers do (Devlin et al.
// 2018): control characters and what is no UTF-8 are left out, each CJK character
// is a word, the others stand between blanks; words are put into lower case and
// lose their accents; each punctuation character is a word of its own; of a word
// the longest known piece is taken again and again, with "##" in front behind the
// first (Wu et al. 2016, section 4.1). A word with a part that is unknown, or of
// more than 100 characters, is unknown. [UNK], [SEP], [PAD], [CLS], [MASK] and the
// tokens that begin and end a text stay whole where the vocabulary has them.
// Case is of each character by itself: a final sigma becomes σ.
class WordPiece {
 public:
  // Of words that the vocabulary has twice the later counts. Borrows both.
  WordPiece(const std::vector<std::string>& vocabulary, const TextSettings& settings);

  // Of a text alone: no token begins or ends it.
  std::vector<Piece> split(std::string_view text) const;
  // A token of its own, such as [CLS].
  Piece piece(const std::string& token) const;

 private:
  // Where the splitting is: how many words between blanks are done.
  struct Place {
    std::size_t word = 0;
    bool within = false;  // the next one
  };
  std::size_t number_of(std::string_view piece) const;
  std::string_view special_at(std::string_view text) const;
  void add_text(std::string_view text, Place& place, std::vector<Piece>& pieces) const;
  void add_word(const std::u32string& word, std::size_t place,
                std::vector<Piece>& pieces) const;
  void add_pieces(std::u32string_view word, std::size_t place,
                  std::vector<Piece>& pieces) const;

  const TextSettings& settings_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
  std::size_t longest_ = 0;            // piece, in bytes
  std::vector<std::string> specials_;  // that are known
};

}  // namespace mha
