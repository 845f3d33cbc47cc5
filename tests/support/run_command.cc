#include "support/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

namespace mha {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTickMs = 5;

void check(int error, const std::string& what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

// An open file, closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close() {
    if (open()) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor reader, writer;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) check(errno, "pipe");
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  const auto name = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool changed = std::ranges::any_of(
        changes, [&](const std::string& change) { return name(change) == name(*entry); });
    if (!changed) result.emplace_back(*entry);
  }
  for (const std::string& change : changes) {
    if (change.find('=') != std::string::npos) result.push_back(change);
  }
  return result;
}

// Starts it as the head of a process group of its own, with the ordinary
// answer to SIGPIPE whatever ours is.
pid_t spawn(const Command& command, const Pipe& in, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (command.input_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, in.reader.get(), STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, command.input_file.c_str(),
                                     O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, out.writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writer.get(), STDERR_FILENO);
  if (!command.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  }

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> args = command.args;
  std::vector<std::string> environment = environment_with(command.environment);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, args.at(0).c_str(), &actions, &attributes,
                                 pointers(args).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  check(error, args[0]);
  return pid;
}

// Moves what is ready: input to the program, its output and errors to us, each
// without waiting for the others. A pipe is closed at its end.
class Streams {
 public:
  Streams(const Command& command, Pipe in, Pipe out, Pipe err)
      : input_(command.input),
        in_(std::move(in.writer)),
        out_(std::move(out.reader)),
        err_(std::move(err.reader)) {
    fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    if (input_.empty()) in_.close();
  }

  bool open() const { return out_.open() || err_.open(); }

  void move(Outcome& outcome) {
    // poll() passes over what is closed: -1.
    std::array<pollfd, 3> ready{
        {{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), kTickMs);
    if (ready[0].revents != 0) write_some();
    if (ready[1].revents != 0) read_some(out_, outcome.out);
    if (ready[2].revents != 0) read_some(err_, outcome.err);
  }

 private:
  void write_some() {
    const ssize_t n = ::write(in_.get(), input_.data() + written_, input_.size() - written_);
    if (n > 0) written_ += static_cast<std::size_t>(n);
    // A program may end without having read it all.
    const bool failed = n < 0 && errno != EAGAIN && errno != EINTR;
    if (failed || written_ == input_.size()) in_.close();
  }

  static void read_some(Descriptor& from, std::string& to) {
    std::array<char, 65536> buffer;
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n > 0) {
      to.append(buffer.data(), static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EINTR) {
      from.close();
    }
  }

  const std::string& input_;
  std::size_t written_ = 0;
  Descriptor in_, out_, err_;
};

}  // namespace

Outcome run_command(const Command& command) { return interrupt_command(command, 0, nullptr); }

Outcome interrupt_command(const Command& command, int signal,
                          const std::function<bool()>& started) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  const pid_t pid = spawn(command, in, out, err);
  // The program's ends stay with the program alone, or we would never see
  // theirs close.
  in.reader.close();
  out.writer.close();
  err.writer.close();
  Streams streams(command, std::move(in), std::move(out), std::move(err));

  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(command.timeout));
  Outcome outcome;
  int wait_status = 0;
  rusage usage{};
  bool ended = false;
  bool sent = !started;
  while (!ended || (streams.open() && !outcome.timed_out)) {
    streams.move(outcome);
    if (!ended) ended = ::wait4(pid, &wait_status, WNOHANG, &usage) == pid;
    if (!ended && !sent && started()) {
      ::kill(pid, signal);
      sent = true;
    }
    if (!outcome.timed_out && Clock::now() > deadline) {
      outcome.timed_out = true;
      ::kill(-pid, SIGKILL);  // children too: they may hold the pipes open
    }
  }
  outcome.peak_memory = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  if (WIFEXITED(wait_status)) outcome.status = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) outcome.signal = WTERMSIG(wait_status);
  return outcome;
}

}  // namespace mha
