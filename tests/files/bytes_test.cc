#include "files/bytes.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "catch.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

TEST_CASE("slices keep the bytes alive") {
  Bytes slice;
  {
    const TempFolder folder;
    slice = Bytes::open(folder.write("x", "0123456789")).slice(3, 4);
  }
  CHECK(slice.text() == "3456");
  CHECK(slice.slice(4, 0).empty());
}

TEST_CASE("an empty file is no bytes") {
  const TempFolder folder;
  CHECK(Bytes::open(folder.write("x", "")).empty());
  CHECK(Bytes::open("/dev/null").empty());
}

TEST_CASE("a file that has no size of its own is read to its end") {
  CHECK(Bytes::open("/proc/self/status").text().starts_with("Name:"));
}

TEST_CASE("a FIFO is read to its end, however much comes") {
  const TempFolder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string sent;
  for (int i = 0; i < 700000; ++i) sent += std::to_string(i);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << sent; });
  const Bytes bytes = Bytes::open(path);
  writer.join();
  CHECK((bytes.text() == sent));
}

TEST_CASE("standard input is read, from a file too and from where it stands") {
  const TempFolder folder;
  const std::string path = folder.write("x", "0123456789");
  const int saved = ::dup(STDIN_FILENO);
  REQUIRE(std::freopen(path.c_str(), "rb", stdin) != nullptr);
  CHECK(Bytes::open("-").text() == "0123456789");
  ::lseek(STDIN_FILENO, 4, SEEK_SET);
  CHECK(Bytes::open("-").text() == "456789");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST_CASE("what cannot be opened is a failure of the system, a folder is wrong input") {
  const TempFolder folder;
  CHECK(error_of([&] { Bytes::open(folder / "w.bin"); }) ==
        folder / "w.bin" + ": cannot open: No such file or directory");
  CHECK(fails_with(Fault::system, [&] { Bytes::open(folder / "w.bin"); }));
  CHECK(error_of([&] { Bytes::open(folder.path()); }) ==
        folder.path().string() + ": is a directory, expected a file");
  CHECK(fails_with(Fault::input, [&] { Bytes::open(folder.path()); }));
  if (::geteuid() != 0) {  // root may read everything
    const std::string path = folder.write("secret", "1");
    REQUIRE(::chmod(path.c_str(), 0) == 0);
    CHECK(error_of([&] { Bytes::open(path); }) == path + ": cannot open: Permission denied");
  }
}
