// SPDX-License-Identifier: Apache-2.0
// What `loop` is inside a loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// One run over some items. Lives as long as the run.
class LoopRun {
 public:
  /// `again` is what loop(items) does; null where the loop is not recursive.
  LoopRun(const Items& items, int depth0, FunctionPtr again) : items_(items), depth0_(depth0), again_(std::move(again)) {}
  /// `loop` in the turn of items[i].
  Value turn(std::size_t i);

 private:
  const Items& items_;
  int depth0_;
  FunctionPtr again_;
  /// What loop.changed() was given last. Held here and not by its function: it may be the loop itself.
  std::shared_ptr<std::optional<Items>> last_ = std::make_shared<std::optional<Items>>();
};

}  // namespace lathe::engine::jinja
