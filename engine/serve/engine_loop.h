// SPDX-License-Identifier: Apache-2.0
// EngineLoop: the implementation of Engine over any Runner. Owns: the engine thread. step() lists the stages of the data
// path.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/api/engine.h"
#include "engine/base/clock.h"
#include "engine/model/classifier.h"
#include "engine/run/runner.h"

namespace lathe::engine {

/// The parts of a loop. Owns: all of them.
struct EngineParts {
  LoadedModel model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;  ///< may be null
  std::unique_ptr<Runner> runner;
  std::optional<Classifier> classifier{};  ///< makes the answers of requests with pooling
  std::unique_ptr<Engine> embedder{};      ///< answers the requests with pooling; null: this engine does
  std::vector<std::int32_t>
      suppressed_ids{};  ///< tokens that are never generated: suppress_tokens of generation_config.json
  std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>();
  /// Called once, after the loop has allocated all that it holds; may be null.
  std::function<std::optional<MeasuredMemory>()> measure;
};

std::unique_ptr<Engine> make_engine_loop(EngineParts parts);

}  // namespace lathe::engine
