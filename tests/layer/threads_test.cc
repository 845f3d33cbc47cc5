// Whole layers on several threads against one.
#include <cstring>
#include <random>

#include "base/parallel.h"
#include "catch.h"
#include "support/scenario.h"
#include "support/simd_guard.h"
#include "support/stack.h"

namespace mha {
namespace {

bool same_bits(const Tensor<float>& a, const Tensor<float>& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), sizeof(float) * a.size()) == 0;
}

}  // namespace

TEST_CASE("a stack of layers has the same bits on any number of threads, in every step") {
  const ThreadsGuard guard;
  std::mt19937 random(1);
  // Products of about 6 million operations, so that threads are worth it.
  const StackSizes sizes = GENERATE(StackSizes{1, 200, 64, 4, 16, 250, true},
                                    StackSizes{31, 10, 64, 2, 32, 160, true},
                                    StackSizes{2, 700, 16, 2, 9, 33, false});
  Stack stack;
  stack.batch = sizes.batch;
  stack.n = sizes.n;
  LayerSettings settings;
  settings.activation = Activation::gelu;
  stack.layers.push_back(random_layer(sizes, settings, false, random));
  settings.norm = NormPlacement::pre;
  settings.norm_type = NormType::rms;
  settings.attention.causal = Causal::start;
  stack.layers.push_back(random_layer(sizes, settings, true, random));
  stack.norm = random_norm(sizes, random);
  stack.x = random_x(sizes, random);
  const Encoder<float> encoder = encoder_of<float>(stack);
  const auto x = tensor_of<float>({sizes.batch, sizes.n, sizes.d_model}, stack.x);
  auto expected = watch<float>(encoder, {}, x);
  for (const std::size_t threads : {1, 2, 3}) {
    use_threads(threads);
    auto found = watch<float>(encoder, {}, x);
    CAPTURE(sizes.batch, sizes.n, threads);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (const Step step : steps_of(encoder.layers[layer].settings)) {
        INFO("layer " << layer << ", " << name_of(step));
        CHECK(same_bits(found.steps.layer(layer).at(step),
                        expected.steps.layer(layer).at(step)));
      }
    }
    CHECK(same_bits(found.y, expected.y));
    StackObserver<float> nobody;
    AttentionFindings findings;
    CHECK(same_bits(encode<float>(encoder, {}, {x, x, x}, nobody, findings), expected.y));
  }
}

}  // namespace mha
