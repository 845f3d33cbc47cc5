#include "files/torch_file.h"

#include <fstream>
#include <span>

#include "catch.h"
#include "files/crafted_pickle.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

std::string data(const std::string& name) {
  return MHA_SOURCE_DIR "/tests/files/data/" + name;
}
Archive open(const std::string& content) { return read_archive(Bytes::own(content), "w.pt"); }
std::string open_error(const std::string& content) {
  return error_of([&] { open(content); });
}

std::vector<std::string> names_of(const Archive& archive) {
  std::vector<std::string> names;
  for (const Member& member : archive.members) names.push_back(member.name);
  return names;
}
// "epoch: int, …"
std::string skipped_of(const Archive& archive) {
  std::string text;
  for (const Skipped& skipped : archive.skipped) {
    text += (text.empty() ? "" : ", ") + skipped.name + ": " + skipped.what;
  }
  return text;
}

// Pages of files that this process has touched.
std::size_t mapped_kilobytes() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == "RssFile:" && status >> kilobytes) break;
  }
  return kilobytes;
}

}  // namespace

TEST_CASE("views of one storage hold what PyTorch saw through them") {
  const std::string file = GENERATE("views.pt", "views_legacy.pt", "views_protocol4.pt",
                                    "views_protocol4_legacy.pt");
  INFO(file);
  const Archive archive = open_archive(data(file));
  CHECK(archive.container ==
        (file.find("legacy") == file.npos ? "PyTorch zip" : "PyTorch legacy"));
  // [[0, …, 5], [6, …, 11], …] / 8, written here as eighths.
  const auto eighths = [&](const char* name) {
    std::vector<double> values = numbers(archive, name);
    for (double& value : values) value *= 8;
    return values;
  };
  CHECK(archive.at("whole").shape == Shape{4, 6});
  CHECK(archive.at("whole").dtype_name == "float32");
  CHECK(eighths("whole")[23] == 23);
  CHECK(archive.at("transposed").shape == Shape{6, 4});
  CHECK(archive.at("transposed").strides == Shape{1, 6});
  CHECK(eighths("transposed") == std::vector<double>{0, 6,  12, 18, 1, 7,  13, 19,
                                                     2, 8,  14, 20, 3, 9,  15, 21,
                                                     4, 10, 16, 22, 5, 11, 17, 23});
  CHECK(eighths("rows") == std::vector<double>{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  CHECK(eighths("columns") == std::vector<double>{2, 3, 4, 8, 9, 10, 14, 15, 16, 20, 21, 22});
  CHECK(eighths("corner") == std::vector<double>{16, 22, 17, 23});
  CHECK(eighths("repeated") == std::vector<double>{0, 1, 0, 1, 0, 1});
  CHECK(archive.at("last").shape.empty());
  CHECK(eighths("last") == std::vector<double>{23});
  CHECK(archive.at("none").shape == Shape{4, 0});
  CHECK(eighths("none").empty());
  CHECK(archive.skipped.empty());
}

TEST_CASE("a training checkpoint gives its tensors and names the rest") {
  const Archive archive = open_archive(data(GENERATE("training.pt", "training_legacy.pt")));
  CHECK(names_of(archive) ==
        std::vector<std::string>{"state_dict.0.weight", "state_dict.0.bias",
                                 "state_dict.1.weight", "state_dict.1.bias",
                                 "optimizer.state.0.step", "optimizer.state.0.exp_avg",
                                 "optimizer.state.0.exp_avg_sq", "optimizer.state.1.step",
                                 "optimizer.state.1.exp_avg", "optimizer.state.1.exp_avg_sq",
                                 "optimizer.state.2.step", "optimizer.state.2.exp_avg",
                                 "optimizer.state.2.exp_avg_sq", "optimizer.state.3.step",
                                 "optimizer.state.3.exp_avg", "optimizer.state.3.exp_avg_sq",
                                 "layers[0]", "layers[2][0]"});
  CHECK(skipped_of(archive) ==
        "epoch: int, best: float, note: str, args: __main__.Options, "
        "optimizer.param_groups: list, history: list, layers[1]: None, layers[2][1]: str");
  CHECK(numbers(archive, "state_dict.0.weight") ==
        std::vector<double>{0, 0.125, 0.25, 0.375, 0.5, 0.625});
  CHECK(numbers(archive, "layers[0]") == std::vector<double>{1, 1});
  CHECK(archive.settings.empty());
  CHECK(error_of([&] { archive.at("args"); })
            .ends_with(": args is __main__.Options, expected a tensor; nothing in a pickle is "
                       "ever run"));
}

TEST_CASE("each of torch's types is widened exactly, or named where it is none of ours") {
  const Archive archive = open_archive(data(GENERATE("kinds.pt", "kinds_legacy.pt")));
  const auto of = [&](const char* name) { return numbers(archive, name); };
  using List = std::vector<double>;
  const List ramp = {0, 0.125, 0.25, 0.375, 0.5};
  CHECK(of("parameter") == List{0, 0.125, 0.25, 0.375});
  CHECK(of("half") == ramp);
  CHECK(of("bfloat16") == ramp);
  CHECK(of("double") == List{0, 0.125, 0.25});
  CHECK(of("long") == List{-1099511627776, 1099511627776});
  CHECK(of("int") == List{-70000, 70000});
  CHECK(of("short") == List{-300, 300});
  CHECK(of("char") == List{-3, 3});
  CHECK(of("byte") == List{0, 255});
  CHECK(of("bool") == List{1, 0});
  CHECK(of("scalar") == List{1.5});
  CHECK(archive.at("empty").shape == Shape{0, 4});
  CHECK(archive.at("bfloat16").dtype == DType::bf16);
  CHECK(archive.at("bfloat16").dtype_name == "bfloat16");
  const std::string expected =
      " is not supported, expected floats of 16, 32 or 64 bits, integers or booleans";
  CHECK(error_of([&] { of("complex"); }) ==
        archive.path + ": complex: dtype complex64" + expected);
  CHECK(error_of([&] { of("quantized"); }) ==
        archive.path + ": quantized: dtype qint8" + expected);
  CHECK(skipped_of(archive) ==
        "sparse: torch._utils._rebuild_sparse_tensor, storage: torch.FloatStorage");
}

TEST_CASE("a lone tensor, and a file saved to a stream, are read") {
  const Archive lone = open_archive(data("tensor.pt"));
  CHECK(names_of(lone) == std::vector<std::string>{""});
  CHECK(numbers(lone, "") == std::vector<double>{0, 0.125, 0.25, 0.375, 0.5, 0.625});
  CHECK(where(lone, lone.members[0]) == lone.path);
  CHECK(numbers(open_archive(data("stream.pt")), "W_Q")[11] == 1.375);
  CHECK(numbers(open_archive(data("old_checkpoint.pt")), "W_Q")[11] == 1.375);
}

TEST_CASE("TorchScript's modules give their parameters by the names of state_dict()") {
  const Archive archive = open_archive(data("script.pt"));
  CHECK(names_of(archive) ==
        std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias"});
  CHECK(numbers(archive, "0.weight")[5] == 0.625);
  CHECK(archive.skipped.empty());
}

TEST_CASE("a whole module is refused by its class, with what to save instead") {
  const std::string advice =
      ", which would have to be run; save a dict of tensors, model.state_dict()";
  CHECK(error_of([&] { open_archive(data("module.pt")); }) ==
        data("module.pt") + ": is a pickled torch.nn.modules.container.Sequential" + advice);
  // In the old format the class stands outside, beside its source.
  const std::string model =
      pk::tuple({pk::text("module"), pk::name("m", "Model"), "N", "N"}) + "Q" + ")\x81}b";
  CHECK(open_error(pk::checkpoint(model)) == "w.pt: is a pickled m.Model" + advice);
  CHECK(open_error(pk::checkpoint(pk::dict({{"model", model}, {"epoch", "K\x03"}}))) ==
        "w.pt: holds no tensor but model (m.Model), epoch (int); save a dict of tensors, "
        "model.state_dict()");
  CHECK(open_error(pk::checkpoint("K\x03")) == "w.pt: is a pickled int" + advice);
  CHECK(open_error(pk::checkpoint("]")) ==
        "w.pt: holds no tensor but nothing; save a dict of tensors, model.state_dict()");
}

TEST_CASE("storages of bytes and of another byte order are read") {
  const std::string value =
      pk::call(pk::name("torch._utils", "_rebuild_tensor_v3"),
               {pk::storage("UntypedStorage", "0", 24), pk::integer(2), pk::integers({3}),
                pk::integers({1}), "\x89", "}", pk::name("torch", "uint32"), "N"});
  const auto file = [&](const std::string& order) {
    return make_zip({{.name = "w/data.pkl", .content = pk::pickle(value)},
                     {.name = "w/byteorder", .content = order},
                     {.name = "w/data/0",
                      .content = little(0, 8) + little(1, 4) + little(2, 4) +
                                 little(0x03000000, 4) + little(0, 4)}});
  };
  CHECK(numbers(open(file("little")), "") == std::vector<double>{1, 2, 0x03000000});
  CHECK(numbers(open(file("big\n")), "") == std::vector<double>{0x01000000, 0x02000000, 3});
  CHECK(open_error(file("middle")) ==
        "w.pt: w/byteorder: byte order \"middle\", expected little or big");
}

TEST_CASE("parameters of every make are the tensors in them") {
  const std::string tensor = pk::tensor();
  const auto utils = [](const char* name) { return pk::name("torch._utils", name); };
  const std::string subclass =
      pk::call(pk::name("torch._tensor", "_rebuild_from_type_v2"),
               {utils("_rebuild_tensor_v2"), pk::name("m", "T"),
                pk::tuple({pk::storage("FloatStorage", "0", 6), pk::integer(1),
                           pk::integers({2}), pk::integers({3}), "\x89", "}"}),
                "}"});
  const Archive archive = open(pk::checkpoint(pk::dict({
      {"a", pk::call(utils("_rebuild_parameter"), {tensor, "\x88", "}"})},
      {"b", pk::call(utils("_rebuild_parameter_with_state"), {tensor, "\x88", "}", "}"})},
      {"c", subclass},
      {"d", pk::call(utils("_rebuild_parameter"), {subclass, "\x88", "}"})},
      {"e", pk::call(utils("_rebuild_parameter"), {"N", "\x88", "}"})},
      {"f", pk::call(utils("_rebuild_parameter"), {})},
  })));
  CHECK(names_of(archive) == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(numbers(archive, "b") == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(numbers(archive, "d") == std::vector<double>{2, 5});
  CHECK(skipped_of(archive) ==
        "e: torch._utils._rebuild_parameter, f: torch._utils._rebuild_parameter");
}

TEST_CASE("records may be deflated, sizes may be of 64 bits") {
  const Archive archive =
      open(make_zip({{.name = "w/data.pkl",
                      .content = pk::pickle(pk::dict({{"a", pk::tensor()}})),
                      .deflate = true,
                      .zip64 = true},
                     {.name = "w/data/0",
                      .content = floats({1, 2, 3, 4, 5, 6}),
                      .deflate = true,
                      .listed64 = true}}));
  CHECK(numbers(archive, "a") == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("one tensor of a large checkpoint costs its own bytes") {
  // 32 storages of 1 MB, of which one is read, and a slice of one of 32 MB.
  constexpr std::int64_t kNumel = 1 << 18;
  std::vector<std::pair<std::string, std::string>> tensors;
  const auto add = [&](std::int64_t numel, std::int64_t used) {
    const std::string key = std::to_string(tensors.size());
    tensors.emplace_back(key, pk::tensor({.storage = pk::storage("FloatStorage", key, numel),
                                          .size = {used},
                                          .stride = {1}}));
  };
  while (tensors.size() < 32) add(kNumel, kNumel);
  add(32 * kNumel, 8);
  const std::string pickle = pk::pickle(pk::dict(tensors));
  const std::vector<float> values(32 * kNumel, 0.5f);
  const TempFolder folder;
  {
    WholeFile file(folder / "w.pt");
    ZipWriter zip(file);
    zip.add("w/data.pkl", {std::as_bytes(std::span(pickle))});
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::size_t numel = i < 32 ? kNumel : values.size();
      zip.add("w/data/" + std::to_string(i), {std::as_bytes(std::span(values).first(numel))});
    }
    zip.finish();
    file.commit();
  }
  const std::size_t before = mapped_kilobytes();
  const Archive archive = open_archive(folder / "w.pt");
  CHECK(numbers(archive, "31").back() == 0.5);
  CHECK(numbers(archive, "32").back() == 0.5);
  // The kernel maps 64 kB around each of the zip's local headers.
  CHECK(mapped_kilobytes() - before < 8 * 1024);
}
