#include "files/zip.h"

#include "catch.h"
#include "files/crafted.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

std::vector<ZipEntry> open(const std::string& file) {
  return read_zip(Bytes::own(file), "w.zip");
}
std::string open_error(const std::string& file) {
  return error_of([&] { open(file); });
}
std::string content_error(const std::string& file) {
  return error_of([&] { zip_content(open(file).at(0)); });
}
std::string repeated(char c, std::size_t count) { return std::string(count, c); }

}  // namespace

TEST_CASE("entries come in the order of the directory, stored or deflated") {
  const std::string file =
      make_zip({{.name = "b", .content = "stored"},
                {.name = "../a", .content = "", .deflate = true},
                {.name = "folder/", .content = ""},
                {.name = "folder/c.d", .content = repeated('x', 100000), .deflate = true},
                {.name = "z", .content = "numpy", .zip64 = true},
                {.name = "huge", .content = "as if", .listed64 = true}});
  const auto entries = open(file);
  REQUIRE(entries.size() == 5);
  CHECK(entries[0].name == "b");
  CHECK(zip_content(entries[0]).text() == "stored");
  CHECK(entries[1].name == "../a");
  CHECK(zip_content(entries[1]).empty());
  CHECK(entries[2].name == "folder/c.d");
  CHECK(zip_content(entries[2]).text() == repeated('x', 100000));
  CHECK(zip_start(entries[2], 7).text() == "xxxxxxx");
  CHECK(zip_content(entries[3]).text() == "numpy");
  CHECK(zip_content(entries[4]).text() == "as if");
}

TEST_CASE("a stored entry is a slice of the file, not a copy") {
  const Bytes file = Bytes::own(make_zip({{.name = "a", .content = "1234"}}));
  const Bytes content = zip_content(read_zip(file, "w.zip").at(0));
  CHECK(content.data() >= file.data());
  CHECK(content.data() + content.size() <= file.data() + file.size());
}

TEST_CASE("an archive of nothing has no entries") { CHECK(open(make_zip({})).empty()); }

TEST_CASE("an archive without its directory is cut short") {
  const std::string whole = make_zip({{.name = "a", .content = "1234"}});
  CHECK(open_error(whole.substr(0, whole.size() - 1)) ==
        "w.zip: is a zip archive without its directory at the end (cut short?)");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CHECK(open_error(whole.substr(0, length)) != "no error");
  }
}

TEST_CASE("a damaged directory is told from a missing one") {
  std::string file =
      make_zip({{.name = "a", .content = "1234"}, {.name = "b", .content = "5"}});
  const std::size_t second = file.rfind("PK\x01\x02");
  file[second] = 'Q';
  CHECK(open_error(file) ==
        "w.zip: the directory of the zip archive is damaged after 1 of 2 entries");
}

TEST_CASE("encrypted entries and other packings are refused by name") {
  CHECK(open_error(make_zip({{.name = "a", .content = "1", .flags = 1}})) ==
        "w.zip: a: is encrypted, which is not supported");
  CHECK(open_error(make_zip({{.name = "a", .content = "1", .method = 12}})) ==
        "w.zip: a: is packed by method 12, expected 0 (stored) or 8 (deflated)");
}

TEST_CASE("a name given twice is refused") {
  CHECK(open_error(make_zip({{.name = "a", .content = "1"}, {.name = "a", .content = "2"}})) ==
        "w.zip: a: stands in the zip archive twice");
}

TEST_CASE("a directory that is not where it should be is refused") {
  const std::string whole = make_zip({{.name = "a", .content = "1234"}});
  const std::size_t end = whole.size() - 22;
  std::string file = whole;
  file.replace(end + 16, 4, little(1000, 4));
  CHECK(open_error(file) ==
        "w.zip: the directory of the zip archive, 47 bytes from offset 1000, reaches past its "
        "end at 82");
  file = whole;
  file.replace(end + 10, 2, little(2, 2));
  CHECK(open_error(file) ==
        "w.zip: the directory of the zip archive is damaged after 1 of 2 entries");
  file = make_zip({{.name = "a", .content = "1"}, {.name = "b", .content = "2"}});
  file.replace(file.size() - 12, 2, little(1, 2));
  CHECK(open_error(file) ==
        "w.zip: the directory of the zip archive has 47 bytes more than its 1 entries");
}

TEST_CASE("a zip64 record is found, and one that is damaged told") {
  std::string file = make_zip({{.name = "a", .content = "1234"}});
  const std::size_t end = file.size() - 22;
  const std::string record = "PK\x06\x06" + little(44, 8) + little(0, 12) + little(1, 8) +
                             little(1, 8) + little(47, 8) + little(end - 47, 8);
  const std::string locator = "PK\x06\x07" + little(0, 4) + little(end, 8) + little(1, 4);
  std::string last = file.substr(end);
  last.replace(8, 12, std::string(12, '\xFF'));
  const auto with = [&](const std::string& zip64) {
    return file.substr(0, end) + zip64 + last;
  };
  CHECK(zip_content(open(with(record + locator)).at(0)).text() == "1234");
  const std::string damaged = "w.zip: the zip64 record of the zip archive is damaged";
  CHECK(open_error(with("X" + record.substr(1) + locator)) == damaged);
  CHECK(open_error(with(locator)) == damaged);
}

TEST_CASE("a comment at the end is passed over") {
  std::string file = make_zip({{.name = "a", .content = "1234"}});
  file.replace(file.size() - 2, 2, little(5, 2));
  CHECK(open(file + "hello").size() == 1);
  CHECK(open_error(file + "hell") != "no error");
}

TEST_CASE("an entry outside the file or over another is refused") {
  CHECK(
      open_error(make_zip({{.name = "a", .content = "1234", .size = 1000, .packed = 1000}})) ==
      "w.zip: a: 1000 bytes from offset 31 reach past the last entry's end at 35");
  CHECK(open_error(make_zip({{.name = "a", .content = "1234", .offset = 100000}})) ==
        "w.zip: a: there is no local header at offset 100000");
  // "b" begins 4 + 31 bytes after "a" does; "a" claims to reach into it.
  CHECK(open_error(make_zip({{.name = "a", .content = "1234", .size = 40, .packed = 40},
                             {.name = "b", .content = "56789"}})) == "w.zip: b: overlaps a");
  CHECK(open_error(
            make_zip({{.name = "a", .content = "1234"},
                      {.name = "b", .content = "1234", .offset = 0, .local_name = "a"}})) ==
        "w.zip: b: has another name in its local header, a");
}

TEST_CASE("of a local header only the name counts, sizes may be missing there") {
  const std::string whole = make_zip({{.name = "a", .content = "1234", .flags = 8}});
  std::string file = whole;
  file.replace(14, 12, std::string(12, '\0'));
  CHECK(zip_content(open(file).at(0)).text() == "1234");
  file = whole;
  file[0] = 'Q';
  CHECK(open_error(file) == "w.zip: a: there is no local header at offset 0");
  CHECK(open_error(make_zip({{.name = "a", .content = "1", .local_name = "b"}})) ==
        "w.zip: a: has another name in its local header, b");
}

TEST_CASE("sizes are held against what deflate can make") {
  CHECK(open_error(make_zip({{.name = "a", .content = "1234", .size = 5}})) ==
        "w.zip: a: is stored in 4 bytes, but its size is 5");
  CHECK(open_error(make_zip(
            {{.name = "a", .content = "1234", .deflate = true, .size = 4000000000u}})) ==
        "w.zip: a: 6 bytes cannot inflate to 4000000000");
}

TEST_CASE("content that is not what the directory says is refused before it is handed out") {
  CHECK(content_error(make_zip({{.name = "a", .content = "1234", .crc = 1}})) ==
        "w.zip: a: is damaged, its checksum (CRC-32) does not match");
  CHECK(
      content_error(make_zip({{.name = "a", .content = "1234", .deflate = true, .crc = 1}})) ==
      "w.zip: a: is damaged, its checksum (CRC-32) does not match");
  CHECK(content_error(
            make_zip({{.name = "a", .content = "1234", .deflate = true, .size = 3}})) ==
        "w.zip: a: inflates to more than the 3 bytes that the directory says");
  CHECK(content_error(
            make_zip({{.name = "a", .content = "1234", .deflate = true, .size = 5}})) ==
        "w.zip: a: its deflated bytes are damaged after 4 of 5 bytes");
  CHECK(content_error(make_zip({{.name = "a", .content = "\xFF\xFF\xFF", .method = 8}})) ==
        "w.zip: a: its deflated bytes are damaged after 0 of 3 bytes");
  const auto entries =
      open(make_zip({{.name = "a", .content = "1234", .deflate = true, .size = 9}}));
  CHECK(error_of([&] { zip_start(entries.at(0), 6); }) ==
        "w.zip: a: its deflated bytes are damaged after 4 of 9 bytes");
}

TEST_CASE("deflated bytes end where the entry ends") {
  const std::string packed = deflated("1234");
  const auto crc =
      static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>("1234"), 4));
  const auto error = [&](const std::string& bytes) {
    return content_error(
        make_zip({{.name = "a", .content = bytes, .method = 8, .crc = crc, .size = 4}}));
  };
  CHECK(error(packed) == "no error");
  CHECK(error(packed + "x") == "w.zip: a: its deflated bytes are damaged after 4 of 4 bytes");
  CHECK(error(packed.substr(0, packed.size() - 1)) ==
        "w.zip: a: its deflated bytes are damaged after 4 of 4 bytes");
}

TEST_CASE("names are shown without their control characters") {
  CHECK(open_error(make_zip({{.name = "a\nb\x1b[31m", .content = "1", .flags = 1}})) ==
        "w.zip: a\\x0Ab\\x1B[31m: is encrypted, which is not supported");
}

TEST_CASE("no byte that is wrong makes the reader crash") {
  const std::string whole =
      make_zip({{.name = "a", .content = "12345678"},
                {.name = "b", .content = repeated('y', 50), .deflate = true}});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char wrong : {'\x00', '\xFF', '\x50'}) {
      std::string file = whole;
      file[i] = wrong;
      error_of([&] {
        for (const ZipEntry& entry : open(file)) zip_content(entry);
      });
    }
  }
  SUCCEED("the sanitizers had nothing to say");
}

TEST_CASE("what we write we read back, and the same tensors give the same bytes") {
  const TempFolder folder;
  const auto write = [&](const std::string& name) {
    WholeFile file(folder / name);
    ZipWriter zip(file);
    const std::string head = "head", tail = repeated('t', 70000);
    zip.add("W_Q.npy", {std::as_bytes(std::span(head)), std::as_bytes(std::span(tail))});
    zip.add("größe/empty.npy", {});
    zip.finish();
    file.commit();
    return read_file(folder / name);
  };
  const std::string file = write("a.npz");
  CHECK(file == write("b.npz"));
  const auto entries = open(file);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "W_Q.npy");
  CHECK(zip_content(entries[0]).text() == "head" + repeated('t', 70000));
  CHECK(entries[1].name == "größe/empty.npy");
  CHECK(zip_content(entries[1]).empty());
}

TEST_CASE("more entries than 16 bits count are written as zip64") {
  const TempFolder folder;
  WholeFile file(folder / "many.zip");
  ZipWriter zip(file);
  for (int i = 0; i < 65600; ++i) zip.add(std::to_string(i), {});
  zip.finish();
  file.commit();
  const auto entries = read_zip(Bytes::open(folder / "many.zip"), "many.zip");
  REQUIRE(entries.size() == 65600);
  CHECK(entries.back().name == "65599");
}
