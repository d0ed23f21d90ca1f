// SPDX-License-Identifier: Apache-2.0
// EngineLoop: the Engine over any Runner. Owns the engine thread; step() reads as the data path does.
#pragma once

#include <memory>

#include "engine/api/engine.h"
#include "engine/base/clock.h"
#include "engine/run/runner.h"

namespace lathe::engine {

/// What a loop is made of. Everything moves in.
struct EngineParts {
  LoadedModel model;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;  ///< may be null
  std::unique_ptr<Runner> runner;
  std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>();
};

std::unique_ptr<Engine> make_engine_loop(EngineParts parts);

}  // namespace lathe::engine
