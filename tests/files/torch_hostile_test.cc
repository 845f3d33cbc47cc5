#include <unistd.h>

#include <ctime>
#include <fstream>

#include "catch.h"
#include "files/crafted_pickle.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;
using namespace std::string_literals;

namespace {

Archive open(const std::string& content) { return read_archive(Bytes::own(content), "w.pt"); }
std::string open_error(const std::string& content) {
  return error_of([&] { open(content); });
}

std::string tensor_error(const pk::TensorArguments& given) {
  return open_error(pk::checkpoint(pk::dict({{"a", pk::tensor(given)}})));
}

// The most memory this process ever had.
std::size_t peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> kilobytes) break;
  }
  return kilobytes;
}

// open_error of what must cost little whatever it says.
std::string cheap_error(const std::string& content) {
  const std::size_t memory = peak_kilobytes();
  const std::clock_t start = std::clock();
  const std::string error = open_error(content);
  const double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(peak_kilobytes() - memory < 50'000);
  CHECK(seconds < 0.5);  // of processor time; 0.1 where nobody debugs
  return error;
}

// Opens and reads everything; an Error is a fine answer, a crash is none.
void read_whatever_it_is(const std::string& content) {
  try {
    const Archive archive = open(content);
    for (const Member& member : archive.members) {
      try {
        read_tensor<float>(archive, member);
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (; count > 0; --count) all += text;
  return all;
}

}  // namespace

TEST_CASE("a pickle that would run a command leaves no trace") {
  const TempFolder folder;
  const std::string trace = folder / "trace";
  const std::string system =
      pk::call(pk::name(GENERATE("os", "posix"), "system"), {pk::text("touch " + trace)});
  const std::string eval =
      pk::call(pk::name("builtins", "eval"), {pk::text("open('" + trace + "', 'w')")});
  const std::string built = pk::name("m", "C") + ")\x81" + system + "b";
  const Archive archive = open(pk::checkpoint(
      pk::dict({{"W_Q", system}, {"W_K", eval}, {"W_V", built}, {"W_O", pk::tensor()}})));
  CHECK(archive.members.size() == 1);
  CHECK(numbers(archive, "W_O").size() == 6);
  CHECK(error_of([&] { archive.at("W_K"); }) ==
        "w.pt: W_K is builtins.eval, expected a tensor; nothing in a pickle is ever run");
  CHECK(archive.skipped.at(0).what.ends_with(".system"));
  CHECK(archive.skipped.at(2).what == "m.C");
  CHECK(
      open_error(pk::checkpoint(eval)) ==
      "w.pt: is a pickled builtins.eval, which would have to be run; save a dict of tensors, "
      "model.state_dict()");
  // Where a tensor's own arguments are calls, it is no tensor.
  CHECK(open_error(pk::checkpoint(pk::dict({{"a", pk::tensor({.storage = system})}}))) ==
        "w.pt: a: its storage is a value of type " + archive.skipped.at(0).what);
  CHECK(::access(trace.c_str(), F_OK) != 0);
}

TEST_CASE("a tensor that leaves its storage is refused by its name") {
  const std::string error = "w.pt: a: shape ";
  const std::string past = " on reaches past its storage of 6 elements";
  CHECK(tensor_error({}) == "no error");
  CHECK(tensor_error({.offset = 1}) ==
        error + "[2, 3] with strides [3, 1] from element 1" + past);
  CHECK(tensor_error({.stride = {4, 1}}) ==
        error + "[2, 3] with strides [4, 1] from element 0" + past);
  CHECK(tensor_error({.stride = {3, 2}}).ends_with(past));
  CHECK(tensor_error({.offset = 6, .size = {}, .stride = {}}).ends_with(past));
  CHECK(tensor_error({.offset = 5, .size = {}, .stride = {}}) == "no error");
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK(tensor_error({.stride = {huge, 1}}).ends_with(past));
  CHECK(tensor_error({.size = {5, 5}, .stride = {huge, huge}}).ends_with(past));
  // The sum alone overflows, to 0.
  CHECK(tensor_error({.size = {3, 3}, .stride = {huge, huge}}).ends_with(past));
  CHECK(tensor_error({.offset = INT64_MAX, .size = {3, 3}, .stride = {huge, huge}})
            .ends_with(past));
  CHECK(tensor_error({.size = {huge, 4}, .stride = {0, 0}}) ==
        "w.pt: a: shape [4611686018427387904, 4] is too large");
  // As many elements as nobody has, all of them one: for whoever reads it to refuse.
  const Archive expanded =
      open(pk::checkpoint(pk::tensor({.size = {std::int64_t{1} << 50}, .stride = {0}})));
  CHECK(fails_with(Fault::system, [&] { read_tensor<float>(expanded, expanded.at("")); }));
  CHECK(tensor_error({.offset = 9, .size = {0, 3}}) == "no error");
}

TEST_CASE("sizes, strides and offsets of nonsense are refused by the tensor's name") {
  CHECK(tensor_error({.size = {-2, 3}}) ==
        "w.pt: a: size is -2, expected a whole number, not negative");
  CHECK(tensor_error({.stride = {3, -1}}) ==
        "w.pt: a: stride is -1, expected a whole number, not negative");
  CHECK(tensor_error({.offset = -1}) ==
        "w.pt: a: storage offset is -1, expected a whole number, not negative");
  CHECK(tensor_error({.stride = {1}}) ==
        "w.pt: a: size [2, 3] and stride [1] have not the same axes");
  CHECK(tensor_error({.size = std::vector<std::int64_t>(65, 1)}) ==
        "w.pt: a: size has 65 axes, expected at most 64");
  const auto rebuilt = [](const std::vector<std::string>& arguments) {
    return open_error(
        pk::checkpoint(pk::call(pk::name("torch._utils", "_rebuild_tensor_v2"), arguments)));
  };
  const std::string storage = pk::storage("FloatStorage", "0", 6);
  CHECK(rebuilt({}) == "w.pt: _rebuild_tensor_v2 has 0 arguments, expected more");
  CHECK(rebuilt({storage, "N", ")", ")"}) ==
        "w.pt: storage offset is a value of type None, expected a whole number, not negative");
  CHECK(rebuilt({storage, "K\0"s, "N", ")"}) ==
        "w.pt: size is a value of type None, expected a tuple");
  CHECK(rebuilt({storage, "K\0"s, "X\0\0\0\0\x85"s, "K\x01\x85"}) ==
        "w.pt: size is a value of type str, expected a whole number, not negative");
  CHECK(rebuilt({"N", "K\0"s, ")", ")"}) == "w.pt: its storage is a value of type None");
  CHECK(rebuilt({"NQ", "K\0"s, ")", ")"}) ==
        "w.pt: its storage is a value of type object outside the pickle");
  CHECK(rebuilt({")Q", "K\0"s, ")", ")"}) ==
        "w.pt: its storage is a value of type object outside the pickle");
  const std::string size = pk::call(pk::name("torch", "Size"), {pk::integers({6})});
  CHECK(rebuilt({storage, "K\0"s, size, pk::integers({1})}) == "no error");
}

TEST_CASE("a storage that is not what the pickle says is refused by the tensor's name") {
  const auto with = [](const std::string& storage) {
    return tensor_error({.storage = storage, .size = {1}, .stride = {1}});
  };
  CHECK(with(pk::storage("FloatStorage", "0", 7)) ==
        "w.pt: a: its storage 0 needs 28 bytes for 7 of float32, found 24");
  CHECK(with(pk::storage("DoubleStorage", "0", 4)) ==
        "w.pt: a: its storage 0 needs 32 bytes for 4 of float64, found 24");
  CHECK(with(pk::storage("FloatStorage", "0", INT64_MAX)) ==
        "w.pt: a: a storage of 9223372036854775807 elements is too large");
  CHECK(with(pk::storage("FloatStorage", "0", -1)) ==
        "w.pt: a: number of elements of a storage is -1, expected a whole number, not "
        "negative");
  CHECK(with(pk::storage("FloatStorage", "../0", 6)) ==
        "w.pt: a: its storage ../0 is not in the file");
  CHECK(with(pk::storage("FloatStorage", "1", 6)) ==
        "w.pt: a: its storage 1 is not in the file");
  const std::string view = pk::tuple({pk::text("storage"), pk::name("torch", "FloatStorage"),
                                      pk::text("0"), pk::text("cpu"), pk::integer(6), ")"}) +
                           "Q";
  CHECK(with(view) == "w.pt: a: its storage is a view of another one, which is not read");
  // Of a type that nobody knows, for whoever reads it to refuse.
  const Archive strange = open(
      pk::checkpoint(pk::tensor({.storage = pk::storage("PosixStorage", "0", INT64_MAX)})));
  CHECK(error_of([&] {
          numbers(strange, "");
        }).starts_with("w.pt: dtype PosixStorage is not supported, expected floats"));
}

TEST_CASE("a pickle may be as deep as it likes") {
  constexpr std::size_t kLevels = 100'000;
  const std::string lists = repeated("]", kLevels) + repeated("a", kLevels - 1);
  CHECK(cheap_error(pk::checkpoint(lists)) ==
        "w.pt: holds no tensor but [0] (list); save a dict of tensors, model.state_dict()");
  CHECK(cheap_error(
            pk::checkpoint(repeated("]", kLevels) + pk::tensor() + repeated("a", kLevels))) ==
        "w.pt: nested more than 64 levels deep");
  CHECK(open_error(pk::checkpoint(repeated("]", 64) + pk::tensor() + repeated("a", 64))) ==
        "no error");
  const std::string tuples = ")" + repeated("\x85", kLevels);
  CHECK(cheap_error(pk::checkpoint(tuples)).starts_with("w.pt: holds no tensor but [0]"));
  // Calls of calls, parameters of parameters.
  CHECK(cheap_error(pk::checkpoint(pk::name("m", "f") + repeated(")R", kLevels)))
            .starts_with("w.pt: is a pickled "));
  std::string parameter = pk::tensor();
  for (int i = 0; i < 20; ++i) {
    parameter = pk::call(pk::name("torch._utils", "_rebuild_parameter"), {parameter, "\x89"});
  }
  CHECK(cheap_error(pk::checkpoint(parameter))
            .starts_with("w.pt: is a pickled torch._utils._rebuild_parameter"));
}

TEST_CASE("dicts that share dicts are not told one by one") {
  // Each level holds the one before it twice.
  const auto bomb = [](const std::string& core, int levels) {
    std::string value = core + "q\x01";
    for (int i = 0; i < levels; ++i) {
      value = value + "0}(" + pk::text("a") + "h\x01" + pk::text("b") + "h\x01u" + "q\x01";
    }
    return pk::checkpoint(value);
  };
  CHECK(open_error(bomb(pk::tensor(), 3)) == "no error");
  CHECK(cheap_error(bomb(pk::tensor(), 60)) ==
        "w.pt: names more than a checkpoint does (dicts shared by dicts?)");
  CHECK(cheap_error(bomb("K\x01", 60)) ==
        "w.pt: holds no tensor but a (dict), b (dict); save a dict of tensors, "
        "model.state_dict()");
  CHECK(cheap_error(pk::checkpoint(pk::dict({{std::string(1'000'000, 'k'), pk::tensor()}}))) ==
        "w.pt: names more than a checkpoint does (dicts shared by dicts?)");
  // Many names, each with much in front of it.
  std::vector<std::pair<std::string, std::string>> tensors;
  for (int i = 0; i < 20'000; ++i) tensors.emplace_back(std::to_string(i), "h\x01");
  const std::string shared =
      pk::tensor() + "q\x01" + "0" + pk::dict({{std::string(4000, 'k'), pk::dict(tensors)}});
  CHECK(open_error(pk::checkpoint(shared)) ==
        "w.pt: names more than a checkpoint does (dicts shared by dicts?)");
}

TEST_CASE("a dict that contains itself is read once") {
  const std::string itself =
      "}q\x01(" + pk::text("self") + "h\x01" + pk::text("a") + pk::tensor() + "u";
  const Archive archive = open(pk::checkpoint(itself));
  CHECK(numbers(archive, "a").size() == 6);
  CHECK(archive.skipped.at(0).what == "a dict or list that contains itself");
  const std::string list = "]q\x01(h\x01" + pk::tensor() + "e";
  CHECK(open(pk::checkpoint(list)).members.at(0).name == "[1]");
  // A TorchScript object whose state it is a part of.
  const std::string object = pk::name("__torch__.m", "M") + ")\x81q\x01" +
                             pk::dict({{"self", "h\x01"}, {"a", pk::tensor()}}) + "b";
  CHECK(open(pk::checkpoint(object)).members.at(0).name == "a");
  CHECK(cheap_error(pk::checkpoint("]q\x01h\x01" + "a"s))
            .starts_with("w.pt: holds no tensor but [0] (list)"));
}

TEST_CASE("names that collide are refused") {
  CHECK(open_error(pk::checkpoint(
            pk::dict({{"a.b", pk::tensor()}, {"a", pk::dict({{"b", pk::tensor()}})}}))) ==
        "w.pt: a.b stands in the checkpoint twice");
}

TEST_CASE("a file cut short or damaged anywhere is refused or read, never a crash") {
  const std::string name =
      GENERATE("views.pt", "training_legacy.pt", "views_protocol4_legacy.pt");
  const std::string file = read_file(MHA_SOURCE_DIR "/tests/files/data/" + name);
  for (std::size_t length = 0; length < file.size(); ++length) {
    read_whatever_it_is(file.substr(0, length));
  }
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0x01 : 0xFF));
    read_whatever_it_is(damaged);
  }
}

TEST_CASE("a pickle cut short or damaged anywhere is refused or read, never a crash") {
  // Without the zip's checksum in front of it.
  const std::string pickle = pk::pickle(pk::dict(
      {{"a", pk::tensor()},
       {"b", pk::dict({{"c", pk::tensor({.offset = 2, .size = {4}, .stride = {1}})}})}}));
  const auto checkpoint = [](const std::string& content) {
    return make_zip({{.name = "w/data.pkl", .content = content},
                     {.name = "w/data/0", .content = floats({1, 2, 3, 4, 5, 6})}});
  };
  for (std::size_t length = 0; length < pickle.size(); ++length) {
    CHECK(open_error(checkpoint(pickle.substr(0, length)))
              .starts_with("w.pt: w/data.pkl, byte "));
  }
  for (std::size_t at = 0; at < pickle.size(); ++at) {
    for (int byte = static_cast<int>(at % 7); byte < 256; byte += 7) {
      std::string damaged = pickle;
      damaged[at] = static_cast<char>(byte);
      read_whatever_it_is(checkpoint(damaged));
    }
  }
}

TEST_CASE("the old format's storages are held against the file") {
  const std::string magic = pk::pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
  const auto legacy = [&](const std::string& version, const std::string& keys,
                          const std::string& storages) {
    return magic + pk::pickle(version) + pk::pickle("}") +
           pk::pickle(pk::dict({{"a", pk::tensor()}})) + pk::pickle(keys) + storages;
  };
  const std::string version = "M\xE9\x03";
  const std::string keys = "](" + pk::text("0") + "e";
  const std::string values = floats({1, 2, 3, 4, 5, 6});
  CHECK(numbers(open(legacy(version, keys, little(6, 8) + values)), "a").at(5) == 6);
  CHECK(open_error(legacy("M\xEA\x03", keys, "")) ==
        "w.pt: version 1002 of PyTorch's old format, expected 1001");
  CHECK(open_error(legacy(version, "]", "")) == "w.pt: a: its storage 0 is not in the file");
  CHECK(open_error(legacy(version, keys, "abc")) ==
        "w.pt: storage 0: the file ends within it, 3 bytes are left for 0 of float32");
  CHECK(open_error(legacy(version, keys, little(7, 8) + values)) ==
        "w.pt: storage 0: the file ends within it, 32 bytes are left for 7 of float32");
  CHECK(open_error(legacy(version, keys, std::string(8, '\xFF') + values)) ==
        "w.pt: storage 0: the file ends within it, 32 bytes are left for "
        "18446744073709551615 of float32");
  CHECK(open_error(legacy(version, keys, little(5, 8) + values)) ==
        "w.pt: a: its storage 0 needs 24 bytes for 6 of float32, found 20");
  CHECK(open_error(legacy(version, "](" + pk::text("1") + "e", little(0, 8))) ==
        "w.pt: storage 1 is listed and never used");
  CHECK(open_error(legacy(version, "](" + pk::text("0") + pk::text("0") + "e",
                          little(6, 8) + values + little(6, 8) + values)) ==
        "w.pt: storage 0 is listed twice");
}
