#include "checkpoint/inspect.h"

#include "catch.h"
#include "checkpoint/scheme_file.h"

using namespace mha;

TEST_CASE("what cannot be opened is still told by all that the options say") {
  ModelOptions options;
  options.rope = Rope::halves;
  options.n_heads = 3;
  const Archive file = file_of(stacked("layers.", 1, torch_layer()) +
                               Names{{"layers.0.self_attn.rotary_emb.inv_freq", {1}}});
  const Inspection found = inspect(file, options);
  CHECK(found.scheme == "torch-layer");
  CHECK(found.problem.find("do not split into 3 heads (n_heads 3, --n-heads") !=
        std::string::npos);
}
