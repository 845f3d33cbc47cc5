#include "catch.h"
#include "checkpoint/native_json.h"
#include "checkpoint/native_names.h"

using namespace mha;
using namespace mha::native;

namespace {

Fields three_layers() {
  return with(stack_of(whole_layer(), 3),
              {{"norm.weight", counted({4})}, {"norm.bias", counted({4})}});
}

}  // namespace

TEST_CASE("a stack runs all its layers and its last norm") {
  const Loaded loaded = load(three_layers());
  REQUIRE(loaded.encoder.layers.size() == 3);
  CHECK(loaded.encoder.layers[2].index == 2);
  CHECK(loaded.encoder.layers[2].settings.part == Part::layer);
  CHECK(loaded.opened.final_norm);
  CHECK(numbers(loaded.encoder.norm.weight) == Numbers{0, 1, 2, 3});
  CHECK(loaded.encoder.norm.bias.shape() == Shape{4});
  CHECK(in_force(loaded, "d_model") == "4 (shape of layers.0.W_Q)");
}

TEST_CASE("some layers run without the last norm, the last of them as far as is asked") {
  const Loaded two = load(three_layers(), layers(1, 2));
  REQUIRE(two.encoder.layers.size() == 2);
  CHECK(two.encoder.layers[0].index == 1);
  CHECK(two.encoder.layers[1].index == 2);
  CHECK(two.opened.n_layers == 3);
  CHECK_FALSE(two.opened.final_norm);
  CHECK(two.encoder.norm.weight.empty());

  ModelOptions options = layers(0, 1);
  options.part = Part::attention;
  const Loaded attention = load(three_layers(), options);
  CHECK(attention.encoder.layers[0].settings.part == Part::layer);
  CHECK(attention.encoder.layers[1].settings.part == Part::attention);
  CHECK(attention.encoder.layers[1].feed_forward.W_1.empty());
  CHECK_FALSE(load(three_layers(), part(Part::attention)).opened.final_norm);
}

TEST_CASE("a layer that is not there is refused with those that are") {
  CHECK(refusal(three_layers(), layers(7, 7)) ==
        "w.json: layer 7 is not there, layers are 0 to 2");
  CHECK(refusal(three_layers(), layers(1, 3)) ==
        "w.json: layer 3 is not there, layers are 0 to 2");
  CHECK(refusal(three_layers(), layers(2, 1)) ==
        "w.json: layers 2-1: expected the first one first");
  CHECK(load(whole_layer(), layers(0, 0)).encoder.layers.size() == 1);
  CHECK(refusal(whole_layer(), layers(1, 1)) ==
        "w.json: layer 1 is not there, there is layer 0 alone");
  CHECK(refusal(with(three_layers(), {{"layers.3.window", "2"}})) ==
        "w.json: layers.3.window: layer 3 is not there, layers are 0 to 2");
}

TEST_CASE("layers may come as a list of objects, each with its heads") {
  const std::string list = "[" + object(whole_layer()) + ", " + object(whole_layer()) + "]";
  const Loaded loaded = load({{"layers", list}, {"norm.weight", counted({4})}});
  REQUIRE(loaded.encoder.layers.size() == 2);
  CHECK(numbers(loaded.weights().W_O) ==
        Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(loaded.opened.final_norm);
  const std::string by_head =
      "[" + object({{"heads", "[" + head() + ", " + head() + "]"}}) + "]";
  CHECK(load({{"layers", by_head}}).weights().sizes.n_heads == 2);
  CHECK(load(stack_of({{"heads", "[" + head() + "]"}}, 1)).weights().sizes.n_heads == 1);
  CHECK(refusal({{"layers", "[" + object(without(stacked(), "W_V")) + "]"}}) ==
        "w.json: layers[0].W_V is missing, expected W_Q, W_K, W_V and W_O");
  CHECK(refusal({{"layers", list}, {"layers.1.W_Q", counted({2, 4, 2})}}) ==
        "w.json: layers[1].W_Q is there twice, as layers[1].W_Q and as layers.1.W_Q");
  const std::string uneven = "[" + head() + ", {\"W_Q\": [[1]]}]";
  CHECK(refusal({{"layers", "[{\"heads\": " + uneven + "}]"}}) ==
        "w.json: layers[0].heads[1].W_K is missing");
}

TEST_CASE("layers are counted from 0 without gaps") {
  CHECK(refusal(with(in_stack(stacked(), 0), in_stack(stacked(), 2))) ==
        "w.json: layers.1. is missing: layers are counted from 0 without gaps, and there is "
        "layers.2.");
  CHECK(refusal(in_stack(stacked(), 1)) ==
        "w.json: layers.0. is missing: layers are counted from 0 without gaps, and there is "
        "layers.1.");
  const auto unfound = [](const Fields& fields) {
    return error_of([&] { find_native(archive_of(fields)); });
  };
  CHECK(unfound(in_stack(stacked(), 18446744073709551615U)) ==
        "w.json: layers.0. is missing: layers are counted from 0 without gaps, and there is "
        "layers.18446744073709551615.");
  CHECK(unfound({{"layers.00.W_Q", counted({2, 4, 2})}})
            .find("w.json: the tensor layers.00.W_Q is unknown") == 0);
}

TEST_CASE("names of a lone layer and of a stack do not mix") {
  CHECK(refusal(with(in_stack(stacked(), 0), {{"W_1", counted({4, 3})}})) ==
        "w.json: W_1 is of a lone layer, but there are layers.0. too; expected names of one "
        "layer, or all under layers.K.");
  CHECK(refusal(with(stacked(), {{"norm.weight", counted({4})}})) ==
        "w.json: norm.weight is the last norm of a stack, but no tensor's name begins with "
        "layers.0.");
}

TEST_CASE("the layers of a stack are alike") {
  const Fields first = in_stack(whole_layer(), 0);
  CHECK(refusal(with(first, in_stack(without(whole_layer(), "W_V"), 1))) ==
        "w.json: layers.1.W_V is missing, expected W_Q, W_K, W_V and W_O");
  CHECK(refusal(with(in_stack(stacked(), 0), in_stack({{"W_Q", counted({2, 6, 2})},
                                                       {"W_K", counted({2, 6, 2})},
                                                       {"W_V", counted({2, 6, 2})},
                                                       {"W_O", counted({2, 2, 6})}},
                                                      1))) ==
        "w.json: layers.1.W_Q: d_model is 6, expected 4 as in layers.0.W_Q");
  CHECK(refusal(with(in_stack(stacked(), 0), in_stack({{"W_Q", counted({1, 4, 2})},
                                                       {"W_K", counted({1, 4, 2})},
                                                       {"W_V", counted({1, 4, 2})},
                                                       {"W_O", counted({1, 2, 4})}},
                                                      1))) ==
        "w.json: layers.1.W_Q: n_heads is 1, expected 2 as in layers.0.W_Q");
  CHECK(refusal(with(stack_of(stacked(), 2), {{"layers.1.bias_k", counted({4})},
                                              {"layers.1.bias_v", counted({4})}})) ==
        "w.json: layers.0.bias_k is missing, but layers.1.bias_k is there; the maps of all "
        "layers have one shape");
  CHECK(refusal(with(three_layers(), {{"layers.1.add_zero_attn", "true"}})) ==
        "w.json: add_zero_attn is not the same for layers.0. and layers.1.; the maps of all "
        "layers have one shape");
  CHECK(refusal(with(three_layers(), {{"norm.weight", counted({3})}})) ==
        "w.json: norm.weight is [3], expected [4] (d_model 4)");
  CHECK(refusal(without(three_layers(), "norm.weight")) ==
        "w.json: norm.weight is missing, expected it with norm.bias");
  CHECK(refusal(without(three_layers(), "layers.1.norm2.weight")) ==
        "w.json: layers.1.norm2.weight is missing, expected it with layers.1.norm2.bias");
}

TEST_CASE("attention alone does not run one after another") {
  const Fields attention = stack_of(stacked(), 2);
  CHECK(refusal(attention) ==
        "w.json: layers.0.W_1 is missing, expected a feed-forward, W_1 and W_2: layers that "
        "run one after another run whole, --layer K runs the attention of one");
  CHECK(load(attention, layers(1, 1)).layer().index == 1);
  const Fields mixed = with(in_stack(stacked(), 0), in_stack(whole_layer(), 1));
  CHECK(refusal(mixed).find("w.json: layers.0.W_1 is missing") == 0);
  CHECK(load(mixed, layers(0, 0)).layer().settings.part == Part::attention);
}

TEST_CASE("a relative bias around the stack or of its first layer is every layer's") {
  const std::string bias = counted({8, 2});
  const Fields two = stack_of(whole_layer(), 2);
  for (const std::string name : {"relative_bias", "layers.0.relative_bias"}) {
    const Loaded loaded = load(with(two, {{name, bias}}), layers(1, 1));
    CHECK(loaded.weights().relative_bias.shape() == Shape{8, 2});
    CHECK(numbers(loaded.weights().relative_bias).back() == 15);
  }
  CHECK(load(with(two, {{"layers.1.relative_bias", bias}}), layers(0, 0))
            .weights()
            .relative_bias.empty());
}

TEST_CASE("a setting of one layer is that layer's alone") {
  const Loaded loaded =
      load(with(three_layers(), {{"window", "8"}, {"layers.1.window", "2"}, {"eps", "1e-6"}}));
  CHECK(loaded.encoder.layers[0].settings.attention.window == 8U);
  CHECK(loaded.encoder.layers[1].settings.attention.window == 2U);
  CHECK(in_force(loaded, "window") == "not listed");
  CHECK(in_force(loaded, "layers.0.window") == "8 (w.json)");
  CHECK(in_force(loaded, "layers.1.window") == "2 (w.json)");
  CHECK(in_force(loaded, "layers.2.window") == "8 (w.json)");
  CHECK(in_force(loaded, "eps") == "1e-06 (w.json)");
  CHECK(in_force(load(with(three_layers(), {{"layers.1.window", "2"}}), layers(1, 1)),
                 "window") == "2 (w.json)");
}
