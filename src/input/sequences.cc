#include "input/sequences.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "files/format.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr double kNearZero = 0.001;

std::string place_of(const std::string& where, const Shape& shape, std::size_t element) {
  return where + to_string(index_of(element, shape));
}

// Text knows no vectors: a mask of one line is one over keys.
template <typename T>
Tensor<T> read_mask(const OpenedTensor& opened) {
  Tensor<T> values = read_tensor<T>(opened.archive, *opened.member);
  if (opened.archive.container == "text" && values.rank() == 2 && values.shape()[0] == 1) {
    values.reshape({values.size()});
  }
  return values;
}

template <typename T>
Tensor<std::uint8_t> as_drop_mask(const Tensor<T>& values, bool keep,
                                  const std::string& where) {
  Tensor<std::uint8_t> drop(values.shape());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = values.data()[i];
    if (value != T{0} && value != T{1}) {
      throw Error(place_of(where, values.shape(), i) + " is " + format_number(value) +
                  ", expected 0 or 1 (--add-mask takes other numbers)");
    }
    drop.data()[i] = (value == T{1}) != keep ? 1 : 0;
  }
  return drop;
}

// Labels for each token of a sequence, or for each of every sequence.
std::vector<std::string> labels_of(const OpenedTensor& opened, const Shape& shape,
                                   const std::string& where) {
  const auto found = opened.archive.lists.find("tokens");
  if (found == opened.archive.lists.end()) return {};
  const std::size_t tokens = shape[shape.size() - 2];
  const std::size_t count = found->second.size();
  const bool fits = count == tokens || (shape.size() == 3 && count == shape[0] * tokens);
  if (fits) return found->second;
  // Labels of another tensor of the file than the one asked for.
  if (!opened.member->name.empty() && opened.member->name != "x") return {};
  throw Error(where + " has " + std::to_string(tokens) + " tokens, but \"tokens\" has " +
              std::to_string(count) + " labels");
}

std::string form_of(const OpenedTensor& opened) {
  const std::string& container = opened.archive.container;
  if (container == "JSON" || container == "text") return container;
  return container + " " + std::string(name_of(opened.member->dtype));
}

}  // namespace

Source parse_source(const std::string& spec) {
  std::error_code unknown;
  const std::size_t colon = spec.rfind(':');
  if (colon == spec.npos || colon == 0 || colon + 1 == spec.size() ||
      std::filesystem::exists(spec, unknown)) {
    return {spec, ""};
  }
  return {spec.substr(0, colon), spec.substr(colon + 1)};
}

OpenedTensor open_tensor(const std::string& spec, const std::string& usual) {
  const Source source = parse_source(spec);
  OpenedTensor opened{open_archive(source.path), nullptr};
  const Archive& archive = opened.archive;
  if (!source.member.empty()) {
    opened.member = &archive.at(source.member);
  } else if (archive.members.size() == 1) {
    opened.member = archive.members.data();
  } else {
    opened.member = archive.find(usual);
  }
  if (opened.member == nullptr) {
    std::vector<std::string> names;
    for (const Member& member : archive.members) names.push_back(member.name);
    throw Error(archive.path + ": no tensor called " + usual + ", the file holds " +
                list_of(names) +
                (names.empty() ? "" : "; name one: " + printable(source.path) + ":NAME"));
  }
  return opened;
}

template <typename T>
Sequences<T> read_sequences(const std::string& spec, bool allow_nonfinite) {
  const OpenedTensor opened = open_tensor(spec, "x");
  Sequences<T> sequences;
  sequences.where = where(opened.archive, *opened.member);
  sequences.form = form_of(opened);
  const Shape& shape = opened.member->shape;
  if (shape.size() != 2 && shape.size() != 3) {
    throw Error(sequences.where + " is " + to_string(shape) +
                ", expected [n, d_model] or [batch, n, d_model]" +
                (opened.member->dtype == DType::i64 || opened.member->dtype == DType::i32
                     ? ": vectors, not the numbers of tokens"
                     : ""));
  }
  if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) {
    throw Error(sequences.where + " is " + to_string(shape) + ": no tokens to attend to");
  }
  sequences.labels = labels_of(opened, shape, sequences.where);
  sequences.values = read_tensor<T>(opened.archive, *opened.member);
  if (!allow_nonfinite) require_finite(sequences.values, sequences.where);
  return sequences;
}

BroadcastMask<std::uint8_t> read_drop_mask(const std::string& spec, bool keep,
                                           const MaskAxes& axes) {
  const OpenedTensor opened = open_tensor(spec, "mask");
  const std::string place = where(opened.archive, *opened.member);
  // Narrowed to float only a double could become 0 or 1 that was neither.
  Tensor<std::uint8_t> drop = opened.member->dtype == DType::f64
                                  ? as_drop_mask(read_mask<double>(opened), keep, place)
                                  : as_drop_mask(read_mask<float>(opened), keep, place);
  return broadcast_mask(std::move(drop), axes, place);
}

template <typename T>
BroadcastMask<T> read_add_mask(const std::string& spec, const MaskAxes& axes,
                               std::string& doubtful) {
  const OpenedTensor opened = open_tensor(spec, "mask");
  const std::string place = where(opened.archive, *opened.member);
  Tensor<T> values = read_mask<T>(opened);
  bool only_flags = true;
  bool only_small = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = values.data()[i];
    if (std::isnan(value) || value == std::numeric_limits<T>::infinity()) {
      throw Error(place_of(place, values.shape(), i) + " is " + format_number(value) +
                  ", expected a finite number or -inf");
    }
    only_flags = only_flags && (value == T{0} || value == T{1});
    only_small = only_small && std::abs(value) <= kNearZero;
  }
  if (only_small) {
    doubtful = place + ": all its numbers are within 0.001 of 0, so --add-mask hides nothing";
  } else if (only_flags) {
    doubtful = place +
               ": it holds only 0 and 1, which --add-mask adds to the scores and hides "
               "nothing; --keep-mask and --drop-mask read such masks";
  } else {
    doubtful.clear();
  }
  return broadcast_mask(std::move(values), axes, place);
}

template Sequences<float> read_sequences(const std::string&, bool);
template Sequences<double> read_sequences(const std::string&, bool);
template BroadcastMask<float> read_add_mask(const std::string&, const MaskAxes&, std::string&);
template BroadcastMask<double> read_add_mask(const std::string&, const MaskAxes&,
                                             std::string&);

}  // namespace mha
