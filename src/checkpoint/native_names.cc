#include "checkpoint/native_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

const std::vector<std::string> kWhole = {"W_Q", "W_K", "W_V", "W_O",
                                         "b_Q", "b_K", "b_V", "b_O"};
const std::vector<std::string> kOfHead = {"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V"};
const std::vector<std::string> kOfKvHead = {"W_K", "W_V", "b_K", "b_V"};

// "heads[3].W_Q" taken apart.
struct HeadName {
  std::string_view group;  // "heads" or "kv_heads"
  std::size_t index = 0;
  std::string_view tensor;
};

std::optional<HeadName> parse_head_name(std::string_view name) {
  const std::size_t open = name.find('[');
  const std::size_t close = name.find("].");
  if (open == name.npos || close == name.npos || close <= open + 1) return std::nullopt;
  HeadName parsed{name.substr(0, open), 0, name.substr(close + 2)};
  if (parsed.group != "heads" && parsed.group != "kv_heads") return std::nullopt;
  const std::string_view digits = name.substr(open + 1, close - open - 1);
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, parsed.index);
  const bool plain =
      digits == "0" || digits.front() != '0';  // heads[00] is no second spelling
  if (result.ec != std::errc() || result.ptr != end || !plain) return std::nullopt;
  return parsed;
}

bool is_known(std::string_view name) {
  if (is_one_of(name, kWhole)) return true;
  const auto head = parse_head_name(name);
  return head && is_one_of(head->tensor, head->group == "heads" ? kOfHead : kOfKvHead);
}

// Names of the contract that stand for more than plain attention.
bool is_beyond_attention(std::string_view name) {
  constexpr std::array<std::string_view, 6> kPrefixes = {
      "layers.", "norm.", "norm1.", "norm2.", "q_latent_norm.", "kv_latent_norm."};
  static const std::vector<std::string> names = {
      "W_1",           "b_1",  "W_2",  "b_2",  "W_G",   "b_G",  "bias_k", "bias_v",
      "relative_bias", "W_DQ", "W_UQ", "W_QR", "W_DKV", "W_UK", "W_UV",   "W_KR"};
  return is_one_of(name, names) || std::any_of(kPrefixes.begin(), kPrefixes.end(),
                                               [&](auto p) { return name.starts_with(p); });
}

// The nearest known name in the same place: heads[1].W_q -> heads[1].W_Q.
std::string nearest_known(std::string_view name) {
  const auto head = parse_head_name(name);
  if (!head) return nearest(name, kWhole);
  // Known, but not as a head's: b_O.
  if (is_one_of(head->tensor, kWhole)) return std::string(head->tensor);
  const std::string tensor =
      nearest(head->tensor, head->group == "heads" ? kOfHead : kOfKvHead);
  return tensor.empty() ? "" : std::string(name.substr(0, name.find("].") + 2)) + tensor;
}

// The tensors `group`[0].`name`, `group`[1].`name` …; none where no head has one.
std::vector<const Member*> head_members(const Archive& archive, const std::string& group,
                                        const std::string& name) {
  std::vector<std::pair<std::size_t, const Member*>> found;
  std::size_t last = 0;  // head of this group, whatever its tensors
  for (const Member& member : archive.members) {
    const auto head = parse_head_name(member.name);
    if (!head || head->group != group) continue;
    last = std::max(last, head->index);
    if (head->tensor == name) found.emplace_back(head->index, &member);
  }
  std::sort(found.begin(), found.end());
  std::vector<const Member*> members;
  for (const auto& [index, member] : found) {
    if (index != members.size()) break;
    members.push_back(member);
  }
  if (!found.empty() && members.size() <= last) {
    throw Error(archive.path + ": " + group + "[" + std::to_string(members.size()) + "]." +
                name + " is missing");
  }
  return members;
}

}  // namespace

void require_known(const Archive& archive) {
  for (const Member& member : archive.members) {
    const std::string name = printable(member.name);
    if (is_known(member.name)) continue;
    if (member.name.empty()) {
      throw Error(archive.path + ": one tensor without a name, expected weights called " +
                  list_of(kWhole));
    }
    if (is_beyond_attention(member.name)) {
      throw Error(archive.path + ": " + name +
                  " is more than attention, which is all that is read: " + list_of(kWhole));
    }
    const std::string near = nearest_known(member.name);
    throw Error(
        archive.path + ": the tensor " + name + " is unknown; " +
        (near.empty() ? "known are " + list_of(kWhole) : "did you mean " + near + "?"));
  }
  for (const auto& [name, strings] : archive.lists) {
    throw Error(archive.path + ": the list of strings " + printable(name) +
                " is unknown among weights");
  }
}

Parts find_parts(const Archive& archive, const std::string& name) {
  Parts parts;
  parts.name = name;
  std::string found;  // the form it was found in
  const auto take = [&](const std::string& form) {
    if (!found.empty()) {
      throw Error(archive.path + ": " + name + " is there twice, as " + found + " and as " +
                  form);
    }
    found = form;
  };
  if (const Member* whole = archive.find(name)) {
    take(name);
    parts.members = {whole};
  }
  for (const std::string group : {"heads", "kv_heads"}) {
    std::vector<const Member*> members = head_members(archive, group, name);
    if (members.empty()) continue;
    take(group + "[0]." + name);
    parts.per_head = true;
    parts.members = std::move(members);
  }
  return parts;
}

}  // namespace mha
