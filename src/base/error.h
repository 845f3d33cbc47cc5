#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace mha {

// Whose failure it is; the apps turn it into the exit status.
enum class Fault {
  input,   // the command line or the data is wrong: exit 2
  system,  // a file cannot be opened or written, disk, memory: exit 3
};

// The one exception of the library. Its text is one complete line that names
// the place first: "w.bin: W_K is [4, 3], expected [4, 2] (d_head of W_Q)".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, Fault fault = Fault::input)
      : std::runtime_error(text), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

// The reader of our output is gone (EPIPE): not a failure, the program ends
// quietly.
class ClosedPipe : public std::exception {};

}  // namespace mha
