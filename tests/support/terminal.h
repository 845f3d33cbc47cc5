#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace mha {

// A terminal without a screen: what is opened under its path is one.
class Terminal {
 public:
  Terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pseudo terminal");
    }
  }
  Terminal(const Terminal&) = delete;
  ~Terminal() { ::close(master_); }

  std::string path() const { return ::ptsname(master_); }

 private:
  int master_;
};

}  // namespace mha
