#include "files/sharded.h"

#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "files/content.h"
#include "files/json.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::string_view kMap = "weight_map";
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view skip(std::string_view text, std::string_view characters) {
  const std::size_t start = text.find_first_not_of(characters);
  return start == text.npos ? "" : text.substr(start);
}

struct Shard {
  Archive archive;
  std::unordered_map<std::string_view, const Member*> members;
};

// `place` begins the message: the index, the shard and who needs it.
Shard open_shard(const std::string& index, const std::string& name, const std::string& place) {
  const bool is_plain_name = !name.empty() && name != "." && name != ".." &&
                             name.find_first_of("/\\") == name.npos &&
                             name.find('\0') == name.npos;
  if (!is_plain_name) throw Error(place + " is no name of a file beside the index");
  const std::string path = std::filesystem::path(index).replace_filename(name).string();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    throw Error(place + " is missing beside the index", Fault::system);
  }
  Shard shard;
  shard.archive = read_archive(Bytes::open(path), source_name(path));
  const std::string& container = shard.archive.container;
  if (container != "safetensors" && !container.starts_with("PyTorch")) {
    throw Error(place + " is " + container + ", expected safetensors or PyTorch");
  }
  for (const Member& member : shard.archive.members) shard.members[member.name] = &member;
  return shard;
}

}  // namespace

bool is_shard_index(std::string_view bytes) {
  const std::string_view text = skip(without_byte_order_mark(bytes), kBlanks);
  if (!text.starts_with('{')) return false;
  const std::string key = "\"" + std::string(kMap) + "\"";
  const std::size_t found = text.find(key);
  if (found == text.npos) return false;
  const std::string_view value = skip(text.substr(found + key.size()), kBlanks);
  return value.starts_with(':') && skip(value.substr(1), kBlanks).starts_with('{');
}

Archive open_sharded(const Bytes& bytes, const std::string& path) {
  Archive archive;
  archive.path = source_name(path);
  const JsonNode index = parse_json(bytes, archive.path);
  const JsonNode* map = index.find(kMap);
  if (map == nullptr || map->kind != JsonNode::Kind::object || map->keys.empty()) {
    throw Error(archive.path + ": expected an object weight_map of tensors and their shards");
  }
  if (path == "-") {
    throw Error(archive.path + ": is an index of shards, which lie beside a file of theirs");
  }
  std::map<std::string, Shard> shards;
  for (std::size_t i = 0; i < map->keys.size(); ++i) {
    const std::string& name = map->keys[i];
    const JsonNode& file = map->children[i];
    if (file.kind != JsonNode::Kind::string) {
      throw Error(archive.path + ": weight_map." + printable(name) + " is no name of a shard");
    }
    const std::string place = archive.path + ": shard " + printable(file.text);
    auto shard = shards.find(file.text);
    if (shard == shards.end()) {
      shard = shards
                  .emplace(file.text, open_shard(path, file.text,
                                                 place + " (of " + printable(name) + ")"))
                  .first;
    }
    const auto member = shard->second.members.find(name);
    if (member == shard->second.members.end()) {
      throw Error(place + ": has no tensor " + printable(name) + ", which the index promises");
    }
    archive.members.push_back(*member->second);
    const bool is_torch = shard->second.archive.container.starts_with("PyTorch");
    archive.container = is_torch ? "sharded PyTorch" : "sharded safetensors";
  }
  return archive;
}

}  // namespace mha
