#include "checkpoint/native.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/native_names.h"
#include "files/names.h"

namespace mha {
namespace {

// Where the heads stand in a tensor whose heads lie side by side.
enum class Heads { in_columns, in_rows };

std::string found_shape(const std::string& name, const Shape& shape) {
  return name + " is " + to_string(shape);
}

// A projection's sizes as its file shape tells them; `heads` is 0 where they
// lie side by side and the count must come from elsewhere.
struct Survey {
  Parts parts;
  Heads side = Heads::in_columns;
  std::size_t heads = 0;
  std::size_t rows = 0;  // of one head; in the file's matrix where heads is 0
  std::size_t cols = 0;
};

class Reader {
 public:
  Reader(const Archive& archive, bool allow_nonfinite)
      : archive_(archive), allow_nonfinite_(allow_nonfinite) {}

  Survey survey(const std::string& name, Heads side) const {
    Survey survey{find_parts(archive_, name), side, 0, 0, 0};
    if (survey.parts.empty()) return survey;
    const Member& first = *survey.parts.members[0];
    const Shape& shape = first.shape;
    if (std::find(shape.begin(), shape.end(), std::size_t{0}) != shape.end()) {
      fail(found_shape(first.name, shape) + ": an axis is empty");
    }
    if (survey.parts.per_head) {
      for (const Member* part : survey.parts.members) {
        if (part->shape.size() != 2) {
          fail(found_shape(part->name, part->shape) + ", expected a matrix");
        }
        if (part->shape != shape) {
          fail(found_shape(part->name, part->shape) + ", expected " + to_string(shape) +
               " like " + first.name);
        }
      }
      survey.heads = survey.parts.members.size();
    } else if (shape.size() == 3) {
      survey.heads = shape[0];
    } else if (shape.size() != 2) {
      fail(found_shape(name, shape) + ", expected " +
           (side == Heads::in_columns
                ? "[heads, width, d] or [width, heads * d]"
                : "[n_heads, d_v, d_model] or [n_heads * d_v, d_model]"));
    }
    survey.rows = shape[shape.size() - 2];
    survey.cols = shape[shape.size() - 1];
    return survey;
  }

  // Splits heads that lie side by side into `count`; `why` says who counts.
  void split(Survey& survey, std::size_t count, const std::string& why) const {
    if (survey.heads != 0) return;
    std::size_t& width = survey.side == Heads::in_columns ? survey.cols : survey.rows;
    if (width % count != 0) {
      const Shape& shape = survey.parts.members[0]->shape;
      fail(found_shape(survey.parts.name, shape) + ": its " + std::to_string(width) +
           (survey.side == Heads::in_columns ? " columns" : " rows") + " do not split into " +
           std::to_string(count) + " heads (" + why + ")");
    }
    width /= count;
    survey.heads = count;
  }

  // Holds a projection against sizes known from elsewhere, in the form that
  // the file has it.
  void require(const Survey& survey, std::size_t heads, std::size_t rows, std::size_t cols,
               const std::string& why) const {
    if (survey.heads == heads && survey.rows == rows && survey.cols == cols) return;
    const Member& first = *survey.parts.members[0];
    if (survey.parts.per_head) {
      if (survey.heads != heads) {
        fail(survey.parts.name + " is there for " + std::to_string(survey.heads) +
             " heads, expected " + std::to_string(heads) + " (" + why + ")");
      }
      fail(found_shape(first.name, first.shape) + ", expected " + to_string({rows, cols}) +
           " (" + why + ")");
    }
    Shape expected{heads, rows, cols};
    if (first.shape.size() == 2) {
      expected = survey.side == Heads::in_columns ? Shape{rows, heads * cols}
                                                  : Shape{heads * rows, cols};
    }
    fail(found_shape(first.name, first.shape) + ", expected " + to_string(expected) + " (" +
         why + ")");
  }

  // The whole of a projection, heads side by side.
  template <typename T>
  Tensor<T> read(const Survey& survey) const {
    const std::size_t rows = survey.rows;
    const std::size_t cols = survey.cols;
    const bool wide = survey.side == Heads::in_columns;
    const Shape shape =
        wide ? Shape{rows, survey.heads * cols} : Shape{survey.heads * rows, cols};
    if (!survey.parts.per_head) {
      Tensor<T> whole = read_member<T>(*survey.parts.members[0]);
      if (whole.rank() == 2 || !wide) {
        whole.reshape(shape);
        return whole;
      }
      Tensor<T> matrix(shape);
      for (std::size_t r = 0; r < survey.heads; ++r) {
        copy(ConstMatrixView<T>(whole.matrix(r)), matrix.matrix().col_block(r * cols, cols));
      }
      return matrix;
    }
    Tensor<T> matrix(shape);
    for (std::size_t r = 0; r < survey.heads; ++r) {
      const Tensor<T> head = read_member<T>(*survey.parts.members[r]);
      copy(head.matrix(), wide ? matrix.matrix().col_block(r * cols, cols)
                               : matrix.matrix().row_block(r * rows, rows));
    }
    return matrix;
  }

  // A bias of `heads` times `width` numbers, or an empty tensor.
  template <typename T>
  Tensor<T> read_bias(const std::string& name, std::size_t heads, std::size_t width,
                      const std::string& why) const {
    const Parts parts = find_parts(archive_, name);
    if (parts.empty()) return {};
    if (!parts.per_head) {
      const Member& member = *parts.members[0];
      const Shape stacked{heads, width};
      const Shape flat{heads * width};
      if (member.shape != flat && (name == "b_O" || member.shape != stacked)) {
        fail(found_shape(name, member.shape) + ", expected " +
             (name == "b_O" || heads == 1 ? to_string(flat)
                                          : to_string(stacked) + " or " + to_string(flat)) +
             " (" + why + ")");
      }
      Tensor<T> bias = read_member<T>(member);
      bias.reshape(flat);
      return bias;
    }
    if (parts.members.size() != heads) {
      fail(name + " is there for " + std::to_string(parts.members.size()) +
           " heads, expected " + std::to_string(heads) + " (" + why + ")");
    }
    for (const Member* part : parts.members) {
      if (part->shape != Shape{width}) {
        fail(found_shape(part->name, part->shape) + ", expected " + to_string(Shape{width}) +
             " (" + why + ")");
      }
    }
    Tensor<T> bias(Shape{heads * width});
    for (std::size_t r = 0; r < heads; ++r) {
      const Tensor<T> part = read_member<T>(*parts.members[r]);
      std::copy_n(part.data(), width, bias.data() + r * width);
    }
    return bias;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(archive_.path + ": " + what);
  }

 private:
  template <typename T>
  Tensor<T> read_member(const Member& member) const {
    Tensor<T> tensor = read_tensor<T>(archive_, member);
    if (!allow_nonfinite_) require_finite(tensor, where(archive_, member));
    return tensor;
  }

  template <typename T>
  static void copy(ConstMatrixView<T> from, MatrixView<T> to) {
    for (std::size_t i = 0; i < from.rows; ++i) std::copy_n(from.row(i), from.cols, to.row(i));
  }

  const Archive& archive_;
  bool allow_nonfinite_;
};

// The count that the shapes tell, held against the one that is said.
void settle(const Reader& reader, HeadCount& count, const char* name, std::size_t found,
            const std::string& tensor) {
  if (count.said && *count.said != found) {
    reader.fail(tensor + " holds " + std::to_string(found) + " heads, " + name + " is " +
                std::to_string(*count.said) + " (" + count.source + ")");
  }
  if (!count.said) count = {found, "shape of " + tensor};
}

std::string with_source(const char* name, const HeadCount& count) {
  return std::string(name) + " " + std::to_string(*count.said) + ", " + count.source;
}

std::string from_shape(const char* name, std::size_t size, const char* tensor) {
  return std::string(name) + " " + std::to_string(size) + " from " + tensor;
}

struct Projections {
  Survey Q, K, V, O;
};

Projections survey_projections(const Reader& reader) {
  Projections all{
      reader.survey("W_Q", Heads::in_columns), reader.survey("W_K", Heads::in_columns),
      reader.survey("W_V", Heads::in_columns), reader.survey("W_O", Heads::in_rows)};
  for (const Survey* survey : {&all.Q, &all.K, &all.V, &all.O}) {
    if (survey->parts.empty()) {
      reader.fail(survey->parts.name + " is missing, expected W_Q, W_K, W_V and W_O");
    }
  }
  return all;
}

// Splits W_Q and W_O into heads.
void settle_heads(const Reader& reader, Survey& Q, Survey& O, HeadCount& n_heads) {
  for (const Survey* survey : {&Q, &O}) {
    if (survey->heads != 0) {
      settle(reader, n_heads, "n_heads", survey->heads, survey->parts.name);
    }
  }
  if (!n_heads.said) {
    reader.fail(found_shape("W_Q", Q.parts.members[0]->shape) +
                ", heads side by side, and nothing says how many: give --n-heads");
  }
  const std::string of_heads = with_source("n_heads", n_heads);
  reader.split(Q, *n_heads.said, of_heads + ", d_model " + std::to_string(Q.rows));
  reader.split(O, *n_heads.said, of_heads);
}

// Splits W_K and W_V into as many heads as their shapes, the file or W_Q tell.
void settle_kv_heads(const Reader& reader, const Survey& Q, Survey& K, Survey& V,
                     const HeadCount& n_heads, HeadCount& n_kv_heads) {
  for (const Survey* survey : {&K, &V}) {
    if (survey->heads != 0) {
      settle(reader, n_kv_heads, "n_kv_heads", survey->heads, survey->parts.name);
    }
  }
  // Side by side: a key is as wide as a query, which tells how many there are.
  if (!n_kv_heads.said) {
    const std::size_t count = K.cols / Q.cols;
    const bool fits = count > 0 && K.cols % Q.cols == 0 && *n_heads.said % count == 0;
    n_kv_heads =
        fits ? HeadCount{count, "shape of W_K"} : HeadCount{n_heads.said, "as n_heads"};
  }
  if (*n_heads.said % *n_kv_heads.said != 0) {
    reader.fail("n_kv_heads " + std::to_string(*n_kv_heads.said) + " (" + n_kv_heads.source +
                ") does not divide n_heads " + std::to_string(*n_heads.said) + " (" +
                n_heads.source + ")");
  }
  const std::string of_kv_heads = with_source("n_kv_heads", n_kv_heads);
  reader.split(K, *n_kv_heads.said, of_kv_heads);
  reader.split(V, *n_kv_heads.said, of_kv_heads);
}

}  // namespace

template <typename T>
AttentionWeights<T> read_native(const Archive& archive, HeadCount& n_heads,
                                HeadCount& n_kv_heads, bool allow_nonfinite) {
  require_known(archive);
  const Reader reader(archive, allow_nonfinite);
  auto [Q, K, V, O] = survey_projections(reader);
  for (const auto& [name, count] :
       {std::pair("n_heads", &n_heads), {"n_kv_heads", &n_kv_heads}}) {
    if (count->said != 0u) continue;
    reader.fail(std::string(name) + " is 0 (" + count->source +
                "), expected one head or more for d_model " + std::to_string(Q.rows));
  }
  settle_heads(reader, Q, O, n_heads);
  settle_kv_heads(reader, Q, K, V, n_heads, n_kv_heads);

  AttentionWeights<T> weights;
  AttentionSizes& sizes = weights.sizes;
  sizes = {Q.rows, K.rows, V.rows, *n_heads.said, *n_kv_heads.said, Q.cols, V.cols};
  const std::string of_heads = with_source("n_heads", n_heads);
  const std::string of_kv_heads = with_source("n_kv_heads", n_kv_heads);
  const std::string of_d_model = from_shape("d_model", sizes.d_model, "W_Q");
  const std::string of_d_head = from_shape("d_head", sizes.d_head, "W_Q");
  const std::string of_d_v = from_shape("d_v", sizes.d_v, "W_V");
  reader.require(K, sizes.n_kv_heads, sizes.d_key, sizes.d_head,
                 of_kv_heads + "; " + of_d_head);
  reader.require(V, sizes.n_kv_heads, sizes.d_value, sizes.d_v, of_kv_heads);
  reader.require(O, sizes.n_heads, sizes.d_v, sizes.d_model,
                 of_heads + "; " + of_d_v + "; " + of_d_model);

  weights.W_Q = reader.read<T>(Q);
  weights.W_K = reader.read<T>(K);
  weights.W_V = reader.read<T>(V);
  weights.W_O = reader.read<T>(O);
  weights.b_Q =
      reader.read_bias<T>("b_Q", sizes.n_heads, sizes.d_head, of_heads + "; " + of_d_head);
  weights.b_K = reader.read_bias<T>("b_K", sizes.n_kv_heads, sizes.d_head,
                                    of_kv_heads + "; " + of_d_head);
  weights.b_V =
      reader.read_bias<T>("b_V", sizes.n_kv_heads, sizes.d_v, of_kv_heads + "; " + of_d_v);
  weights.b_O = reader.read_bias<T>("b_O", 1, sizes.d_model, of_d_model);
  return weights;
}

template AttentionWeights<float> read_native(const Archive&, HeadCount&, HeadCount&, bool);
template AttentionWeights<double> read_native(const Archive&, HeadCount&, HeadCount&, bool);

}  // namespace mha
