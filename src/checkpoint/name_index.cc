#include "checkpoint/name_index.h"

#include <algorithm>

#include "base/error.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::string_view kZero = ":0";

bool is_number(std::string_view text) {
  // Longer ones count no layers; 01 is no second way to write 1.
  return !text.empty() && text.size() <= 6 && (text == "0" || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string with_dots(std::string name) {
  if (name.ends_with(kZero)) name.resize(name.size() - kZero.size());
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

NameIndex::NameIndex(const Archive& archive) {
  entries_.reserve(archive.members.size());
  for (const Member& member : archive.members) {
    slashes_ = slashes_ || member.name.find('/') != member.name.npos;
    zeros_ = zeros_ || member.name.ends_with(kZero);
    entries_.push_back({with_dots(member.name), &member});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.name == b.name; });
  if (twice == entries_.end()) return;
  throw Error(archive.path + ": " + printable(twice->member->name) + " and " +
              printable((twice + 1)->member->name) + " are one name");
}

const Member* NameIndex::find(std::string_view name) const {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), name,
      [](const Entry& entry, std::string_view text) { return entry.name < text; });
  return at != entries_.end() && at->name == name ? at->member : nullptr;
}

std::span<const NameIndex::Entry> NameIndex::under(std::string_view prefix) const {
  const auto begins = [&](const Entry& entry) {
    return std::string_view(entry.name).substr(0, prefix.size());
  };
  const auto first =
      std::partition_point(entries_.begin(), entries_.end(),
                           [&](const Entry& entry) { return begins(entry) < prefix; });
  const auto last = std::partition_point(
      first, entries_.end(), [&](const Entry& entry) { return begins(entry) == prefix; });
  return {first, last};
}

std::string NameIndex::spelt(const std::string& name) const {
  return spelt_prefix(name) + std::string(zeros_ ? kZero : "");
}

std::string NameIndex::spelt_prefix(std::string prefix) const {
  if (slashes_) std::replace(prefix.begin(), prefix.end(), '.', '/');
  return prefix;
}

bool has_components(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != name.npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) {
      return true;
    }
  }
  return false;
}

Numbered take_apart(std::string_view prefix) {
  std::string_view found;
  bool whole = false;
  for (std::size_t begin = 0; begin < prefix.size();) {
    const std::size_t end = std::min(prefix.find('.', begin), prefix.size());
    const std::string_view component = prefix.substr(begin, end - begin);
    const std::string_view behind = component.substr(component.rfind('_') + 1);
    if (is_number(component)) {
      found = component;
      whole = true;
    } else if (!whole && found.empty() && behind.size() < component.size() &&
               is_number(behind)) {
      found = behind;
    }
    begin = end + 1;
  }
  if (found.empty()) return {prefix, "", ""};
  const auto at = static_cast<std::size_t>(found.data() - prefix.data());
  return {prefix.substr(0, at), found, prefix.substr(at + found.size())};
}

}  // namespace mha
