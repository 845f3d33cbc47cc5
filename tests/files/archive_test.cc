#include "files/archive.h"

#include <limits>

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;
using namespace std::string_literals;

namespace {

Archive open(const std::string& content) { return read_archive(Bytes::own(content), "w"); }
std::string open_error(const std::string& content) {
  return error_of([&] { open(content); });
}

}  // namespace

TEST_CASE("the container is found from the content") {
  const std::string npy = make_npy("<f4", false, "(1,)", floats({1}));
  CHECK(open(npy).container == "npy");
  CHECK(open(make_zip({{.name = "a.npy", .content = npy}})).container == "npz");
  CHECK(open(make_safetensors("{}", "")).container == "safetensors");
  CHECK(open("{\"W_Q\": [[1]]}").container == "JSON");
  CHECK(open("  \n[[1, 2]]").container == "JSON");
  CHECK(open("\xEF\xBB\xBF[ [1]]").container == "JSON");
  CHECK(open("1 2 3\n4 5 6\n").container == "text");
  CHECK(open("größe 0.5 0.25\n").container == "text");
  // A token of BERT's is a label, not the start of a list.
  CHECK(open("[CLS] 0.5 0.25\n[SEP] 1 2\n").container == "text");
}

TEST_CASE("a safetensors file with a wrong length is still one") {
  const std::string rest = "{\"a\":1}";
  const std::string start = "w: the safetensors header has a length of ";
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{8}}) {
    CHECK(open_error(little(length, 8) + rest).starts_with(start));
  }
  CHECK(open_error(little(60, 8)) == start + "60 bytes, the file has 0 left");
  // Eight letters in front of a brace are a text.
  CHECK(open("        {\"a\": [1]}").container == "JSON");
}

TEST_CASE("what is none of ours is called by its name") {
  CHECK(open_error("") == "w: is empty");
  CHECK(open_error(" \n\t") == "w: holds nothing but blanks");
  CHECK(open_error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n") ==
        "w: is a Git LFS pointer, not the file itself; fetch it with git lfs pull");
  const std::string page =
      "w: is a web page or XML, not the file itself (a download that failed?)";
  CHECK(open_error("<!DOCTYPE html><html>") == page);
  CHECK(open_error("\n  <HTML><body>404</body>") == page);
  CHECK(open_error("<?xml version=\"1.0\"?>") == page);
  CHECK(open_error("\x1f\x8b\x08junk") == "w: is packed by gzip; unpack it first");
  CHECK(open_error("GGUF\x03\0\0\0 and so on") ==
        "w: is a GGUF model, which is not read; convert it to safetensors");
  CHECK(open_error("\x89HDF\r\n\x1a\nmore") ==
        "w: is an HDF5 file (Keras?), which is not read; save it as .npz");
  CHECK(open_error(std::string("\0\x01\x02\xFFrubbish", 11)) ==
        "w: is none of safetensors, PyTorch, .npz, .npy, JSON or text; it begins with bytes "
        "00 01 02 "
        "ff 72 "
        "75 62 62");
}

TEST_CASE("PyTorch's own checkpoints are told from other archives and pickles") {
  const std::string folder = MHA_SOURCE_DIR "/tests/files/data/";
  CHECK(open_archive(folder + "checkpoint.pt").container == "PyTorch zip");
  CHECK(open_archive(folder + "old_checkpoint.pt").container == "PyTorch legacy");
}

TEST_CASE("other models and pickles are called by their names") {
  const auto pickled = [](const std::string& what) {
    return "w: is a pickled " + what +
           " that torch.save did not write; nothing in a pickle is ever run; save its arrays "
           "by "
           "name with numpy.savez";
  };
  CHECK(open_error("\x80\x02}q\x01.") == pickled("dict"));
  CHECK(open_error("\x80\x03}X\x01\x00\x00\x00"
                   "acnumpy.core.multiarray\n_reconstruct\n(tRs."s) ==
        pickled("dict of numpy.core.multiarray._reconstruct"));
  CHECK(open_error("\x80\x04](K\x01K\x02"
                   "e.") == pickled("list of int"));
  CHECK(open_error("\x80\x04\xFF") == pickled("thing"));
  CHECK(open_error("(dp0\nS'a'\np1\nI1\ns.") == pickled("thing"));
  CHECK(open_error("\x08\x07\x12\x07pytorch\x1a\x06") ==
        "w: is an ONNX model, which is not read; save its tensors as .npz");
  CHECK(open_error("\x81\xa6params\x82\xa4") ==
        "w: is msgpack (Flax?), which is not read; save its arrays by name with numpy.savez");
  CHECK(open_error("\xde\x00\x10\xa4"
                   "bert"s) ==
        "w: is msgpack (Flax?), which is not read; save its arrays by name with numpy.savez");
  CHECK(open_error(std::string("\0\0\x10", 3) + "\x57\xfb\x80\x8b\x24\x75\x47\xdb") ==
        "w: is the index of a TensorFlow checkpoint, which is not read; save its tensors as "
        ".npz");
  CHECK(open_error("model_checkpoint_path: \"model.ckpt-1\"\n") ==
        "w: is the list of TensorFlow's checkpoints, which are not read; save the tensors as "
        ".npz");
  CHECK(open_error("a.bin" + std::string(252, '\0') +
                   "ustar\x00"
                   "00"s) == "w: is a tar archive; unpack it first");
}

TEST_CASE("a model's config and a Keras archive are not taken for weights") {
  CHECK(open_error(R"({"architectures": ["BertModel"], "model_type" : "bert"})") ==
        "w: is a model's config, not its weights; give the weights, which find a config.json "
        "beside them");
  CHECK(error_of(
            [] { read_archive(Bytes::own("\xac\n\x7f"), "bert.ckpt.data-00000-of-00001"); }) ==
        "bert.ckpt.data-00000-of-00001: is the data of a TensorFlow checkpoint, which is not "
        "read; save its tensors as .npz");
  CHECK(open_error(R"({"x": [[1]], "tokens": ["model_type"]})") == "no error");
  CHECK(open_error(make_zip({{.name = "config.json", .content = "{}"},
                             {.name = "model.weights.h5", .content = "\x89HDF"}})) ==
        "w: is a .keras archive, which is not read; save its weights as .npz");
}

TEST_CASE("a path is a file, a folder, or not there") {
  const TempFolder folder;
  CHECK(error_of([&] { open_archive(folder / "w.bin"); }) ==
        folder / "w.bin" + ": cannot open: No such file or directory");
  CHECK(fails_with(Fault::system, [&] { open_archive(folder / "w.bin"); }));
  CHECK(error_of([&] {
          open_archive(folder.path());
        }).starts_with(folder.path().string() + ": is a folder without .npy files"));
  CHECK(fails_with(Fault::input, [&] { open_archive(folder.path()); }));
  folder.write("x.npy", make_npy("<f4", false, "(1,)", floats({1})));
  CHECK(open_archive(folder.path()).container == "npy folder");
  CHECK(open_archive(folder / "x.npy").container == "npy");
}

TEST_CASE("a tensor is named with its file, a bare one by the file alone") {
  const std::string npy = make_npy("<f4", false, "(1,)", floats({1}));
  const Archive bare = open(npy);
  CHECK(where(bare, bare.members.at(0)) == "w");
  const Archive named = open(make_zip({{.name = "W_Q.npy", .content = npy}}));
  CHECK(where(named, named.members.at(0)) == "w: W_Q");
  CHECK(named.find("W_Q") == &named.members[0]);
  CHECK(named.find("W_K") == nullptr);
}

TEST_CASE("a tensor is read as float or double") {
  const Archive archive = open(make_npy("<f8", false, "(2, 1)", bytes_of<double>({0.1, -2})));
  const Tensor<float> narrow = read_tensor<float>(archive, archive.members[0]);
  CHECK(narrow.shape() == Shape{2, 1});
  CHECK(narrow.data()[0] == 0.1f);
  CHECK(read_tensor<double>(archive, archive.members[0]).data()[0] == 0.1);
}

TEST_CASE("the first element that is not finite is named") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto error = [](const std::string& shape, const std::vector<double>& values) {
    const Archive archive = open(make_npy("<f8", false, shape, bytes_of(values)));
    const Tensor<double> tensor = read_tensor<double>(archive, archive.members[0]);
    return error_of([&] { require_finite(tensor, "w.npz: W_Q"); });
  };
  CHECK(error("(1, 2, 2)", {0, 1, 2, std::nan("")}) ==
        "w.npz: W_Q[0, 1, 1] is nan; --allow-nonfinite lets it through");
  CHECK(error("(3,)", {0, -inf, inf}) ==
        "w.npz: W_Q[1] is -inf; --allow-nonfinite lets it through");
  CHECK(error("()", {inf}) == "w.npz: W_Q is inf; --allow-nonfinite lets it through");
  CHECK(error("(2,)", {1e300, -1e300}) == "no error");
  const Archive large = open(make_npy("<f8", false, "(1,)", bytes_of(std::vector{1e300})));
  CHECK(
      error_of([&] { require_finite(read_tensor<float>(large, large.members[0]), "W_Q"); }) ==
      "W_Q[0] is inf in f32 (--precision f64 holds more); --allow-nonfinite lets it through");
}
