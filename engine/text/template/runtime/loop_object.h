// SPDX-License-Identifier: Apache-2.0
// LoopRun: makes the object `loop` inside a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// One run over some items. It lives as long as the run.
class LoopRun {
 public:
  /// `again` implements loop(items); null if the loop is not recursive.
  LoopRun(const Items& items, int depth0, FunctionPtr again) : items_(items), depth0_(depth0), again_(std::move(again)) {}
  /// Returns `loop` for the iteration over items[i].
  Value turn(std::size_t i);

 private:
  const Items& items_;
  int depth0_;
  FunctionPtr again_;
  /// Arguments of the last loop.changed(). They are held here and not by the function, because they may contain the loop
  /// itself.
  std::shared_ptr<std::optional<Items>> last_ = std::make_shared<std::optional<Items>>();
};

}  // namespace lathe::engine::jinja
