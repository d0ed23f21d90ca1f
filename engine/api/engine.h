// SPDX-License-Identifier: Apache-2.0
// Engine: one loaded model that generates tokens for requests on its own thread.
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

/// Use of the packed weight cache (engine/api/packed_cache.h) by a load.
enum class PackedCacheUse : std::uint8_t {
  none,    ///< the cache was not used: nothing is quantized, or it is switched off
  hit,     ///< the weights were read from the cache
  stored,  ///< the weights were quantized, and stored for the next load
  missed   ///< the weights were quantized and not stored; a warning says why
};
std::string_view name_of(PackedCacheUse use);  ///< "none", "hit", "stored", "missed"

struct LoadedModel {
  ModelInfo info;
  EngineOptions options;  ///< options of the load
  std::string name;       ///< served model name
  std::string dtype;      ///< compute dtype: "bfloat16"
  std::string kv_cache_dtype;
  std::int64_t max_model_len = 0;
  std::int64_t n_blocks = 0;
  std::string backend, isa, device;
  int n_threads = 1;
  FitEstimate estimate;                    ///< estimate of this load, made before it allocated memory
  MemoryUse memory;                        ///< sizes of the buffers
  std::optional<MeasuredMemory> measured;  ///< none: the system reports no memory use
  std::optional<DeviceDivision> division;  ///< none: the KV cache was not sized by gpu_memory_utilization
  std::string chat_template_error{};  ///< why the checkpoint's chat template is not used; empty: it is, or there is none
  double load_ms = 0;
  PackedCacheUse packed_cache = PackedCacheUse::none;
  SamplingParams default_sampling;  ///< defaults, overridden by generation_config.json
  /// Most tokens of an answer if a chat request sets no limit, from generation_config.json; none: the rest of the context.
  std::optional<std::int64_t> default_max_tokens{};
  /// Answer formats of chats without and with tools, from the options or from the chat template of such a chat.
  AnswerFormats answer_formats{}, answer_formats_with_tools{};
  /// Markers of these formats that are tokens of the model.
  std::vector<AnswerMarker> answer_markers{}, answer_markers_with_tools{};
  bool generates = true;              ///< false: an encoder, which gives vectors and no text
  std::optional<LabelInfo> labels{};  ///< of a model with a classifier, which gives labels and no vectors
  std::optional<VectorInfo>
      vectors{};  ///< none: the model's folder asks for a pooling that a generating model does not have

  /// Weight format of the matrices: as the options ask, or as stored in the files. "none": weights of `dtype`.
  const std::string& running_quantization() const {
    const bool are_kept = options.quantization == "none" && options.dtype == "auto" && !info.kept_quantization().empty();
    return are_kept ? info.kept_quantization() : options.quantization;
  }
  /// Why the model cannot chat. Requires: Engine::chat_template() is null.
  std::string no_chat_text() const {
    if (chat_template_error.empty()) return "this model has no chat template";
    return "this model's chat template cannot be used: " + chat_template_error;
  }
};

/// A watch on KV blocks (Engine::watch_blocks); null watches nothing. Thread: any thread may release it, and it may outlive
/// its engine.
using BlockWatch = std::shared_ptr<const void>;

/// Thread: every function may be called from any thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const LoadedModel& model() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const ChatTemplate* chat_template() const = 0;  ///< null: LoadedModel::no_chat_text() says why
  /// The engine that answers requests with pooling: that of options.embedding_model, or this one.
  virtual Engine& embedder() { return *this; }

  /// Checks the request, queues it, and returns at once.
  /// Errors: invalid_argument (with the values), resource_exhausted (queue full), unavailable (shutting down, or failure()),
  /// unsupported (a text of a model without a head, or a vector of a model without vectors).
  virtual Result<RequestHandlePtr> submit(GenerateRequest request) = 0;

  /// The newest state; at most 33 ms old while busy, exact when idle. Without EngineSnapshot::blocks unless they are
  /// watched.
  virtual std::shared_ptr<const EngineSnapshot> snapshot() const = 0;
  /// Puts EngineSnapshot::blocks into snapshots until the last watch is released: after at most one step, or at once when
  /// the engine is idle. Without a watch no step copies the state of blocks, of which there may be many thousands.
  virtual BlockWatch watch_blocks() = 0;
  /// Events with sequence >= cursor that are still kept (the last 65,536), oldest first; moves the cursor past them.
  virtual std::vector<SchedulerEvent> events_since(std::uint64_t& cursor) const = 0;
  /// Reason why the engine answers no more: its device is lost. All requests have ended with this error, and only another
  /// load in a new process helps. none: the engine serves.
  virtual std::optional<Error> failure() const = 0;
  /// Stops accepting requests; running requests finish, or are cancelled after `grace`. Idempotent.
  virtual void shut_down(std::chrono::milliseconds grace) = 0;
};

/// Phases of a load, in their order; only smoothquant has `calibrating`.
enum class LoadPhase : std::uint8_t { reading, calibrating, converting, warming_up };
std::string_view name_of(LoadPhase phase);  ///< "map", "calibrate", "convert", "warm-up"

struct LoadProgress {
  LoadPhase phase = LoadPhase::reading;
  std::int64_t bytes_done = 0, bytes_total = 0;
  double seconds = 0;
};
/// Called on the loading thread after each tensor; false cancels the load, which frees its memory and returns `cancelled`.
using LoadObserver = std::function<bool(const LoadProgress&)>;

/// Loads a model; an encoder too, which gives vectors alone. options.embedding_model is loaded first. Errors: model_refused,
/// not_found, invalid_argument, resource_exhausted (it does not fit, or there are too few threads; with the numbers),
/// cancelled.
Result<std::unique_ptr<Engine>> load_engine(const EngineOptions& options, const LoadObserver& observer = {});

}  // namespace lathe::engine
