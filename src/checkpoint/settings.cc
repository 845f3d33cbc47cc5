#include "checkpoint/settings.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

const std::vector<std::string> kSizes = {"d_model", "d_key", "d_value", "d_head", "d_v"};
// Settings of what an encoder layer does around its attention.
const std::vector<std::string> kAround = {"norm", "norm_type", "activation", "gated", "eps"};

const std::vector<std::string>& known_settings() {
  static const std::vector<std::string> known = [] {
    std::vector<std::string> names = {"n_heads", "n_kv_heads", "scale",     "softcap",
                                      "causal",  "rope",       "rope_theta"};
    names.insert(names.end(), kSizes.begin(), kSizes.end());
    names.insert(names.end(), kAround.begin(), kAround.end());
    return names;
  }();
  return known;
}

[[noreturn]] void refuse(const Archive& archive, const std::string& name,
                         const std::string& value, const std::string& expected) {
  throw Error(archive.path + ": " + name + " is \"" + printable(value) + "\", expected " +
              expected);
}

double read_number(const Archive& archive, const std::string& name, const std::string& text,
                   const std::string& expected) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(value)) {
    refuse(archive, name, text, expected);
  }
  return value;
}

std::size_t read_count(const Archive& archive, const std::string& name,
                       const std::string& text) {
  const std::string expected = "a whole number";
  const double value = read_number(archive, name, text, expected);
  // Containers may spell 2 as "2.0"; no model has 2^32 of anything.
  if (value < 0.0 || value > 4294967296.0 || value != std::floor(value)) {
    refuse(archive, name, text, expected);
  }
  return static_cast<std::size_t>(value);
}

Causal read_causal(const Archive& archive, const std::string& text) {
  if (text == "true" || text == "start") return Causal::start;
  if (text == "end") return Causal::end;
  if (text == "false" || text == "off") return Causal::off;
  refuse(archive, "causal", text, "true, false, start, end or off");
}

// What attention would have to do and does not.
void refuse_undone(const Archive& archive, const std::string& name, const std::string& value) {
  const auto& all = archive.settings;
  const auto rope = all.find("rope");
  const bool no_rope = rope != all.end() && rope->second == "none";
  if ((name == "rope" || name == "rope_theta") && !no_rope) {
    throw Error(archive.path + ": " + name + " is \"" + printable(value) +
                "\": rotary positions are not done, expected rope \"none\"");
  }
  if (name == "norm" && value != "post") {
    throw Error(archive.path + ": norm is \"" + printable(value) +
                "\": attention is done on x as it is, expected \"post\"");
  }
}

}  // namespace

FileSettings read_settings(const Archive& archive) {
  FileSettings settings;
  for (const auto& [name, value] : archive.settings) {
    refuse_undone(archive, name, value);
    if (name == "n_heads") {
      settings.n_heads = read_count(archive, name, value);
    } else if (name == "n_kv_heads") {
      settings.n_kv_heads = read_count(archive, name, value);
    } else if (is_one_of(name, kSizes)) {
      settings.sizes[name] = read_count(archive, name, value);
    } else if (name == "scale") {
      settings.scale = read_number(archive, name, value, "a positive number");
      if (*settings.scale <= 0.0) refuse(archive, name, value, "a positive number");
    } else if (name == "softcap") {
      settings.softcap = read_number(archive, name, value, "a number from 0 (off)");
      if (*settings.softcap < 0.0) refuse(archive, name, value, "a number from 0 (off)");
    } else if (name == "causal") {
      settings.causal = read_causal(archive, value);
    } else if (is_one_of(name, known_settings())) {
      settings.unused.push_back({name, printable(value), "not used by attention"});
    } else {
      const std::string near = nearest(name, known_settings());
      if (archive.container == "safetensors" && near.empty()) continue;
      throw Error(archive.path + ": the setting " + printable(name) + " is unknown; " +
                  (near.empty() ? "known are " + list_of(known_settings(), 20)
                                : "did you mean " + near + "?"));
    }
  }
  return settings;
}

}  // namespace mha
