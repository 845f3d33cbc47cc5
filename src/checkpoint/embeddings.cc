#include "checkpoint/embeddings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "checkpoint/config.h"
#include "checkpoint/native_layer.h"
#include "checkpoint/native_names.h"
#include "checkpoint/native_shapes.h"
#include "files/bytes.h"
#include "files/names.h"
#include "files/utf8.h"

namespace mha {
namespace {

const std::string kWords = "embeddings.words";
const std::string kConfigOfTokenizer = "tokenizer_config.json";

const std::array<std::string, 5> kSettings = {"lower_case", "strip_accents", "split_chinese",
                                              "text_begin", "text_end"};

bool is_native(const OpenedModel& model) { return model.translated.scheme == "native"; }

FoundTensors find_tensors(const OpenedModel& model) {
  const Archive& names = model.translated.archive;
  LayerParts parts;
  for (const Member& member : names.members) {
    if (!is_one_of(member.name, native_embeddings())) continue;
    parts.tensors[member.name] = {member.name, {&member}, false};
  }
  ShapeCheck check(model.file, parts);
  const std::size_t d_model = model.layers.front().sizes.attention.d_model;
  const std::string why = "d_model " + std::to_string(d_model);
  for (const char* name : {"words", "positions", "token_types"}) {
    const std::string full = std::string("embeddings.") + name;
    if (!check.has(full)) continue;
    const std::string expected =
        "[n_" + std::string(name) + ", " + std::to_string(d_model) + "]";
    check.take(full, {check.matrix(full, 0, expected, why)[0], d_model}, why);
  }
  find_norm(check, "embeddings.norm", d_model, why);
  return check.taken();
}

void require_words(const std::vector<std::string>& words, const std::string& where) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_utf8(words[i]) && words[i].find('\0') == std::string::npos) continue;
    throw Error(where + ": word " + std::to_string(i + 1) + ", " +
                printable(words[i].substr(0, 40)) + ", is no text in UTF-8");
  }
}

void require_fits(std::size_t count, std::size_t n_words, const std::string& where,
                  const OpenedModel& model) {
  if (count == 0) throw Error(where + ": the vocabulary is empty");
  if (count <= n_words) return;
  throw Error(where + ": the vocabulary has " + std::to_string(count) + " words, but " +
              kWords + " of " + model.translated.archive.path + " has " +
              std::to_string(n_words) + " rows");
}

// A word a line, in the order of its rows.
std::vector<std::string> read_vocabulary(const std::string& path, std::size_t n_words,
                                         const OpenedModel& model) {
  const Bytes bytes = Bytes::open(path);
  std::string_view rest = bytes.text();
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  // Before they take memory.
  const auto count = bytes.empty() ? 0 : std::ranges::count(rest, '\n') + 1;
  require_fits(static_cast<std::size_t>(count), n_words, source_name(path), model);
  std::vector<std::string> words;
  while (words.size() < static_cast<std::size_t>(count)) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    words.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

void find_vocabulary(Embeddings& found, const OpenedModel& model, std::string path) {
  const std::size_t n_words = found.tensors.at(kWords).shape[0];
  const Archive& names = model.translated.archive;
  const auto list = names.lists.find("vocabulary");
  if (path.empty() && names.settings.contains("vocabulary")) {
    throw Error(names.path + ": vocabulary is no list of strings");
  }
  if (path.empty() && list != names.lists.end()) {
    found.vocabulary = list->second;
    found.vocabulary_source = names.path;
  } else {
    if (path.empty() && !is_native(model)) path = file_beside(names.path, "vocab.txt");
    if (path.empty()) return;
    found.vocabulary = read_vocabulary(path, n_words, model);
    found.vocabulary_source = source_name(path);
  }
  require_fits(found.vocabulary.size(), n_words, found.vocabulary_source, model);
  require_words(found.vocabulary, found.vocabulary_source);
}

// What a config says of text by native names or by those of BertTokenizer.
void add_config(std::vector<Said>& said, const Config& config) {
  const auto add = [&](const std::string& key, const std::string& native) {
    const ConfigEntry* entry = config.find(key);
    if (entry != nullptr) said.push_back({native, entry->value, config.path + ": " + key});
  };
  for (const std::string& name : kSettings) add(name, name);
  add("do_lower_case", "lower_case");
  add("tokenize_chinese_chars", "split_chinese");
}

// Another tokenizer than BertTokenizer would split text into other words.
void require_wordpiece(const Config& config) {
  static const std::vector<std::string> kLikeBert = {
      "BertTokenizer",           "BertTokenizerFast", "DistilBertTokenizer",
      "DistilBertTokenizerFast", "ElectraTokenizer",  "ElectraTokenizerFast"};
  const ConfigEntry* tokenizer = config.find("tokenizer_class");
  if (tokenizer != nullptr && !is_one_of(tokenizer->value, kLikeBert)) {
    throw Error(config.path + ": tokenizer_class is \"" + printable(tokenizer->value) +
                "\", expected BertTokenizer: text is split by WordPiece alone");
  }
  const ConfigEntry* basic = config.find("do_basic_tokenize");
  if (basic != nullptr && basic->value != "true") {
    throw Error(config.path + ": do_basic_tokenize is " + printable(basic->value) +
                ": text that is split already is not done");
  }
}

// All that is said about text, the weightiest voice first.
std::vector<Said> said_of(const OpenedModel& model, const ModelOptions& options) {
  std::vector<Said> said;
  for (const Said& one : model.translated.file) {
    if (is_one_of(one.name, kSettings)) said.push_back(one);
  }
  const std::string& path = model.translated.archive.path;
  const std::string tokenizer = is_native(model) ? "" : file_beside(path, kConfigOfTokenizer);
  if (!tokenizer.empty()) {
    const Config config = read_config(Bytes::open(tokenizer), printable(tokenizer));
    require_wordpiece(config);
    add_config(said, config);
  }
  if (const auto config = open_config(options.config, path)) add_config(said, *config);
  return said;
}

void set_text(Embeddings& found, const std::vector<Said>& said, bool native) {
  TextSettings& text = found.text;
  const auto set = [&](const std::string& name, auto& value, auto read, auto show) {
    const auto one =
        std::ranges::find_if(said, [&](const Said& any) { return any.name == name; });
    if (one != said.end()) value = read(*one);
    found.in_force.push_back({name, show(value), one != said.end() ? one->source : "default"});
  };
  const auto show_flag = [](bool value) -> std::string { return value ? "true" : "false"; };
  set("lower_case", text.lower_case, read_flag, show_flag);
  text.strip_accents = text.lower_case;
  set("strip_accents", text.strip_accents, read_flag, show_flag);
  set("split_chinese", text.split_chinese, read_flag, show_flag);
  if (!native) text.begin = "[CLS]";
  if (!native) text.end = "[SEP]";
  const auto word = [](const Said& one) { return one.value; };
  const auto show_word = [](const std::string& value) { return value; };
  set("text_begin", text.begin, word, show_word);
  set("text_end", text.end, word, show_word);
}

}  // namespace

std::string without_embeddings(const OpenedModel& model) {
  const Translated& translated = model.translated;
  if (translated.archive.find(kWords) != nullptr) return "";
  if (!translated.no_text.empty()) return translated.no_text;
  return translated.archive.path + ": holds no embeddings of words" +
         (is_native(model) ? ", " + kWords : " that scheme " + translated.scheme + " knows");
}

Embeddings open_embeddings(OpenedModel& model, const ModelOptions& options,
                           const std::string& vocabulary) {
  Embeddings found;
  found.tensors = find_tensors(model);
  set_text(found, said_of(model, options), is_native(model));
  find_vocabulary(found, model, vocabulary);
  for (const auto& [name, tensor] : found.tensors) {
    const Member& member = tensor.pieces[0];
    std::erase(model.translated.unused, member.origin.empty() ? name : member.origin);
  }
  return found;
}

}  // namespace mha
