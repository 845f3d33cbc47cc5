#include "files/whole_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "base/error.h"
#include "catch.h"
#include "support/error_of.h"
#include "support/temp_folder.h"

using namespace mha;

namespace {

std::size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator entries(folder.path());
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}
mode_t permissions(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}
// Runs in a process of its own; returns how that ended (see waitpid).
int in_child(const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("a file appears whole, at commit and not before") {
  const TempFolder folder;
  WholeFile file(folder / "y.npy");
  file.write("12");
  file.write(std::string(200000, 'x'));
  file.write("34");
  CHECK_FALSE(std::filesystem::exists(folder / "y.npy"));
  file.commit();
  CHECK(read_file(folder / "y.npy") == "12" + std::string(200000, 'x') + "34");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("without commit the old file stays and nothing else") {
  const TempFolder folder;
  folder.write("y.npy", "old");
  {
    WholeFile file(folder / "y.npy");
    file.write("new");
  }
  CHECK(read_file(folder / "y.npy") == "old");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("blocks may be written in any order behind a header") {
  const TempFolder folder;
  WholeFile file(folder / "maps.npy");
  REQUIRE(file.seekable());
  file.write("head");
  file.write_at(8, as_bytes("last"));
  file.write_at(4, as_bytes("next"));
  file.commit();
  CHECK(read_file(folder / "maps.npy") == "headnextlast");
}

TEST_CASE("a file that is moved is still written once") {
  const TempFolder folder;
  WholeFile first(folder / "y");
  first.write("1");
  WholeFile second(std::move(first));
  second.write("2");
  second.commit();
  CHECK(read_file(folder / "y") == "12");
}

TEST_CASE("symbolic links are followed, whether they lead to a file or not") {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "sub");
  folder.write("real", "old");
  std::filesystem::create_symlink("../real", folder / "sub/link");
  std::filesystem::create_symlink("sub/link", folder / "link");
  std::filesystem::create_symlink("fresh", folder / "dangling");
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const char* name : {"link", "dangling"}) {
    WholeFile file(folder / name);
    file.write("new");
    file.commit();
    CHECK(std::filesystem::is_symlink(folder / name));
  }
  CHECK(read_file(folder / "real") == "new");
  CHECK(read_file(folder / "fresh") == "new");
  CHECK(error_of([&] { WholeFile(folder / "loop"); }) ==
        folder / "loop" + ": cannot open for writing: Too many levels of symbolic links");
}

TEST_CASE("permissions are kept, and a new file has those of the umask") {
  const TempFolder folder;
  const std::string path = folder.write("y", "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const mode_t before = ::umask(027);
  for (const char* name : {"y", "z"}) {
    WholeFile file(folder / name);
    file.commit();
  }
  ::umask(before);
  CHECK(permissions(path) == 0640);
  CHECK(permissions(folder / "z") == 0640);
}

TEST_CASE("what is no regular file is written straight into") {
  const TempFolder folder;
  WholeFile nowhere("/dev/null");
  nowhere.write(std::string(100000, 'x'));
  nowhere.write_at(5, as_bytes("x"));
  nowhere.commit();

  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  WholeFile file(fifo);
  CHECK_FALSE(file.seekable());
  file.write("through");
  file.commit();
  char text[16] = {};
  CHECK(::read(reader, text, sizeof text) == 7);
  CHECK(std::string(text) == "through");
  ::close(reader);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a descriptor is written from where it stands") {
  const TempFolder folder;
  const int fd = ::open((folder / "y").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::write(fd, "ab", 2) == 2);
  {
    WholeFile file("/dev/fd/" + std::to_string(fd));
    REQUIRE(file.seekable());
    file.write("cd");
    file.write_at(2, as_bytes("ef"));
    file.commit();
  }
  REQUIRE(::write(fd, "g", 1) == 1);
  ::close(fd);
  CHECK(read_file(folder / "y") == "abcdefg");
}

TEST_CASE("a reader that is gone is no error but an end") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  WholeFile file("/dev/fd/" + std::to_string(ends[1]));
  CHECK_THROWS_AS(file.write(std::string(100000, 'x')), ClosedPipe);
  file.write("small");
  CHECK_THROWS_AS(file.commit(), ClosedPipe);
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
}

TEST_CASE("a disk that is full is a failure of the system") {
  WholeFile file("/dev/full");
  CHECK(error_of([&] { file.write(std::string(100000, 'x')); }) ==
        "/dev/full: cannot write: No space left on device");
  file.write("small");
  CHECK(error_of([&] { file.commit(); }) ==
        "/dev/full: cannot write: No space left on device");
  CHECK(fails_with(Fault::system, [&] { file.commit(); }));
}

TEST_CASE("a file that cannot be written says so before anything is computed") {
  const TempFolder folder;
  const std::string missing = folder / "no/y.npy";
  CHECK(error_of([&] { WholeFile{missing}; }) ==
        missing + ": cannot open for writing: No such file or directory");
  CHECK(fails_with(Fault::system, [&] { WholeFile{missing}; }));
  CHECK(error_of([&] { WholeFile(folder.path().string()); }) ==
        folder.path().string() + ": cannot open for writing: Is a directory");
  CHECK(error_of([&] { WholeFile(""); }) ==
        "'': cannot open for writing: No such file or directory");
  CHECK(error_of([&] {
          WholeFile(folder / "y", std::size_t{1} << 60);
        }).starts_with(folder / "y" + ": needs 1.2 EB, its disk has "));
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a signal removes what is half written and then has its way") {
  const TempFolder folder;
  const int number = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const int status = in_child([&] {
    std::signal(number, SIG_DFL);
    remove_temporaries_on_signals();
    WholeFile one(folder / "y"), two(folder / "maps");
    one.write(std::string(100000, 'x'));
    two.write(std::string(100000, 'x'));
    ::raise(number);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == number);
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a file that has its name is no temporary file any more") {
  const TempFolder folder;
  // More than can be temporary at once.
  for (int i = 0; i < 100; ++i) {
    WholeFile file(folder / std::to_string(i));
    file.commit();
  }
  CHECK(files_in(folder) == 100);
}

TEST_CASE("a signal that was ignored stays ignored") {
  const TempFolder folder;
  const int status = in_child([&] {
    std::signal(SIGHUP, SIG_IGN);
    remove_temporaries_on_signals();
    WholeFile file(folder / "y");
    ::raise(SIGHUP);
    file.commit();
  });
  CHECK(WIFEXITED(status));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a limit on file size is an error, and nothing is left") {
  const TempFolder folder;
  const int status = in_child([&] {
    const rlimit limit{10000, 10000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    remove_temporaries_on_signals();
    WholeFile file(folder / "y");
    const std::string error = error_of([&] { file.write(std::string(100000, 'x')); });
    if (error != folder / "y" + ": cannot write: File too large") ::_exit(1);
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("two spellings of one file are known as one, whether it is there or not") {
  const TempFolder folder;
  std::filesystem::create_symlink("y.npy", folder / "link.npy");
  for (const bool exists : {false, true}) {
    if (exists) folder.write("y.npy", "old");
    CHECK(same_target(folder / "y.npy", folder / "./y.npy"));
    CHECK(same_target(folder / "y.npy", folder / "link.npy"));
    CHECK_FALSE(same_target(folder / "y.npy", folder / "maps.npy"));
  }
  CHECK(same_target("gone.npy", "./gone.npy"));
  CHECK(same_target("-", "/dev/stdout"));
  CHECK(same_target("/dev/fd/1", "-"));
  CHECK_FALSE(same_target("-", folder / "y.npy"));
  CHECK_FALSE(same_target(folder / "y.npy", "/dev/stdout"));
}
