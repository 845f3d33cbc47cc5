#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mha {

// A file that appears whole, under its final name, or not at all. Bytes go to
// a temporary name in the same folder; commit() renames it. Without commit()
// the destructor removes it, and so do SIGINT, SIGTERM and SIGHUP once
// remove_temporaries_on_signals() was called. Symbolic links are followed, a
// file's permissions kept. "-" is standard output; a path that exists and is
// no regular file (/dev/null, a FIFO, /dev/fd/63) is written straight into.
class WholeFile {
 public:
  // Throws Error(Fault::system) where the folder is missing or not writable,
  // the path is a directory or the folder's disk has less than `expected` bytes.
  explicit WholeFile(const std::string& path, std::size_t expected = 0);
  ~WholeFile();
  WholeFile(WholeFile&&) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;

  // Both throw Error(Fault::system) "y.npy: cannot write: No space left on
  // device", or ClosedPipe.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // At an offset from the file's start; REQUIRES seekable().
  void write_at(std::size_t offset, std::span<const std::byte> bytes);
  // Whether write_at may be used: false for pipes and terminals.
  bool seekable() const;
  bool is_terminal() const;

  // Flushes and gives the file its name. Throws Error(Fault::system).
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether both would write one file, under whatever spelling or link.
bool same_target(const std::string& a, const std::string& b);

void remove_temporaries_on_signals();

}  // namespace mha
