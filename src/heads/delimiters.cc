#include "heads/delimiters.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace mha {
namespace {

constexpr std::array<std::string_view, 9> kMarks = {
    "[CLS]", "[SEP]", "<s>", "</s>", "<cls>", "<sep>", "<bos>", "<eos>", "<|endoftext|>"};
constexpr std::string_view kAscii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::array<std::string_view, 21> kWider = {"。", "，", "、", "；", "：", "？", "！",
                                                     "「", "」", "『", "』", "（", "）", "《",
                                                     "》", "…",  "—",  "“",  "”",  "‘",  "’"};

bool is_punctuation(std::string_view label) {
  if (label.empty()) return false;
  while (!label.empty()) {
    if (kAscii.find(label.front()) != std::string_view::npos) {
      label.remove_prefix(1);
      continue;
    }
    const auto* const found = std::ranges::find_if(
        kWider, [label](std::string_view mark) { return label.starts_with(mark); });
    if (found == kWider.end()) return false;
    label.remove_prefix(found->size());
  }
  return true;
}

}  // namespace

std::vector<std::uint8_t> delimiters_of(std::span<const std::string> labels,
                                        std::span<const std::string> words) {
  std::vector<std::uint8_t> delimiters(labels.size());
  std::ranges::transform(labels, delimiters.begin(), [words](const std::string& label) {
    const bool is_one = words.empty() ? std::ranges::find(kMarks, label) != kMarks.end() ||
                                            is_punctuation(label)
                                      : std::ranges::find(words, label) != words.end();
    return static_cast<std::uint8_t>(is_one ? 1 : 0);
  });
  return delimiters;
}

}  // namespace mha
