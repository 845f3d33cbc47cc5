#include "input/words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/label.h"
#include "base/memory.h"
#include "checkpoint/embeddings.h"
#include "files/bytes.h"
#include "files/member_view.h"
#include "files/names.h"
#include "input/word_vectors.h"
#include "input/wordpiece.h"
#include "kernels/norm.h"

namespace mha {
namespace {

const std::string kText = "--text";
constexpr std::size_t kShown = 40;  // columns of a word in a message
// Bytes that a byte of text takes at most on its way: characters, words, pieces.
constexpr std::size_t kBytesOfByte = 64;

// Words are counted from 1, as people do.
[[noreturn]] void refuse_unknown(const std::string& word, std::size_t place,
                                 const std::string& source) {
  throw Error(kText + ": word " + std::to_string(place + 1) + ", " +
              cut_to_width(printable(word), kShown) + ", is not in " + source +
              "; --unknown takes zeros for such words");
}

std::vector<std::string> split_at_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return words;
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void require_words(bool some) {
  if (!some) throw Error(kText + ": there are no words in it");
}

// Rows of a table of the file, read one by one.
template <typename T>
class Table {
 public:
  Table(const OpenedModel& model, const Embeddings& embeddings, const std::string& name,
        bool allow_nonfinite)
      : file_(model.file), allow_nonfinite_(allow_nonfinite) {
    const auto found = embeddings.tensors.find("embeddings." + name);
    if (found == embeddings.tensors.end()) return;
    there_ = true;
    table_ = found->second.pieces[0];
    // Once, where it has to be inflated.
    table_.fetch = [bytes = table_.fetch()] { return bytes; };
  }

  bool there() const { return there_; }
  std::size_t rows() const { return table_.shape[0]; }
  void add(std::size_t row, T* to) const {
    const Tensor<T> values = read_tensor<T>(file_, slice(table_, 0, row, 1));
    const bool finite =
        std::ranges::all_of(values.values(), [](T value) { return std::isfinite(value); });
    if (!finite && !allow_nonfinite_) {
      require_finite(read_tensor<T>(file_, table_), where(file_, table_));
    }
    for (std::size_t i = 0; i < values.size(); ++i) to[i] += values.data()[i];
  }

 private:
  const Archive& file_;
  bool there_ = false;
  Member table_;
  bool allow_nonfinite_;
};

std::vector<Piece> pieces_of(const std::string& text, const Embeddings& embeddings,
                             const TextInput& input, std::vector<std::string>& notes) {
  const WordPiece splitter(embeddings.vocabulary, embeddings.text);
  std::vector<Piece> pieces = splitter.split(text);
  require_words(!pieces.empty());
  for (const Piece& piece : pieces) {
    if (piece.unknown.empty()) continue;
    if (piece.number == Piece::kNone && !input.unknown) {
      refuse_unknown(piece.unknown, piece.word, embeddings.vocabulary_source);
    }
    notes.push_back("word " + std::to_string(piece.word + 1) + ", " +
                    printable(piece.unknown) +
                    ", is unknown: " + (piece.number == Piece::kNone ? "zeros" : piece.text));
  }
  const auto token = [&](const std::string& name, const char* setting) {
    Piece piece = splitter.piece(name);
    if (piece.number != Piece::kNone) return piece;
    throw Error(embeddings.vocabulary_source + ": the vocabulary has no " + printable(name) +
                ", which is " + setting);
  };
  const TextSettings& settings = embeddings.text;
  if (!settings.begin.empty()) {
    pieces.insert(pieces.begin(), token(settings.begin, "text_begin"));
  }
  if (!settings.end.empty()) pieces.push_back(token(settings.end, "text_end"));
  return pieces;
}

template <typename T>
void require_room(const std::vector<Piece>& pieces, const Table<T>& positions,
                  const OpenedModel& model) {
  if (!positions.there() || pieces.size() <= positions.rows()) return;
  throw Error(kText + ": " + std::to_string(pieces.size()) + " tokens, but " +
              model.translated.archive.path + " has positions for " +
              std::to_string(positions.rows()));
}

template <typename T>
Tensor<T> embed(const std::vector<Piece>& pieces, const OpenedModel& model,
                const Embeddings& embeddings, bool allow_nonfinite) {
  const auto table = [&](const char* name) {
    return Table<T>(model, embeddings, name, allow_nonfinite);
  };
  const Table<T> words = table("words");
  const Table<T> positions = table("positions");
  const Table<T> types = table("token_types");
  require_room(pieces, positions, model);
  const LayerSettings& settings = model.layers.front().settings;
  const std::size_t d_model = model.layers.front().sizes.attention.d_model;
  const std::string& end = embeddings.text.end;
  const std::string separator = end.empty() ? "[SEP]" : end;

  Tensor<T> x = Tensor<T>::zeros({pieces.size(), d_model});
  std::size_t type = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    T* row = x.matrix().row(i);
    if (pieces[i].number != Piece::kNone) words.add(pieces[i].number, row);
    if (positions.there()) positions.add(i, row);
    if (types.there() && type < types.rows()) types.add(type, row);
    if (pieces[i].text == separator) type = 1;
  }
  const FoundTensors& tensors = embeddings.tensors;
  if (!tensors.contains("embeddings.norm.weight")) return x;
  const auto read = [&](const char* name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? Tensor<T>()
                                  : read_found<T>(model.file, found->second, allow_nonfinite);
  };
  const Tensor<T> weight = read("embeddings.norm.weight");
  const Tensor<T> bias = read("embeddings.norm.bias");
  const auto norm = settings.norm_type == NormType::rms ? rms_norm<T> : layer_norm<T>;
  norm(std::as_const(x).matrix(), weight.values(), bias.values(), settings.eps, x.matrix());
  return x;
}

template <typename T>
Sequences<T> read_by_vectors(const std::string& text, const TextInput& input,
                             const OpenedModel& model, bool allow_nonfinite,
                             std::vector<std::string>& notes) {
  const std::string kUnknown = "<unk>";
  const std::vector<std::string> words = split_at_blanks(text);
  require_words(!words.empty());
  std::vector<std::string> wanted = words;
  if (input.unknown) wanted.push_back(kUnknown);
  const std::size_t d_model = model.layers.front().sizes.attention.d_model;
  const WordVectors<T> vectors = read_word_vectors<T>(
      input.embeddings, wanted, {d_model, "d_model of " + model.translated.archive.path},
      allow_nonfinite);
  const std::string source = source_name(input.embeddings);
  Sequences<T> x{kText, "words of " + source, Tensor<T>::zeros({words.size(), d_model}),
                 words};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto found = vectors.find(words[i]);
    if (found == vectors.end()) {
      if (!input.unknown) refuse_unknown(words[i], i, source);
      found = vectors.find(kUnknown);
      notes.push_back("word " + std::to_string(i + 1) + ", " + printable(words[i]) +
                      ", is unknown: " + (found == vectors.end() ? "zeros" : kUnknown));
    }
    if (found != vectors.end()) std::ranges::copy(found->second, x.values.matrix().row(i));
  }
  return x;
}

template <typename T>
Sequences<T> read_by_pieces(const std::string& text, const TextInput& input,
                            OpenedModel& model, const ModelOptions& options,
                            std::vector<std::string>& notes) {
  const std::string without = without_embeddings(model);
  if (!without.empty()) {
    throw Error(without + ": give vectors by --input, or vectors of words by --embeddings");
  }
  const Embeddings embeddings = open_embeddings(model, options, input.vocabulary);
  if (embeddings.vocabulary.empty()) {
    throw Error(
        model.translated.archive.path +
        ": there is no vocabulary, in it or in a vocab.txt beside it; give --vocab FILE");
  }
  for (const SettingInForce& setting : embeddings.in_force) {
    if (setting.value.empty()) continue;
    notes.push_back(setting.name + " = " + printable(setting.value) + " (" + setting.source +
                    ")");
  }
  const std::vector<Piece> pieces = pieces_of(text, embeddings, input, notes);
  Sequences<T> x{kText,
                 "WordPiece by " + embeddings.vocabulary_source,
                 embed<T>(pieces, model, embeddings, options.allow_nonfinite),
                 {}};
  for (const Piece& piece : pieces) x.labels.push_back(piece.text);
  return x;
}

}  // namespace

template <typename T>
Sequences<T> read_words(const TextInput& input, OpenedModel& model,
                        const ModelOptions& options, std::vector<std::string>& notes) {
  const std::string text =
      input.text == "-" ? std::string(Bytes::open("-").text()) : input.text;
  require_memory(checked_multiply(text.size(), kBytesOfByte)
                     .value_or(std::numeric_limits<std::size_t>::max()),
                 kText);
  return input.embeddings.empty()
             ? read_by_pieces<T>(text, input, model, options, notes)
             : read_by_vectors<T>(text, input, model, options.allow_nonfinite, notes);
}

template Sequences<float> read_words(const TextInput&, OpenedModel&, const ModelOptions&,
                                     std::vector<std::string>&);
template Sequences<double> read_words(const TextInput&, OpenedModel&, const ModelOptions&,
                                      std::vector<std::string>&);

}  // namespace mha
