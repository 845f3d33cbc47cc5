#include "checkpoint/views.h"

#include <bit>

#include "base/error.h"
#include "files/bytes.h"
#include "files/member_view.h"
#include "files/names.h"

namespace mha {
namespace {

// What messages call a form, and its axes.
struct Axes {
  const char* text;
  std::size_t rank;
  std::size_t out;  // which axis the outputs are
};
Axes axes_of(Form form) {
  switch (form) {
    case Form::vector: return {"[n]", 1, 0};
    case Form::in_out: return {"[in, out]", 2, 1};
    case Form::out_in: return {"[out, in]", 2, 0};
    case Form::head_in_out: return {"[heads, in, out]", 3, 2};
    case Form::in_head_out: return {"[in, heads, out]", 3, 2};
    case Form::head_out: return {"[heads, out]", 2, 1};
    case Form::one_one_out: break;
  }
  return {"[1, 1, out]", 3, 2};
}

// Without the first two axes, of length 1.
Member flat(Member member) {
  const Shape strides = strides_of(member);
  member.strides = {strides[2]};
  member.shape = {member.shape[2]};
  return member;
}

}  // namespace

Member view_of(const std::string& path, const Member& member, const TensorRule& rule,
               const Lengths& lengths) {
  const Axes axes = axes_of(rule.form);
  const Cut& cut = rule.cut;
  const auto fail = [&](const std::string& expected) {
    throw Error(path + ": " + printable(member.name) + " is " + to_string(member.shape) +
                ", expected " + expected);
  };
  if (member.shape.size() != axes.rank) fail(axes.text);
  const std::size_t outputs = member.shape[axes.out];
  Member view = member;
  if (rule.form == Form::one_one_out) {
    if (member.shape[0] != 1 || member.shape[1] != 1) fail(axes.text);
    return flat(std::move(view));
  }
  if (cut.parts > 1) {
    if (outputs % cut.parts != 0) {
      const bool turned = axes.rank == 2 && member.shape[1 - axes.out] % cut.parts == 0;
      fail(std::string(axes.text) + " with " + std::to_string(cut.parts) +
           " equal parts in out" + (turned ? "; it would fit as the other orientation" : ""));
    }
    view = slice(std::move(view), axes.out, cut.part * (outputs / cut.parts),
                 outputs / cut.parts);
  }
  if (!cut.begin.empty() || !cut.end.empty()) {
    std::size_t axis = axes.out;
    std::size_t length = outputs;
    if (cut.per_head) {
      if (outputs % lengths.n_heads != 0) {
        fail(std::string(axes.text) + " of " + std::to_string(lengths.n_heads) + " heads");
      }
      view = split(std::move(view), axis, lengths.n_heads);
      length /= lengths.n_heads;
      ++axis;
    }
    const std::size_t begin = lengths.at(cut.begin);
    const std::size_t end = cut.end.empty() ? length : lengths.at(cut.end);
    if (end > length || begin >= end) {
      fail(std::string(axes.text) + " with more than " + std::to_string(begin) + " outputs" +
           (cut.per_head ? " a head" : ""));
    }
    view = slice(std::move(view), axis, begin, end - begin);
  }
  switch (rule.form) {
    case Form::out_in:
      return cut.per_head ? permute(std::move(view), {0, 2, 1})
                          : permute(std::move(view), {1, 0});
    case Form::in_head_out: return permute(std::move(view), {1, 0, 2});
    default: return view;
  }
}

Member ones(std::string name, std::size_t n) {
  Member member;
  member.name = std::move(name);
  member.dtype = DType::f32;
  member.dtype_name = "F32";
  member.shape = {n};
  member.strides = {0};
  static const float kOne = 1.0F;
  member.fetch = [] {
    const auto* const bytes = reinterpret_cast<const char*>(&kOne);
    return Bytes::own(std::string(bytes, sizeof(kOne)));
  };
  return member;
}

}  // namespace mha
