#include "checkpoint/load.h"

#include <cmath>

#include "catch.h"
#include "checkpoint/native_json.h"

using namespace mha;
using namespace mha::native;

TEST_CASE("stacked heads come to lie side by side") {
  const auto loaded =
      load(with(stacked(), {{"b_Q", "[[1, 2], [3, 4]]"}, {"b_O", "[5, 6, 7, 8]"}}));
  const AttentionSizes& sizes = loaded.weights().sizes;
  CHECK(sizes.d_model == 4);
  CHECK(sizes.d_key == 4);
  CHECK(sizes.d_value == 4);
  CHECK(sizes.n_heads == 2);
  CHECK(sizes.n_kv_heads == 2);
  CHECK(sizes.d_head == 2);
  CHECK(sizes.d_v == 2);
  // Head 0 counts 0 to 7 in rows of 2, head 1 counts 8 to 15.
  CHECK(loaded.weights().W_Q.shape() == Shape{4, 4});
  CHECK(numbers(loaded.weights().W_Q) ==
        Numbers{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15});
  CHECK(loaded.weights().W_O.shape() == Shape{4, 4});
  CHECK(numbers(loaded.weights().W_O) ==
        Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(numbers(loaded.weights().b_Q) == Numbers{1, 2, 3, 4});
  CHECK(loaded.weights().b_K.empty());
  CHECK(loaded.weights().b_V.empty());
  CHECK(numbers(loaded.weights().b_O) == Numbers{5, 6, 7, 8});
}

TEST_CASE("one object a head gives the same weights as the stacked tensors") {
  Fields fields = {{"heads", "[" + head() + ", " + head() + "]"}, {"n_heads", "2"}};
  const auto loaded = load(fields);
  CHECK(numbers(loaded.weights().W_Q) ==
        Numbers{0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7});
  CHECK(loaded.weights().W_O.shape() == Shape{4, 4});
  CHECK(numbers(loaded.weights().W_O) ==
        Numbers{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(in_force(loaded, "n_heads") == "2 (w.json)");
}

TEST_CASE("heads side by side are taken as they are") {
  const auto loaded = load(with(side_by_side(), {{"b_K", "[1, 2, 3, 4]"}}), heads(2));
  CHECK(loaded.weights().sizes.d_head == 2);
  CHECK(loaded.weights().sizes.n_kv_heads == 2);
  CHECK(numbers(loaded.weights().W_K) ==
        Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(numbers(loaded.weights().b_K) == Numbers{1, 2, 3, 4});
  CHECK(in_force(loaded, "n_heads") == "2 (--n-heads)");
  CHECK(load(with(side_by_side(), {{"n_heads", "4"}})).weights().sizes.d_head == 1);
}

TEST_CASE("the head count of heads side by side is asked for, never guessed") {
  CHECK(
      refusal(side_by_side()) ==
      "w.json: W_Q is [4, 4], heads side by side, and nothing says how many: give --n-heads, "
      "or --config with the model's config.json");
  CHECK(
      refusal(side_by_side(), heads(3)) ==
      "w.json: W_Q is [4, 4]: its 4 columns do not split into 3 heads (n_heads 3, --n-heads, "
      "d_model 4)");
  CHECK(refusal(side_by_side(), heads(0)) ==
        "w.json: n_heads is 0 (--n-heads), expected one head or more for d_model 4");
  CHECK(refusal(with(side_by_side(), {{"n_heads", "0"}})) ==
        "w.json: n_heads is 0 (w.json), expected one head or more for d_model 4");
  CHECK(refusal(with(side_by_side(), {{"n_heads", "2"}}), kv_heads(0)) ==
        "w.json: n_kv_heads is 0 (--n-kv-heads), expected one head or more for d_model 4");
}

TEST_CASE("head counts that contradict each other are refused with both numbers") {
  CHECK(refusal(with(stacked(), {{"n_heads", "2"}}), heads(4)) ==
        "w.json: n_heads is 2, --n-heads says 4");
  CHECK(refusal(stacked(), heads(4)) == "w.json: W_Q holds 2 heads, n_heads is 4 (--n-heads)");
  CHECK(refusal(with(stacked(), {{"n_heads", "4"}})) ==
        "w.json: W_Q holds 2 heads, n_heads is 4 (w.json)");
  CHECK(refusal(with(stacked(), {{"W_O", counted({3, 2, 4})}})) ==
        "w.json: W_O holds 3 heads, n_heads is 2 (shape of W_Q)");
  CHECK(refusal(stacked(), kv_heads(1)) ==
        "w.json: W_K holds 2 heads, n_kv_heads is 1 (--n-kv-heads)");
  CHECK(refusal({{"heads", "[" + head() + ", " + head() + "]"}, {"n_heads", "3"}}) ==
        "w.json: W_Q holds 2 heads, n_heads is 3 (w.json)");
}

TEST_CASE("widths may all differ where the formulas let them") {
  // d_model 3, keys of 5, values of 6, d_head 2, d_v 4: n_heads * d_head is not d_model.
  const auto loaded = load({{"W_Q", counted({2, 3, 2})},
                            {"W_K", counted({2, 5, 2})},
                            {"W_V", counted({2, 6, 4})},
                            {"W_O", counted({2, 4, 3})},
                            {"b_V", counted({2, 4})}});
  const AttentionSizes& sizes = loaded.weights().sizes;
  CHECK(sizes.d_model == 3);
  CHECK(sizes.d_key == 5);
  CHECK(sizes.d_value == 6);
  CHECK(sizes.d_head == 2);
  CHECK(sizes.d_v == 4);
  CHECK(loaded.weights().W_V.shape() == Shape{6, 8});
  CHECK(loaded.weights().W_O.shape() == Shape{8, 3});
}

TEST_CASE("grouped heads are found in every form") {
  const std::string q_and_o = object({{"W_Q", counted({4, 2})}, {"W_O", counted({2, 4})}});
  const std::string kv = object({{"W_K", counted({4, 2})},
                                 {"W_V", counted({4, 2})},
                                 {"b_K", "[1, 2]"},
                                 {"b_V", "[3, 4]"}});
  const Fields named = {{"heads", "[" + q_and_o + ", " + q_and_o + "]"},
                        {"kv_heads", "[" + kv + "]"}};
  const auto by_name = load(named);
  CHECK(by_name.weights().sizes.n_kv_heads == 1);
  CHECK(by_name.weights().W_K.shape() == Shape{4, 2});
  CHECK(numbers(by_name.weights().b_V) == Numbers{3, 4});

  const auto by_shape =
      load(with(stacked(), {{"W_K", counted({1, 4, 2})}, {"W_V", counted({1, 4, 2})}}));
  CHECK(by_shape.weights().sizes.n_kv_heads == 1);
  CHECK(in_force(by_shape, "n_kv_heads") == "1 (shape of W_K)");

  // A key is as wide as a query, which tells the key heads apart.
  const auto by_width = load(
      with(side_by_side(), {{"W_K", counted({4, 2})}, {"W_V", counted({4, 2})}}), heads(2));
  CHECK(by_width.weights().sizes.n_kv_heads == 1);
  CHECK(by_width.weights().sizes.d_v == 2);

  CHECK(refusal(with(stacked(), {{"W_Q", counted({4, 4, 2})},
                                 {"W_K", counted({3, 4, 2})},
                                 {"W_V", counted({3, 4, 2})},
                                 {"W_O", counted({4, 2, 4})}})) ==
        "w.json: n_kv_heads 3 (shape of W_K) does not divide n_heads 4 (shape of W_Q)");
  CHECK(refusal(with(stacked(), {{"W_V", counted({1, 4, 2})}})) ==
        "w.json: W_V holds 1 heads, n_kv_heads is 2 (shape of W_K)");
}

TEST_CASE("a shape that does not fit is named with both shapes and the reason") {
  CHECK(refusal(with(stacked(), {{"W_K", counted({2, 4, 3})}})) ==
        "w.json: W_K is [2, 4, 3], expected [2, 4, 2] (n_kv_heads 2, shape of W_K; d_head 2 "
        "from "
        "W_Q)");
  CHECK(
      refusal(with(stacked(), {{"W_O", counted({2, 3, 4})}})) ==
      "w.json: W_O is [2, 3, 4], expected [2, 2, 4] (n_heads 2, shape of W_Q; d_v 2 from W_V; "
      "d_model 4 from W_Q)");
  CHECK(refusal(with(side_by_side(), {{"W_O", counted({4, 5})}}), heads(2)) ==
        "w.json: W_O is [4, 5], expected [4, 4] (n_heads 2, --n-heads; d_v 2 from W_V; "
        "d_model 4 "
        "from W_Q)");
  CHECK(refusal(with(side_by_side(), {{"W_K", counted({4, 3})}}), heads(2)) ==
        "w.json: W_K is [4, 3]: its 3 columns do not split into 2 heads (n_kv_heads 2, as "
        "n_heads)");
  CHECK(
      refusal(with(side_by_side(), {{"W_K", counted({4, 6})}}), heads(2)) ==
      "w.json: W_K is [4, 6], expected [4, 4] (n_kv_heads 2, as n_heads; d_head 2 from W_Q)");
  CHECK(refusal(with(stacked(), {{"W_Q", "[1, 2]"}})) ==
        "w.json: W_Q is [2], expected [heads, width, d] or [width, heads * d]");
  CHECK(refusal(with(stacked(), {{"W_Q", "[[], []]"}})) ==
        "w.json: W_Q is [2, 0]: an axis is empty");
  CHECK(refusal(with(stacked(), {{"b_Q", "[1, 2, 3]"}})) ==
        "w.json: b_Q is [3], expected [2, 2] or [4] (n_heads 2, shape of W_Q; d_head 2 from "
        "W_Q)");
  CHECK(refusal(with(stacked(), {{"b_O", "[[1, 2, 3, 4]]"}})) ==
        "w.json: b_O is [1, 4], expected [4] (d_model 4 from W_Q)");
  const std::string narrow = object({{"W_Q", counted({4, 1})},
                                     {"W_K", counted({4, 2})},
                                     {"W_V", counted({4, 2})},
                                     {"W_O", counted({2, 4})}});
  CHECK(refusal({{"heads", "[" + head() + ", " + narrow + "]"}}) ==
        "w.json: heads[1].W_Q is [4, 1], expected [4, 2] like heads[0].W_Q");
}

TEST_CASE("what is missing is named, for a head too") {
  CHECK(refusal(without(stacked(), "W_V")) ==
        "w.json: W_V is missing, expected W_Q, W_K, W_V and W_O");
  CHECK(refusal({{"n_heads", "2"}}) ==
        "w.json: W_Q is missing, expected W_Q, W_K, W_V and W_O");
  const std::string no_v =
      object({{"W_Q", counted({4, 2})}, {"W_K", counted({4, 2})}, {"W_O", counted({2, 4})}});
  CHECK(refusal({{"heads", "[" + head() + ", " + no_v + "]"}}) ==
        "w.json: heads[1].W_V is missing");
  CHECK(refusal({{"heads", "[" + no_v + ", " + head() + "]"}}) ==
        "w.json: heads[0].W_V is missing");
  CHECK(refusal({{"heads", "[{}, " + head() + "]"}}) == "w.json: heads[0].W_Q is missing");
  CHECK(refusal(with(stacked(), {{"heads[18446744073709551614].b_Q", "[1, 2]"}})) ==
        "w.json: heads[0].b_Q is missing");
}

TEST_CASE("a tensor in two forms is refused") {
  CHECK(refusal(with(stacked(), {{"heads", "[" + head() + ", " + head() + "]"}})) ==
        "w.json: W_Q is there twice, as W_Q and as heads[0].W_Q");
  const std::string kv = object({{"W_K", counted({4, 2})}});
  CHECK(
      refusal({{"heads", "[" + head() + ", " + head() + "]"}, {"kv_heads", "[" + kv + "]"}}) ==
      "w.json: W_K is there twice, as heads[0].W_K and as kv_heads[0].W_K");
}

TEST_CASE("unknown tensors are refused by name") {
  CHECK(refusal(with(stacked(), {{"W_q", counted({4, 4})}})) ==
        "w.json: the tensor W_q is unknown; did you mean W_Q?");
  CHECK(refusal({{"heads", "[{\"b_q\": [1]}]"}}) ==
        "w.json: the tensor heads[0].b_q is unknown; did you mean heads[0].b_Q?");
  CHECK(refusal(in_stack(with(stacked(), {{"W_q", counted({4, 4})}}), 0)) ==
        "w.json: the tensor layers.0.W_q is unknown; did you mean layers.0.W_Q?");
  CHECK(refusal(with(stacked(), {{"norm.wieght", "[1]"}})) ==
        "w.json: the tensor norm.wieght is unknown; did you mean norm1.weight?");
  CHECK(refusal(with(stacked(), {{"embedding", "[1]"}})) ==
        "w.json: the tensor embedding is unknown; known are W_Q, W_K, W_V, W_O, b_Q, b_K, "
        "b_V, b_O, norm1.weight, norm1.bias, W_1, b_1, … and 18 more");
  CHECK(refusal({{"kv_heads", "[{\"W_Q\": [1]}]"}}) ==
        "w.json: the tensor kv_heads[0].W_Q is unknown; did you mean W_Q?");
  CHECK(refusal({{"heads", "[{\"b_O\": [1]}]"}}) ==
        "w.json: the tensor heads[0].b_O is unknown; did you mean b_O?");
  CHECK(error_of([] {
          open_model(open_json(Bytes::own("[[1, 2], [3, 4]]"), "w.json"), {});
        }).find("w.json: one tensor without a name, expected weights called W_Q") == 0);
  CHECK(refusal(with(stacked(), {{"vocab", "[\"a\"]"}})) ==
        "w.json: the list of strings vocab is unknown among weights");
}

namespace {

// As `archive`, but the float64 at `place` of that tensor is NaN.
Archive spoil(Archive archive, const std::string& tensor, std::size_t place) {
  for (Member& member : archive.members) {
    if (member.name != tensor) continue;
    std::string bytes(member.fetch().text());
    const double nan = NAN;
    bytes.replace(place * sizeof(double), sizeof(double), reinterpret_cast<const char*>(&nan),
                  sizeof nan);
    const Bytes spoilt = Bytes::own(bytes);
    member.fetch = [spoilt] { return spoilt; };
  }
  return archive;
}

}  // namespace

TEST_CASE("what is not finite is named as the file names it, and let through on demand") {
  const Archive archive =
      spoil(archive_of({{"heads", "[" + head() + ", " + head() + "]"}}), "heads[1].W_Q", 4);
  CHECK(error_of([&] { load(archive); }) ==
        "w.json: heads[1].W_Q[2, 0] is nan; --allow-nonfinite lets it through");
  // A stacked tensor is read in another order than it has in the file.
  CHECK(error_of([&] { load(spoil(archive_of(stacked()), "W_Q", 13)); }) ==
        "w.json: W_Q[1, 2, 1] is nan; --allow-nonfinite lets it through");
  ModelOptions options;
  options.allow_nonfinite = true;
  const Loaded loaded = load(archive, options);
  CHECK(std::isnan(loaded.weights().W_Q.matrix()(2, 2)));
  CHECK(loaded.settings().allow_nonfinite);
}
