#include "checkpoint/native_shapes.h"

#include <algorithm>

#include "base/error.h"
#include "files/member_view.h"
#include "files/names.h"

namespace mha {
namespace {

// [heads, rows, cols] in the order in which the heads lie side by side.
Member beside_each_other(Member member) { return permute(std::move(member), {1, 0, 2}); }

}  // namespace

std::string ShapeCheck::found_shape(const Member& member) const {
  const std::string shape = " is " + to_string(member.shape);
  if (member.origin.empty()) return printable(member.name) + shape;
  const Member* whole = whole_of(file_, member);
  const bool other = whole != nullptr && whole->shape != member.shape;
  return printable(member.origin) + (other ? " " + to_string(whole->shape) : "") + " (as " +
         printable(member.name) + ")" + shape;
}

void ShapeCheck::fail(const std::string& what) const { throw Error(file_.path + ": " + what); }

std::string ShapeCheck::name_in_file(const std::string& name) const {
  const Parts& parts = *layer_.find(name);
  const Member& first = *parts.members[0];
  return parts.per_head || first.origin.empty() ? parts.name : printable(first.origin);
}

std::string ShapeCheck::from(const char* size, std::size_t value,
                             const std::string& name) const {
  return std::string(size) + " " + std::to_string(value) + " from " + name_in_file(name);
}

void ShapeCheck::require_there(const std::string& name, const std::string& what) const {
  if (!has(name)) fail(full_name(name) + " is missing, expected " + what);
}

Projection ShapeCheck::projection(const std::string& name, Heads side) const {
  Projection found{layer_.find(name), side, 0, 0, 0};
  if (found.parts == nullptr) return found;
  const Member& first = *found.parts->members[0];
  const Shape& shape = first.shape;
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) {
    fail(found_shape(first) + ": an axis is empty");
  }
  if (found.parts->per_head) {
    for (const Member* part : found.parts->members) {
      if (part->shape.size() != 2) fail(found_shape(*part) + ", expected a matrix");
      if (part->shape != shape) {
        fail(found_shape(*part) + ", expected " + to_string(shape) + " like " + first.name);
      }
    }
    found.heads = found.parts->members.size();
  } else if (shape.size() == 3) {
    found.heads = shape[0];
  } else if (shape.size() != 2) {
    fail(found_shape(first) + ", expected " +
         (side == Heads::in_columns ? "[heads, width, d] or [width, heads * d]"
                                    : "[n_heads, d_v, d_model] or [n_heads * d_v, d_model]"));
  }
  found.rows = shape[shape.size() - 2];
  found.cols = shape[shape.size() - 1];
  return found;
}

void ShapeCheck::split(Projection& projection, std::size_t count,
                       const std::string& why) const {
  if (projection.heads != 0) return;
  const bool in_columns = projection.side == Heads::in_columns;
  std::size_t& width = in_columns ? projection.cols : projection.rows;
  if (width % count != 0) {
    fail(found_shape(*projection.parts->members[0]) + ": its " + std::to_string(width) +
         (in_columns ? " columns" : " rows") + " do not split into " + std::to_string(count) +
         " heads (" + why + ")");
  }
  width /= count;
  projection.heads = count;
}

void ShapeCheck::require(const Projection& projection, std::size_t heads, std::size_t rows,
                         std::size_t cols, const std::string& why) const {
  if (projection.heads == heads && projection.rows == rows && projection.cols == cols) return;
  const Member& first = *projection.parts->members[0];
  Shape expected{heads, rows, cols};
  if (projection.parts->per_head) {
    if (projection.heads != heads) {
      fail(projection.parts->name + " is there for " + std::to_string(projection.heads) +
           " heads, expected " + std::to_string(heads) + " (" + why + ")");
    }
    expected = {rows, cols};
  } else if (first.shape.size() == 2) {
    expected = projection.side == Heads::in_columns ? Shape{rows, heads * cols}
                                                    : Shape{heads * rows, cols};
  }
  fail(found_shape(first) + ", expected " + to_string(expected) + " (" + why + ")");
}

const Shape& ShapeCheck::matrix(const std::string& name, std::size_t rows,
                                const std::string& expected, const std::string& why) const {
  const Member& member = *layer_.find(name)->members[0];
  const Shape& shape = member.shape;
  if (shape.size() != 2 || (rows != 0 && shape[0] != rows) || shape[0] == 0 || shape[1] == 0) {
    fail(found_shape(member) + ", expected " + expected +
         (why.empty() ? "" : " (" + why + ")"));
  }
  return shape;
}

void ShapeCheck::take(const std::string& name, const Projection& projection) {
  const Parts& parts = *projection.parts;
  const bool wide = projection.side == Heads::in_columns;
  FoundTensor found;
  found.shape = wide ? Shape{projection.rows, projection.heads * projection.cols}
                     : Shape{projection.heads * projection.rows, projection.cols};
  found.below = !wide;
  for (const Member* part : parts.members) {
    found.pieces.push_back(wide && part->shape.size() == 3 ? beside_each_other(*part) : *part);
  }
  taken_[name] = std::move(found);
}

void ShapeCheck::take(const std::string& name, const Shape& shape, const std::string& why) {
  const Parts* parts = layer_.find(name);
  if (parts == nullptr) return;
  const Member& member = *parts->members[0];
  if (member.shape != shape) {
    fail(found_shape(member) + ", expected " + to_string(shape) + " (" + why + ")");
  }
  taken_[name] = {shape, {member}, false};
}

void ShapeCheck::take_of_heads(const std::string& name, std::size_t heads, std::size_t width,
                               const std::string& why) {
  const Parts* parts = layer_.find(name);
  if (parts == nullptr) return;
  const Shape flat{heads * width};
  FoundTensor found{flat, {}, true};
  if (parts->per_head && parts->members.size() != heads) {
    fail(parts->name + " is there for " + std::to_string(parts->members.size()) +
         " heads, expected " + std::to_string(heads) + " (" + why + ")");
  }
  const Shape stacked{heads, width};
  const Shape one = parts->per_head ? Shape{width} : flat;
  for (const Member* part : parts->members) {
    if (part->shape != one && (parts->per_head || part->shape != stacked)) {
      fail(found_shape(*part) + ", expected " +
           (parts->per_head || heads == 1 ? "" : to_string(stacked) + " or ") +
           to_string(one) + " (" + why + ")");
    }
    found.pieces.push_back(*part);
  }
  taken_[name] = std::move(found);
}

}  // namespace mha
