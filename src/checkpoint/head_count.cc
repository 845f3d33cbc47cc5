#include "checkpoint/head_count.h"

namespace mha {

std::string to_string(const HeadCount& count) {
  return count.name + " " + std::to_string(*count.said) + ", " + count.source;
}

bool overruled(const HeadCount& count) { return count.config && count.config != count.said; }

void require_heads(const ShapeCheck& check, const HeadCount& count, std::size_t d_model) {
  const bool by_config = !count.said;
  if ((by_config ? count.config : count.said) != std::size_t{0}) return;
  check.fail(count.name + " is 0 (" + (by_config ? count.config_source : count.source) +
             "), expected one head or more for d_model " + std::to_string(d_model));
}

void settle(const ShapeCheck& check, HeadCount& count, const Projection& projection) {
  if (projection.parts == nullptr || projection.heads == 0) return;
  if (count.said && *count.said != projection.heads) {
    check.fail(projection.parts->name + " holds " + std::to_string(projection.heads) +
               " heads, " + count.name + " is " + std::to_string(*count.said) + " (" +
               count.source + ")");
  }
  if (count.said) return;
  count.said = projection.heads;
  count.source = "shape of " + projection.parts->name;
}

void require_said(const ShapeCheck& check, const HeadCount& count,
                  const Projection& projection) {
  if (count.said) return;
  check.fail(check.found_shape(*projection.parts->members[0]) +
             ", heads side by side, and nothing says how many: give --n-heads, or "
             "--config with the model's config.json");
}

void settle_by_config(HeadCount& count) {
  if (count.said || !count.config) return;
  count.said = count.config;
  count.source = count.config_source;
}

void note_config(HeadCount& count) {
  if (!overruled(count)) return;
  count.source += "; " + count.config_source + " says " + std::to_string(*count.config);
}

}  // namespace mha
