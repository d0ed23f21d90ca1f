// SPDX-License-Identifier: Apache-2.0
// StackGuard: a bound on the stack that one compilation or rendering may use, whatever the shape of its nesting.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/text/template/runtime/failure.h"

namespace lathe::engine::jinja {

/// The guard is created where the compilation or rendering starts; the stack grows down from there.
class StackGuard {
 public:
  // Fits a thread with a stack of 512 KiB.
  static constexpr std::ptrdiff_t kMaxBytes = 320 * 1024;

  StackGuard() : base_(here()) {}
  /// Throws Failure if the stack below the guard is used up.
  void check() const {
    if (static_cast<std::ptrdiff_t>(base_ - here()) > kMaxBytes) throw Failure("nested too deeply");
  }

 private:
  [[gnu::always_inline]] static std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  }
  std::uintptr_t base_;
};

}  // namespace lathe::engine::jinja
