#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/memory.h"

namespace mha {

// Read-only bytes, mapped from a file or held in memory. Cheap to copy: copies
// and slices keep the same memory alive.
class Bytes {
 public:
  Bytes() = default;
  // Memory of ours.
  static Bytes own(std::string data);
  // A span that stays valid while `owner` lives.
  static Bytes share(std::shared_ptr<const void> owner, std::span<const std::byte> span) {
    return {std::move(owner), span};
  }
  // `path` names a file, a FIFO or "-" (standard input). A regular file is
  // mapped (and must not be cut short while we hold it), anything else read to
  // its end, as far as memory allows. Throws Error(Fault::system) where it
  // cannot be opened or read, Error for a directory. An empty file is no error.
  static Bytes open(const std::string& path);

  std::size_t size() const { return span_.size(); }
  bool empty() const { return span_.empty(); }
  const std::byte* data() const { return span_.data(); }
  std::span<const std::byte> span() const { return span_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(span_.data()), span_.size()};
  }
  // REQUIRES: offset + length <= size().
  Bytes slice(std::size_t offset, std::size_t length) const;

 private:
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> span)
      : owner_(std::move(owner)), span_(span) {}
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> span_;
};

}  // namespace mha
