// SPDX-License-Identifier: Apache-2.0
// Engine: one loaded model that turns requests into tokens on a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/api/chat.h"
#include "engine/api/checkpoint.h"
#include "engine/api/memory_use.h"
#include "engine/api/options.h"
#include "engine/api/request.h"
#include "engine/api/scheduler_event.h"
#include "engine/api/snapshot.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// What the cache of packed weights (engine/api/packed_cache.h) did for a load.
enum class PackedCacheUse : std::uint8_t {
  none,    ///< nothing was asked of it: nothing is quantized, or it is switched off
  hit,     ///< the weights came from it
  stored,  ///< the weights were quantized, and are kept for the next load
  missed   ///< the weights were quantized and are not kept; a warning says why
};
std::string_view name_of(PackedCacheUse use);  ///< "none", "hit", "stored", "missed"

struct LoadedModel {
  ModelInfo info;
  EngineOptions options;  ///< as asked
  std::string name;       ///< under which it is served
  std::string dtype;      ///< in which it computes: "bfloat16"
  std::string kv_cache_dtype;
  std::int64_t max_model_len = 0;
  std::int64_t n_blocks = 0;
  std::string backend, isa, device;
  int n_threads = 1;
  FitEstimate estimate;                    ///< of this load, before it took anything
  MemoryUse memory;                        ///< sizes of its buffers
  std::optional<MeasuredMemory> measured;  ///< none where the system does not say
  double load_ms = 0;
  PackedCacheUse packed_cache = PackedCacheUse::none;
  SamplingParams default_sampling;  ///< generation_config.json over the defaults
  /// generation_config.json: the longest answer, in tokens, of a chat that asks for no length; none: what the context leaves
  std::optional<std::int64_t> default_max_tokens{};
  /// Formats of chats without and with tools, by the options or by the chat template that such a chat gets.
  AnswerFormats answer_formats{}, answer_formats_with_tools{};

  /// What the matrices run in: as asked, or as the file keeps them. "none": numbers of `dtype`.
  const std::string& running_quantization() const {
    const bool are_kept = options.quantization == "none" && options.dtype == "auto" && !info.kept_quantization().empty();
    return are_kept ? info.kept_quantization() : options.quantization;
  }
};

/// Thread: every function may be called from any thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const LoadedModel& model() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const ChatTemplate* chat_template() const = 0;  ///< null: the checkpoint has none

  /// Checks everything, queues it, and returns at once.
  /// Errors: invalid_argument (with numbers), resource_exhausted (queue full), unavailable (shutting down).
  virtual Result<RequestHandlePtr> submit(GenerateRequest request) = 0;

  /// The newest state; at most 33 ms old while busy, exact when idle.
  virtual std::shared_ptr<const EngineSnapshot> snapshot() const = 0;
  /// Events with sequence >= cursor that are still kept (the last 65,536), oldest first; moves the cursor behind them.
  virtual std::vector<SchedulerEvent> events_since(std::uint64_t& cursor) const = 0;
  /// Takes no new requests; running ones end when done, or as cancelled after `grace`. Idempotent.
  virtual void shut_down(std::chrono::milliseconds grace) = 0;
};

/// In their order; only what smooths calibrates.
enum class LoadPhase : std::uint8_t { reading, calibrating, converting, warming_up };
std::string_view name_of(LoadPhase phase);  ///< "map", "calibrate", "convert", "warm-up"

struct LoadProgress {
  LoadPhase phase = LoadPhase::reading;
  std::int64_t bytes_done = 0, bytes_total = 0;
  double seconds = 0;
};
/// Called on the loading thread after each tensor; false cancels (the load returns ErrorCode::cancelled, memory given back).
using LoadObserver = std::function<bool(const LoadProgress&)>;

/// Errors: model_refused, not_found, invalid_argument, resource_exhausted (does not fit, or too few
/// threads; numbers), cancelled.
Result<std::unique_ptr<Engine>> load_engine(const EngineOptions& options, const LoadObserver& observer = {});

}  // namespace lathe::engine
