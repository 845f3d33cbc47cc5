#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

namespace mha {

// A terminal without a screen: what is opened under its path is one.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 80)
      : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    const winsize size{24, columns, 0, 0};
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0 ||
        ::ioctl(master_, TIOCSWINSZ, &size) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pseudo terminal");
    }
  }
  Terminal(const Terminal&) = delete;
  ~Terminal() { ::close(master_); }

  std::string path() const { return ::ptsname(master_); }
  // What was written to it since, 4 kB at most.
  std::string text() const {
    std::string text(4096, '\0');
    const ssize_t count = ::read(master_, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }

 private:
  int master_;
};

}  // namespace mha
