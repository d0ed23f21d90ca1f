// SPDX-License-Identifier: Apache-2.0
// QualityMeter: measures what quantization costs in quality.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/bench/sweep/result/run_record.h"
#include "engine/api/evaluate.h"

namespace lathe::app {

/// Compares models, loaded as in the sweep, with the same checkpoint unquantized and with an unquantized cache, on a text
/// (as read_text_dataset reads it). Owns: that reference model, kept from one measurement to the next. Thread: one.
class QualityMeter {
 public:
  /// `folder`: cache folder of quantized weights. `parse_special`: the names of special tokens in the text are read as these
  /// tokens.
  QualityMeter(std::string dataset, engine::PackedCacheFolder folder, bool parse_special = false)
      : dataset_(std::move(dataset)), folder_(std::move(folder)), parse_special_(parse_special) {}

  /// Errors: those of the dataset file, of loading either model and of the evaluation; cancelled.
  engine::Result<QualityRecord> measure(const engine::EngineOptions& options, const std::function<bool()>& go_on);
  /// Frees the reference unless an engine with these options fits, with as many KV blocks, while the reference is in memory.
  void make_room_for(const engine::EngineOptions& options);
  bool holds_reference() const { return comparison_ != nullptr; }

 private:
  engine::Result<void> open(const engine::EngineOptions& reference, const std::function<bool()>& go_on);

  const std::string dataset_;
  const engine::PackedCacheFolder folder_;
  const bool parse_special_;
  std::string reference_key_;  ///< options of the loaded reference
  std::unique_ptr<engine::Comparison> comparison_;
};

}  // namespace lathe::app
