#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/archive.h"
#include "files/bytes.h"
#include "tensor/tensor.h"

namespace mha {

// One value of a JSON document. An array of numbers is one node however deep
// it is, so that a matrix costs eight bytes a number.
struct JsonNode {
  enum class Kind {
    null,
    boolean,
    number,
    string,
    numbers,
    booleans,
    strings,
    objects,
    object
  };

  Kind kind = Kind::null;
  // string: its value; number, boolean: as it reads ("0.5", "true").
  std::string text;
  double number = 0.0;  // number: its value; boolean: 0 or 1
  // number, numbers: all of them are written as whole numbers from 0 to 2^53,
  // which a double holds exactly.
  bool natural = false;
  Shape shape;                       // numbers, booleans: rectangular; [] has shape [0]
  std::vector<double> numbers;       // numbers, booleans (0 or 1): row-major
  std::vector<std::string> strings;  // strings
  std::vector<std::string> keys;     // object: in the order of the document
  std::vector<JsonNode> children;    // object: values in the order of keys; objects

  // The value of a key, or null. REQUIRES nothing of kind.
  const JsonNode* find(std::string_view key) const;
  // A flat list of natural numbers as sizes; nothing for any other node.
  std::optional<Shape> naturals() const;
};

// Parses a whole document; a UTF-8 byte order mark is skipped. Throws Error
// that begins with `where`: with line and column for what is not JSON, with
// the cell's name ("W_Q[2][1]") for lists that are ragged or mixed, for a key
// given twice, and for more than 16 levels.
JsonNode parse_json(const Bytes& bytes, const std::string& where);

// A setting of a model's config.json, however deep it stands.
struct ConfigEntry {
  enum class Kind { null, boolean, number, string, list, object };
  std::string key;    // "text_config.hidden_size"
  std::string value;  // "null", "true", "1e-12" as it reads, a string's text, a list as JSON
  Kind kind = Kind::null;
  std::vector<std::string> items;  // list: its values, spelt like `value`
};

// The settings of a JSON object in the order of the document, those of objects
// within it by dotted keys; an object appears itself only where it is empty
// ("{}"). Lists may be mixed and nested. Throws Error that begins with `where`:
// with line and column for what is not JSON, for a document that is no object,
// for a key given twice, for more than 64 levels and for more than 64 MB of
// settings.
std::vector<ConfigEntry> parse_config(const Bytes& bytes, const std::string& where);

// A JSON file as tensors: rectangular lists of numbers (f64) or of true and
// false (boolean) become members by key, "" where the whole document is one;
// a list of objects becomes `heads[0].W_Q` and so on; scalars become settings,
// lists of strings become lists. Throws Error that names what is none of these.
Archive open_json(const Bytes& bytes, const std::string& path);

// A text as a string of JSON, quotes included; what is no UTF-8 becomes U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace mha
