#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/model_options.h"
#include "checkpoint/translate.h"
#include "layer/settings.h"

namespace mha {

// A setting that is in force, and who said so.
struct SettingInForce {
  std::string name;    // "n_heads", "layers.3.window"
  std::string value;   // "2"
  std::string source;  // "shape of W_Q", "w.bin", "default", "--scale"
};

// Who says settings, the weightiest first.
enum class Voice { option, file, config, scheme };

// All that is said about a model.
class SaidSettings {
 public:
  // Throws Error for a setting that is unknown, with the nearest known name,
  // and for one of a layer that is not there. The metadata of safetensors may
  // hold keys of other programs; there only those near a known one are refused.
  SaidSettings(const ModelOptions& options, const Translated& translated,
               std::size_t n_layers);

  // What a voice says of a layer, under "layers.K.NAME" or else "NAME"; null
  // for nothing.
  const Said* find(Voice voice, std::size_t layer, const std::string& name) const;
  // What the weightiest of those that speak says.
  const Said* find(std::size_t layer, const std::string& name) const;

 private:
  std::array<std::map<std::string, Said>, 4> voices_;
};

// "w.json: causal", as a message begins; a source that ends so stands alone.
std::string subject(const Said& said);

// "w.json: causal is "left", expected off, start or end"
[[noreturn]] void refuse(const Said& said, const std::string& expected);

// What a setting says. Throw Error for what is no such value.
double read_number(const Said& said, const std::string& expected);
double read_positive(const Said& said);
double read_from_zero(const Said& said, const std::string& expected);
std::size_t read_count(const Said& said, const std::string& expected = "a whole number");
bool read_flag(const Said& said);
Causal read_causal(const Said& said);

// "relu, gelu or silu"
std::string one_of(std::span<const std::string_view> words);

// One of the words of value_names().
template <typename Value>
Value read_word(const Said& said) {
  if (const auto value = value_named<Value>(said.value)) return *value;
  refuse(said, one_of(value_names<Value>()));
}

}  // namespace mha
