#include <memory>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "files/json.h"
#include "files/names.h"

namespace mha {
namespace {

using Kind = JsonNode::Kind;

Member member_of(JsonNode&& node, std::string name) {
  Member member;
  member.name = std::move(name);
  member.shape = node.shape;
  if (node.kind == Kind::booleans) {
    member.dtype = DType::boolean;
    member.dtype_name = "true/false";
    const Bytes bytes = Bytes::own(std::string(node.numbers.begin(), node.numbers.end()));
    member.fetch = [bytes] { return bytes; };
  } else {
    member.dtype = DType::f64;
    member.dtype_name = "number";
    const auto numbers = std::make_shared<const std::vector<double>>(std::move(node.numbers));
    const Bytes bytes = Bytes::share(numbers, std::as_bytes(std::span(*numbers)));
    member.fetch = [bytes] { return bytes; };
  }
  return member;
}

using Names = std::unordered_set<std::string>;
void add_node(Archive& archive, Names& names, JsonNode&& node, const std::string& name);

// An object of a list, or the whole document where `prefix` is "".
void add_object(Archive& archive, Names& names, JsonNode&& object, const std::string& prefix) {
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    add_node(archive, names, std::move(object.children[i]), prefix + object.keys[i]);
  }
}

void add_node(Archive& archive, Names& names, JsonNode&& node, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Error(archive.path + ": " + printable(name) + " is " + what);
  };
  // A key may spell what a list of objects flattens to.
  if (!names.insert(name).second)
    throw Error(archive.path + ": " + printable(name) + " is given twice");
  const bool nested = name.find("].") != name.npos;
  switch (node.kind) {
    case Kind::numbers:
    case Kind::booleans: archive.members.push_back(member_of(std::move(node), name)); return;
    case Kind::objects:
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        add_object(archive, names, std::move(node.children[i]),
                   name + "[" + std::to_string(i) + "].");
      }
      return;
    case Kind::null: refuse("null, expected numbers or a setting"); return;
    case Kind::object:
      refuse("an object, expected numbers, a list of objects or a setting");
      return;
    case Kind::strings:
      if (nested) refuse("a list of strings, expected numbers");
      archive.lists[name] = std::move(node.strings);
      return;
    case Kind::boolean:
    case Kind::number:
    case Kind::string:
      if (nested)
        refuse("\"" + printable(node.text) +
               "\", expected a list of numbers; settings stand outside");
      archive.settings[name] = std::move(node.text);
      return;
  }
}

}  // namespace

Archive open_json(const Bytes& bytes, const std::string& path) {
  Archive archive;
  archive.path = path;
  archive.container = "JSON";
  JsonNode root = parse_json(bytes, path);
  Names names;
  switch (root.kind) {
    case Kind::object: add_object(archive, names, std::move(root), ""); break;
    case Kind::numbers:
    case Kind::booleans: archive.members.push_back(member_of(std::move(root), "")); break;
    default:
      throw Error(path + ": expected an object of tensors or a list of numbers at the top");
  }
  return archive;
}

}  // namespace mha
