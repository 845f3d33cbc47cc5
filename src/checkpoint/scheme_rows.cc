#include "checkpoint/scheme_rows.h"

namespace mha {
namespace {

std::vector<std::string> with_ending(const std::vector<std::string>& names,
                                     const std::string& ending) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(name + ending);
  return result;
}

void add_bias(Rules& rules, const std::string& what, std::vector<std::string> names, Form form,
              const Bias& bias, const Cut& cut) {
  if (!bias.there) return;
  rules.push_back({"b_" + what, std::move(names), form, bias.need, bias.group, cut});
}

Cut third(std::size_t part) { return {part, 3}; }

}  // namespace

Rules linear(const std::string& what, const std::vector<std::string>& names, const Bias& bias,
             const Cut& cut) {
  Rules rules = {
      {"W_" + what, with_ending(names, ".weight"), Form::out_in, Need::always, "", cut}};
  add_bias(rules, what, with_ending(names, ".bias"), Form::vector, bias, cut);
  return rules;
}

Rules conv1d(const std::string& what, const std::string& name, const Cut& cut) {
  return {{"W_" + what, {name + ".weight"}, Form::in_out, Need::always, "", cut},
          {"b_" + what, {name + ".bias"}, Form::vector, Need::always, "", cut}};
}

Rules fused_linear(const std::string& name, const Bias& bias) {
  return join({linear("Q", {name}, bias, third(0)), linear("K", {name}, bias, third(1)),
               linear("V", {name}, bias, third(2))});
}

Rules fused_conv1d(const std::string& name) {
  return join(
      {conv1d("Q", name, third(0)), conv1d("K", name, third(1)), conv1d("V", name, third(2))});
}

Rules multihead(const std::string& prefix, const Bias& bias) {
  Rules rules;
  const std::vector<std::string> kParts = {"Q", "K", "V"};
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    rules.push_back({"W_" + kParts[part],
                     {prefix + "in_proj_weight"},
                     Form::out_in,
                     Need::always,
                     "",
                     third(part)});
    add_bias(rules, kParts[part], {prefix + "in_proj_bias"}, Form::vector, bias, third(part));
  }
  return join({rules, linear("O", {prefix + "out_proj"}, bias)});
}

Rules head_axis(const std::string& prefix, const std::string& out) {
  Rules rules;
  const Bias bias = bias_group("bias");
  const auto add = [&](const std::string& what, const std::string& name) {
    rules.push_back({"W_" + what, {prefix + name + ".kernel"}, Form::in_head_out});
    add_bias(rules, what, {prefix + name + ".bias"}, Form::head_out, bias, {});
  };
  add("Q", "query");
  add("K", "key");
  add("V", "value");
  rules.push_back({"W_O", {prefix + out + ".kernel"}, Form::head_in_out});
  add_bias(rules, "O", {prefix + out + ".bias"}, Form::vector, bias, {});
  return rules;
}

Rules layer_norm(const std::string& native, const std::string& name, Need need,
                 const Bias& bias) {
  Rules rules = {
      {native + ".weight", {name + ".weight", name + ".gamma"}, Form::vector, need}};
  if (bias.there) {
    rules.push_back({native + ".bias",
                     {name + ".bias", name + ".beta"},
                     Form::vector,
                     bias.need == Need::always ? need : bias.need,
                     bias.group});
  }
  return rules;
}

Rules rms_norm(const std::string& native, const std::string& name) {
  return {{native + ".weight", {name + ".weight"}}};
}

Rules bert_embeddings(const std::string& prefix, bool token_types) {
  Rules rules = {{"embeddings.words", {prefix + "word_embeddings.weight"}},
                 {"embeddings.positions", {prefix + "position_embeddings.weight"}}};
  if (token_types) {
    rules.push_back({"embeddings.token_types", {prefix + "token_type_embeddings.weight"}});
  }
  return join({rules, layer_norm("embeddings.norm", prefix + "LayerNorm")});
}

Rules join(std::initializer_list<Rules> parts) {
  Rules rules;
  for (const Rules& part : parts) rules.insert(rules.end(), part.begin(), part.end());
  return rules;
}

Scheme attention_of(const Scheme& scheme) {
  Scheme row = scheme;
  row.name += "-attention";
  row.title = "attention of " + scheme.title;
  row.last_norm = {};
  row.embeddings = {};
  row.beside = row.not_beside = {};
  row.unit_norm = {};
  const auto strip = [&](std::vector<std::string>& names) {
    for (std::string& name : names) {
      if (name.starts_with(scheme.attention)) name.erase(0, scheme.attention.size());
    }
  };
  // A norm that stands among its names (BERT's) is none of its own.
  for (const TensorRule& rule : scheme.tensors) {
    if (is_of_attention(rule.native)) continue;
    row.aside.insert(row.aside.end(), rule.names.begin(), rule.names.end());
  }
  std::erase_if(row.aside,
                [&](const std::string& name) { return !name.starts_with(scheme.attention); });
  std::erase_if(row.tensors,
                [](const TensorRule& rule) { return !is_of_attention(rule.native); });
  for (TensorRule& rule : row.tensors) strip(rule.names);
  for (Length& length : row.lengths) strip(length.names);
  strip(row.aside);
  // Of what stands around attention, the file has nothing.
  std::erase_if(row.defaults, [](const auto& setting) {
    return setting.first == "norm" || setting.first == "norm_type" ||
           setting.first == "activation" || setting.first == "eps";
  });
  return row;
}

}  // namespace mha
