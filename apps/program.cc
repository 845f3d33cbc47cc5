#include "program.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/error.h"
#include "files/names.h"
#include "log.h"

namespace mha {
namespace {

// The number of a standard descriptor that is closed would go to the next file
// we open, and results to -, or a message, into that file. Opened the wrong way
// round, it stays as unusable as it was.
void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    if (::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) std::abort();
  }
}

}  // namespace

int run_program(const std::string& tool, const std::function<int()>& work) {
  occupy_standard_descriptors();
  start_log(tool, Loudness::normal);
  // A closed pipe is an error of write(), so that temporary files go away.
  std::signal(SIGPIPE, SIG_IGN);
  remove_temporaries_on_signals();
  constexpr int kClosedPipe = 128 + SIGPIPE;  // as if the signal had ended us
  try {
    return work();
  } catch (const ClosedPipe&) {
    return kClosedPipe;
  } catch (const Error& error) {
    log_error(error.what());
    if (error.fault() != Fault::system) return 2;
    // At exit OpenBLAS waits for its threads; one that found no memory never ends.
    std::quick_exit(3);
  } catch (const std::bad_alloc&) {
    log_error("out of memory");
    return 3;
  } catch (const std::exception& error) {
    log_error(error.what());
    return 3;
  }
}

void print(const std::string& text) {
  WholeFile out("-");
  out.write(text);
  out.commit();
}

void require_no_terminal(const WholeFile& file, const std::string& path,
                         const std::string& what, const std::string& remedy) {
  if (!file.is_terminal()) return;
  throw Error((path == "-" ? "standard output" : printable(path)) + ": is a terminal and " +
              what + " is binary; redirect it" + remedy);
}

}  // namespace mha
