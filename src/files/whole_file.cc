#include "files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "files/names.h"

namespace mha {
namespace {

constexpr std::size_t kBufferSize = std::size_t{64} << 10;

// The temporary files there are, for the signal handler: it may run at any
// moment and on any thread, so these are atomics and plain C strings. A run
// has a handful of outputs.
std::array<std::atomic<const char*>, 64> temporaries;
static_assert(std::atomic<const char*>::is_always_lock_free);

bool remember(const char* name) {
  for (auto& slot : temporaries) {
    const char* empty = nullptr;
    if (slot.compare_exchange_strong(empty, name)) return true;
  }
  return false;
}

void forget(const char* name) {
  for (auto& slot : temporaries) {
    const char* expected = name;
    if (slot.compare_exchange_strong(expected, nullptr)) return;
  }
}

extern "C" void remove_and_die(int signal_number) {
  for (auto& slot : temporaries) {
    const char* name = slot.load();
    if (name != nullptr) ::unlink(name);
  }
  // SA_RESETHAND brought the default action back, SA_NODEFER lets it happen.
  ::raise(signal_number);
}

Error failure(const std::string& path, const std::string& what, int error) {
  return Error(path + ": cannot " + what + ": " + std::strerror(error), Fault::system);
}

// "-", /dev/stdout and /dev/fd/N are descriptors that somebody opened for us;
// to open them again by name would lose where they stand.
std::optional<int> descriptor_of(const std::string& path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  constexpr std::string_view kFolder = "/dev/fd/";
  if (!path.starts_with(kFolder)) return std::nullopt;
  int fd = 0;
  const char* last = path.data() + path.size();
  const auto [end, error] = std::from_chars(path.data() + kFolder.size(), last, fd);
  return error == std::errc() && end == last ? std::optional(fd) : std::nullopt;
}

// Where a chain of symbolic links ends, whether there is a file or not.
std::filesystem::path follow_links(std::filesystem::path path, const std::string& shown) {
  std::error_code ignored;
  for (int hops = 0; std::filesystem::is_symlink(path, ignored); ++hops) {
    if (hops == 40) throw failure(shown, "open for writing", ELOOP);
    path = path.parent_path() / std::filesystem::read_symlink(path, ignored);
  }
  return path;
}

}  // namespace

struct WholeFile::State {
  std::string shown;      // begins messages
  std::string target;     // where the file will stand; "" where it is written straight into
  std::string temporary;  // where it stands until then
  int fd = -1;
  bool seekable = false;
  std::size_t base = 0;  // of a standard output that stands somewhere in a file
  std::string buffer;

  ~State() {
    if (fd >= 0) ::close(fd);
    if (!temporary.empty()) {
      ::unlink(temporary.c_str());
      forget(temporary.c_str());
    }
  }

  void open_straight(const std::string& path, std::optional<int> descriptor);
  void open_temporary(const std::string& path, const struct stat* existing,
                      std::size_t expected);
  void put(const std::byte* from, std::size_t size, std::optional<std::size_t> offset);
  void flush();
};

void WholeFile::State::open_straight(const std::string& path, std::optional<int> descriptor) {
  fd = descriptor ? ::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0)
                  : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) throw failure(shown, "open for writing", errno);
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  const bool appends = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
  seekable = position >= 0 && !appends;
  if (seekable) base = static_cast<std::size_t>(position);
}

void WholeFile::State::open_temporary(const std::string& path, const struct stat* existing,
                                      std::size_t expected) {
  const std::filesystem::path end = follow_links(path, shown);
  const std::filesystem::path folder = end.has_parent_path() ? end.parent_path() : ".";
  if (existing != nullptr && ::access(end.c_str(), W_OK) != 0) {
    throw failure(shown, "open for writing", errno);
  }
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) throw failure(shown, "open for writing", errno);
  const auto left = checked_multiply(disk.f_bavail, disk.f_frsize);
  if (left && *left < expected) {
    throw Error(shown + ": needs " + format_bytes(expected) + ", its disk has " +
                    format_bytes(*left) + " left",
                Fault::system);
  }
  static std::atomic<unsigned> counter{0};
  timespec now{};
  do {
    ::clock_gettime(CLOCK_REALTIME, &now);
    temporary =
        (folder / (".mha-" + std::to_string(::getpid()) + "-" + std::to_string(now.tv_nsec) +
                   "-" + std::to_string(counter++) + ".part"))
            .string();
    // Known to the signal handler before it exists.
    if (!remember(temporary.c_str())) {
      temporary.clear();
      throw Error(shown + ": cannot open for writing: too many output files at once",
                  Fault::system);
    }
    fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) break;
    const int error = errno;
    forget(temporary.c_str());
    temporary.clear();
    if (error != EEXIST) throw failure(shown, "open for writing", error);
  } while (true);
  if (existing != nullptr) {
    // The owner first: to change it clears set-user-id bits. Only root may.
    if (::fchown(fd, existing->st_uid, existing->st_gid) != 0) errno = 0;
    if (::fchmod(fd, existing->st_mode & 07777) != 0) throw failure(shown, "write", errno);
  }
  target = end.string();
  seekable = true;
}

void WholeFile::State::put(const std::byte* from, std::size_t size,
                           std::optional<std::size_t> offset) {
  while (size > 0) {
    const ssize_t count = offset ? ::pwrite(fd, from, size, static_cast<off_t>(*offset))
                                 : ::write(fd, from, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE) throw ClosedPipe();
    if (count < 0) throw failure(shown, "write", errno);
    from += count;
    size -= static_cast<std::size_t>(count);
    if (offset) *offset += static_cast<std::size_t>(count);
  }
}

void WholeFile::State::flush() {
  put(reinterpret_cast<const std::byte*>(buffer.data()), buffer.size(), std::nullopt);
  buffer.clear();
}

WholeFile::WholeFile(const std::string& path, std::size_t expected)
    : state_(std::make_unique<State>()) {
  state_->shown = path == "-" ? "standard output" : printable(path);
  if (path.empty()) throw failure("''", "open for writing", ENOENT);
  const std::optional<int> descriptor = descriptor_of(path);
  struct stat status {};
  const bool exists = !descriptor && ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw failure(state_->shown, "open for writing", EISDIR);
  if (descriptor || (exists && !S_ISREG(status.st_mode))) {
    state_->open_straight(path, descriptor);
  } else {
    state_->open_temporary(path, exists ? &status : nullptr, expected);
  }
}

WholeFile::~WholeFile() = default;
WholeFile::WholeFile(WholeFile&&) noexcept = default;

void WholeFile::write(std::span<const std::byte> bytes) {
  State& s = *state_;
  if (s.buffer.size() + bytes.size() > kBufferSize) s.flush();
  if (bytes.size() >= kBufferSize) {
    s.put(bytes.data(), bytes.size(), std::nullopt);
  } else {
    s.buffer.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
}

void WholeFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void WholeFile::write_at(std::size_t offset, std::span<const std::byte> bytes) {
  assert(seekable());
  state_->put(bytes.data(), bytes.size(), state_->base + offset);
}

bool WholeFile::seekable() const { return state_->seekable; }

bool WholeFile::is_terminal() const { return ::isatty(state_->fd) != 0; }

void WholeFile::commit() {
  State& s = *state_;
  s.flush();
  if (s.target.empty()) {
    // What write_at put behind the position counts as written.
    if (s.seekable) ::lseek(s.fd, 0, SEEK_END);
    return;
  }
  if (::close(std::exchange(s.fd, -1)) != 0) throw failure(s.shown, "write", errno);
  if (::rename(s.temporary.c_str(), s.target.c_str()) != 0) {
    throw failure(s.shown, "write", errno);
  }
  forget(s.temporary.c_str());
  s.temporary.clear();
}

bool same_target(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto fd = descriptor_of(a);
  if (fd || descriptor_of(b)) return fd == descriptor_of(b);
  std::error_code unknown;
  const auto end_of = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(
        std::filesystem::absolute(follow_links(path, printable(path)), unknown), unknown);
  };
  return end_of(a) == end_of(b) && !unknown;
}

void remove_temporaries_on_signals() {
  struct sigaction action {};
  action.sa_handler = remove_and_die;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);  // nohup
  }
  // A file beyond `ulimit -f` becomes a write that fails, which we report.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace mha
