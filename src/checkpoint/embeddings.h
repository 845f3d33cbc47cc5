#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/found_tensor.h"
#include "checkpoint/load.h"
#include "checkpoint/model_options.h"
#include "checkpoint/settings.h"

namespace mha {

// How text becomes words of a vocabulary (input/wordpiece.h).
struct TextSettings {
  bool lower_case = true;
  bool strip_accents = true;  // default: as lower_case
  bool split_chinese = true;  // each CJK character is a word
  std::string begin;          // the token in front of the text; "": none
  std::string end;
};

// What stands in front of a model's layers and turns words into x.
struct Embeddings {
  // embeddings.words [n_words, d_model], and where they are there .positions
  // [n_positions, d_model], .token_types [n_types, d_model], .norm.weight and
  // .norm.bias [d_model].
  FoundTensors tensors;
  std::vector<std::string> vocabulary;  // of the first rows of words; empty: none was found
  std::string vocabulary_source;        // "tiny-bert/vocab.txt"
  TextSettings text;
  std::vector<SettingInForce> in_force;  // of `text`
};

// Why a model has none that are read; "": it has.
std::string without_embeddings(const OpenedModel& model);

// Finds them, from headers only, and takes them from what the model leaves aside.
// REQUIRES a model that has some. The vocabulary is the file
// `vocabulary`, a word a line; else the weights file's own; else, where the names are a
// family's, the vocab.txt beside it. Settings are those of the weights file, else of a
// family's tokenizer_config.json or of config.json beside it, else the defaults; a family
// begins text with [CLS] and ends it with [SEP]. Throws Error where a tokenizer is
// named that splits in another way than WordPiece, for shapes that do not fit
// d_model, and for a vocabulary of more words than there are rows.
Embeddings open_embeddings(OpenedModel& model, const ModelOptions& options,
                           const std::string& vocabulary);

}  // namespace mha
