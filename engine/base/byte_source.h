// SPDX-License-Identifier: Apache-2.0
// ByteSource: bytes of a checkpoint's tensors at addresses that stay: those of a mapped file, or values that are made when a
// tensor is read.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lathe::engine {

/// Thread: any. A `part` is inside bytes().
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  virtual const std::string& name() const = 0;  ///< for messages
  virtual std::span<const std::byte> bytes() const = 0;
  /// Makes `part` readable until drop(). False: its bytes are gone, and reading them would end the process.
  virtual bool prepare(std::span<const std::byte> part) const = 0;
  /// Requests `part` ahead of its use.
  virtual void will_need(std::span<const std::byte> part) const = 0;
  /// Returns the whole pages inside `part` to the system; prepare() brings them back.
  virtual void drop(std::span<const std::byte> part) const = 0;
  /// Identifies the state of the bytes; changes if they may have changed.
  virtual std::string stamp() const = 0;
};

}  // namespace lathe::engine
