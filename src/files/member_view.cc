#include "files/member_view.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mha {
namespace {

// Of a shape that fits in memory; where it does not (of a dtype that nobody
// reads, or beside an axis of length 0) the products wrap and mean nothing.
Shape row_major(const Shape& shape) {
  Shape strides(shape.size());
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
    strides[axis] = stride;
  }
  return strides;
}

}  // namespace

Member slice(Member member, std::size_t axis, std::size_t first, std::size_t count) {
  assert(axis < member.shape.size());
  assert(first <= member.shape[axis] && count <= member.shape[axis] - first);
  member.strides = strides_of(member);
  member.offset += first * member.strides[axis];
  member.shape[axis] = count;
  return member;
}

Member split(Member member, std::size_t axis, std::size_t parts) {
  assert(axis < member.shape.size());
  assert(parts > 0 && member.shape[axis] % parts == 0);
  member.strides = strides_of(member);
  const std::size_t length = member.shape[axis] / parts;
  const auto place = static_cast<std::ptrdiff_t>(axis);
  member.shape[axis] = length;
  member.shape.insert(member.shape.begin() + place, parts);
  member.strides.insert(member.strides.begin() + place, length * member.strides[axis]);
  return member;
}

Member permute(Member member, const Shape& axes) {
  assert(axes.size() == member.shape.size());
  const Shape strides = strides_of(member);
  const Shape shape = member.shape;
  member.strides.clear();
  member.shape.clear();
  for (const std::size_t axis : axes) {
    assert(axis < shape.size() && std::count(axes.begin(), axes.end(), axis) == 1);
    member.shape.push_back(shape[axis]);
    member.strides.push_back(strides[axis]);
  }
  return member;
}

Member renamed(Member member, std::string name) {
  if (member.origin.empty()) member.origin = std::move(member.name);
  member.name = std::move(name);
  return member;
}

Shape strides_of(const Member& member) {
  assert(member.strides.empty() || member.strides.size() == member.shape.size());
  return member.strides.empty() ? row_major(member.shape) : member.strides;
}

bool is_row_major(const Member& member) {
  const Shape strides = strides_of(member);
  const Shape expected = row_major(member.shape);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (member.shape[axis] != 1 && strides[axis] != expected[axis]) return false;
  }
  return true;
}

}  // namespace mha
