#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mha {

// How a tensor of a file lies. Ours are row-vector: y = x W, W [in, out].
enum class Form {
  vector,       // [n]
  in_out,       // [in, out]
  out_in,       // [out, in], nn.Linear
  head_in_out,  // [heads, in, out]
  in_head_out,  // [in, heads, out]
  head_out,     // [heads, out], a bias
  one_one_out,  // [1, 1, out]
};

// Which outputs of a fused tensor are meant: part `part` of `parts` equal ones;
// or those from `begin` to `end`, sums of lengths that the row names ("": from
// the first, to the last), of each head's where `per_head`.
struct Cut {
  std::size_t part = 0;
  std::size_t parts = 1;
  std::string begin{};
  std::string end{};
  bool per_head = false;
};

enum class Need {
  always,
  together,     // all of a group are there, or none is
  after_first,  // the first layer of a stack has none
  from_first,   // the first layer has it, for all layers
};

// A native tensor, and where a layer of the file has it.
struct TensorRule {
  std::string native{};              // "W_Q"
  std::vector<std::string> names{};  // under the layer's prefix; spellings of one tensor
  Form form = Form::vector;
  Need need = Need::always;
  std::string group{};  // with Need::together
  Cut cut{};
};
using Rules = std::vector<TensorRule>;

// A length that a fused tensor is cut at: an axis of a tensor of the layer,
// divided by the heads where `per_head`, less another length.
struct Length {
  std::string name{};                // "d_rope"
  std::vector<std::string> names{};  // the tensor's spellings
  bool per_head = false;
  std::string less{};        // "" or a length that stands before this one
  std::string config_key{};  // what a config says it is, to be held against it
};

// What a key of a config means.
struct ConfigKey {
  std::string key{};     // "num_attention_heads"
  std::string native{};  // "n_heads"; "": nothing
  // Of the config -> native ("": says nothing); no other is known. Empty: as it stands.
  std::vector<std::pair<std::string, std::string>> values{};
  std::string undone{};  // why another value is refused: "ALiBi is not done"
};

// Layers that see a window of keys alone.
struct WindowRule {
  std::string key{};               // its width: "sliding_window"
  std::size_t width = 0;           // where no config says it; 0: none
  bool both_sides = false;         // the width counts both sides of a query
  std::string switch_key{};        // "use_sliding_window": whether there are windows …
  bool switched_on = true;         // … where the config does not say so
  std::string first_key{};         // "max_window_layers": layers from this one on
  std::string full_every_key{};    // layers divisible by this see everything
  std::size_t full_every = 0;      // where no config says it; 0: none does
  std::string full_theta_key{};    // rope_theta of layers that see everything …
  std::string full_theta{};        // … where no config says it
  std::string window_theta_key{};  // … and of the others
  std::string window_theta{};
};

// A tensor's name, or one component of it, that stands for what is not done.
struct Refusal {
  std::string name{};  // "mlp.experts": whole components, in a row
  std::string why{};   // "experts are not done"
};

using Settings = std::vector<std::pair<std::string, std::string>>;

// A family's way to name and lay its tensors. Names are written with dots; a
// file may have slashes, and ":0" behind. Names beside the layers stand in what
// holds their list ("encoder." of "encoder.layer.3."), "../" in what holds that.
struct Scheme {
  std::string name{};   // "bert"
  std::string title{};  // "BERT (Hugging Face)"
  // Of one layer. The first one's names tell where layers are.
  Rules tensors{};
  std::string attention{};  // what names of its attention begin with: "self_attn."
  Rules last_norm{};        // beside the layers
  // What stands in front of them where words come in as WordPiece splits them,
  // beside the layers too; of a rule only the names are looked at.
  Rules embeddings{};
  std::string other_words{};  // how else its text is split: "into byte pairs"
  // What tells rows with the same names apart: any of the values of model_type,
  // of the components in front, of the tensors beside the layers.
  std::vector<std::string> model_types{};
  std::vector<std::string> under{};
  std::vector<std::string> not_under{};
  std::vector<std::string> beside{};
  std::vector<std::string> not_beside{};
  std::vector<std::string> sections{};  // of a config, that speak of this tower
  Settings defaults{};
  std::vector<ConfigKey> keys{};  // before the common ones
  WindowRule windows{};
  std::vector<Length> lengths{};
  // Buffers of a layer that nothing reads.
  std::vector<std::string> aside{};
  // A config may say that norms have no weights (folded into what reads them):
  // key and value.
  std::pair<std::string, std::string> unit_norm{};
  // Its attention alone is named like others': only a config tells it from them.
  bool by_config = false;
  std::string undone{};  // why the family as a whole is refused
};

// All rows. Rows of attention alone come behind those of whole layers.
std::span<const Scheme> schemes();

// What no row does.
std::span<const Refusal> common_refusals();

// Names of rotary tables: left aside where positions turn, else refused.
std::span<const std::string> rotary_tables();

// Keys of configs that mean the same in all families.
std::span<const ConfigKey> common_keys();

// Whether a native tensor belongs to attention, not to what is around it.
bool is_of_attention(const std::string& native);

}  // namespace mha
