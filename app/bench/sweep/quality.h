// SPDX-License-Identifier: Apache-2.0
// QualityMeter: what the numbers of a model cost in quality.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/bench/sweep/run_record.h"
#include "engine/api/evaluate.h"

namespace lathe::app {

/// Compares models, as they would be loaded, with the same checkpoint unquantized and with an unquantized cache, on a text
/// (as read_text_dataset reads it). Owns: that reference, which stays from one measurement to the next. Thread: one.
class QualityMeter {
 public:
  /// `folder`: where quantized weights are kept. `parse_special`: marks of special tokens in the text are these tokens.
  QualityMeter(std::string dataset, engine::PackedCacheFolder folder, bool parse_special = false)
      : dataset_(std::move(dataset)), folder_(std::move(folder)), parse_special_(parse_special) {}

  /// Errors: those of the file, of either load and of the evaluation; cancelled.
  engine::Result<QualityRecord> measure(const engine::EngineOptions& options, const std::function<bool()>& go_on);
  /// Gives the reference back unless an engine with these options gets as much memory beside it as without it.
  void make_room_for(const engine::EngineOptions& options);
  bool holds_reference() const { return comparison_ != nullptr; }

 private:
  engine::Result<void> open(const engine::EngineOptions& reference, const std::function<bool()>& go_on);

  const std::string dataset_;
  const engine::PackedCacheFolder folder_;
  const bool parse_special_;
  std::string reference_key_;  ///< of what is held
  std::unique_ptr<engine::Comparison> comparison_;
};

}  // namespace lathe::app
