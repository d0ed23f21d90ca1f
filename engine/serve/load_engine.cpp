// SPDX-License-Identifier: Apache-2.0
// Loads an engine from options: open, plan, allocate, read, warm up.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <new>
#include <set>
#include <system_error>

#include "engine/api/check_load.h"
#include "engine/api/packed_cache.h"
#include "engine/api/printable.h"
#include "engine/api/text_template.h"
#include "engine/base/resident_memory.h"
#include "engine/schedule/batch_builder.h"
#include "engine/serve/engine_loop.h"
#include "engine/serve/label_config.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/pooling_config.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

namespace {

using SteadyTime = std::chrono::steady_clock;

// Enough rows to run every kernel variant once; a whole step would only take longer.
constexpr int kWarmUpRows = 16;

/// Texts that a step of an encoder may join.
constexpr std::int64_t kTextsOfStep = 64;

/// Sets options for a model without a head: steps of whole texts, and a KV cache for the texts of one step. Only the last
/// state of a causal model may be computed in parts, after a prefix that is cached.
EngineOptions fit_to_vectors(EngineOptions options, const ModelConfig& config, const PoolingConfig& pooling) {
  const std::int64_t longest = config.max_position_embeddings;
  if (options.max_model_len == 0)
    options.max_model_len = pooling.max_tokens > 0 ? std::min(pooling.max_tokens, longest) : longest;
  const bool in_parts = config.is_causal && pooling.pooling == Pooling::last;
  options.policy = "paged";
  options.enable_chunked_prefill = in_parts;
  options.enable_prefix_caching = options.enable_prefix_caching && in_parts;
  options.max_num_batched_tokens = batched_tokens(options);
  if (!in_parts) options.max_num_batched_tokens = std::max(options.max_num_batched_tokens, options.max_model_len);
  options.max_num_seqs = std::min(std::max(options.max_num_seqs, kTextsOfStep), options.max_num_batched_tokens);
  if (options.num_gpu_blocks_override == 0 && options.kv_cache_memory_bytes == 0) {
    const std::int64_t n_tokens = std::max(options.max_num_batched_tokens, options.max_model_len);
    // Each text may leave a block unfilled, and the scheduler keeps one block for each running text.
    options.num_gpu_blocks_override = (n_tokens + options.block_size - 1) / options.block_size + 2 * options.max_num_seqs;
  }
  return options;
}

/// Merges end-of-sequence ids, sorted and unique. The tokenizer may come from another folder than the configuration.
void add_eos_ids(const std::vector<std::int32_t>& more, ModelInfo& info) {
  std::set<std::int32_t> ids(info.eos_ids.begin(), info.eos_ids.end());
  ids.insert(more.begin(), more.end());
  info.eos_ids.assign(ids.begin(), ids.end());
}

/// State of one load. Its members own everything made so far, so that a failure at any stage frees all of it.
class EngineLoad {
 public:
  EngineLoad(EngineOptions options, const LoadObserver& observer, const PackedCacheFolder& folder, ModelUse use)
      : options_(std::move(options)), observer_(observer), folder_(folder), use_(use) {}

  Result<std::unique_ptr<Engine>> run() {
    LATHE_TRY_VOID(validate(options_));
    LATHE_TRY_VOID(load_embedder());
    ::malloc_trim(0);  // else memory that the allocator kept of an earlier model would be reused unmeasured
    memory_before_ = anonymous_bytes();
    LATHE_TRY(OpenedModel model, open_files());
    const std::int64_t bytes_total = bytes_to_read(model, options_);
    LATHE_TRY_VOID(report(LoadPhase::reading, 0, bytes_total));
    LATHE_TRY_VOID(open_texts(model));
    const auto observe = [&](LoadPhase phase, std::int64_t bytes_done) {
      return report(phase, bytes_done, bytes_total).has_value();
    };
    LATHE_TRY(LoadedRunner loaded, load_runner(model, parts_.tokenizer.get(), options_, observe, folder_));
    loaded.runner->set_pooling(pooling_);
    LATHE_TRY_VOID(report(LoadPhase::warming_up, bytes_total, bytes_total));
    LATHE_TRY_VOID(warm_up(*loaded.runner));
    parts_.measure = [&runner = *loaded.runner, before = memory_before_] { return measure(runner, before); };
    describe(std::move(model), loaded);
    parts_.runner = std::move(loaded.runner);
    return make_engine_loop(std::move(parts_));
  }

  /// Does what run() does before it allocates. Two models are checked each by itself, as if the other took no memory.
  Result<void> check(std::int64_t returned_bytes) {
    LATHE_TRY_VOID(validate(options_));
    if (!options_.embedding_model.empty())
      LATHE_TRY_VOID(EngineLoad(embedder_options(), observer_, folder_, ModelUse::embed).check(returned_bytes));
    LATHE_TRY(const OpenedModel model, open_files());
    LATHE_TRY_VOID(open_texts(model));
    return check_runner(model, options_, returned_bytes);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(SteadyTime::now() - start_).count(); }

  Result<void> report(LoadPhase phase, std::int64_t bytes_done, std::int64_t bytes_total) const {
    if (observer_ && !observer_({phase, bytes_done, bytes_total, seconds()})) {
      return fail(ErrorCode::cancelled, "loading was cancelled");
    }
    return {};
  }

  Result<OpenedModel> open_files() {
    LATHE_TRY(OpenedModel model, open_model(options_.model, use_, options_.hf_overrides));
    LATHE_TRY_VOID(model.config.has_classifier ? choose_labels(model) : choose_vectors(model));
    return model;
  }

  Result<void> open_texts(const OpenedModel& model) {
    if (!parts_.tokenizer) {
      LATHE_TRY(parts_.tokenizer, open_model_tokenizer(model));
    }
    LATHE_TRY(parts_.chat_template, open_chat_template(model));
    return {};
  }

  EngineOptions embedder_options() const {
    EngineOptions options;
    options.model = options_.embedding_model;
    options.dtype = options_.dtype;
    options.device = options_.device;
    options.isa = options_.isa;
    options.threads = options_.threads;
    options.max_queue = options_.max_queue;
    options.check_fit = options_.check_fit;
    return options;
  }

  /// Loads the model of the vectors. It comes first, so that the plan of the other one knows what memory is left.
  Result<void> load_embedder() {
    if (options_.embedding_model.empty()) return {};
    LATHE_TRY(parts_.embedder, EngineLoad(embedder_options(), observer_, folder_, ModelUse::embed).run());
    return {};
  }

  /// Reads the classifier, whose input is the first state of an encoder and the last one of a causal model.
  Result<void> choose_labels(const OpenedModel& model) {
    LATHE_TRY(parts_.classifier, model.config.classifier_tokens.empty()
                                     ? Classifier::read(model.checkpoint, model.config.hidden_size)
                                     : token_classifier(model));
    LATHE_TRY(LabelInfo labels, read_label_config(model.folder, model.chat_templates, parts_.classifier->n_labels()));
    if (labels.prompt && labels.labels.size() == 2) {  // Qwen3-Reranker's "yes" and "no"
      parts_.classifier->judge_by_difference();
      labels.labels.resize(1);
      labels.activation = LabelActivation::sigmoid;
    }
    parts_.model.labels = std::move(labels);
    pooling_ = model.config.is_causal ? Pooling::last : Pooling::cls;
    options_ = fit_to_vectors(std::move(options_), model.config, {.pooling = pooling_});
    return validate(options_);
  }

  /// Makes the classifier of the rows that the output head has for some tokens.
  Result<Classifier> token_classifier(const OpenedModel& model) {
    LATHE_TRY(parts_.tokenizer, open_model_tokenizer(model));
    std::vector<std::int32_t> ids;
    for (const std::string& token : model.config.classifier_tokens) {
      const auto id = parts_.tokenizer->id_of(token);
      if (!id) {
        return fail(ErrorCode::model_refused, fmt::format("the vocabulary has no token \"{}\"", printable(token, 60)),
                    "config.json: classifier_from_token");
      }
      ids.push_back(*id);
    }
    const StoredTensor* matrix = model.config.classifies_by_embeddings ? nullptr : model.checkpoint.find("lm_head.weight");
    for (const PlannedWeight& weight : model.plan.weights) {
      if (matrix == nullptr && weight.role == WeightRole::embedding) matrix = weight.tensor;
    }
    LATHE_CHECK(matrix != nullptr);                                                   // every plan has the embeddings
    if (model.config.classifies_by_difference) std::reverse(ids.begin(), ids.end());  // "no", "yes"
    return Classifier::of_rows(model.checkpoint, *matrix, ids, model.config.hidden_size);
  }

  /// Reads how the model pools. A model that generates has the last state alone; one without a head is fitted to texts.
  Result<void> choose_vectors(const OpenedModel& model) {
    const auto pooling = read_pooling_config(model.folder, model.config.is_causal ? Pooling::last : Pooling::mean);
    if (model.config.has_head && (!pooling || pooling->pooling != Pooling::last)) return {};
    if (!pooling) return tl::unexpected<Error>(pooling.error());
    parts_.model.vectors = {.n_dimensions = model.config.hidden_size,
                            .pooling = pooling->pooling,
                            .normalises = pooling->normalises,
                            .is_matryoshka = pooling->is_matryoshka,
                            .matryoshka_dimensions = pooling->matryoshka_dimensions};
    pooling_ = pooling->pooling;
    if (model.config.has_head) return {};
    options_ = fit_to_vectors(std::move(options_), model.config, *pooling);
    return validate(options_);
  }

  Result<std::unique_ptr<Tokenizer>> open_model_tokenizer(const OpenedModel& model) const {
    const std::string& path = options_.tokenizer.empty() ? model.folder.path() : options_.tokenizer;
    LATHE_TRY(auto tokenizer, open_tokenizer(path));
    // More rows than pieces are common padding; more pieces than rows would read past the embeddings.
    if (tokenizer->vocab_size() > model.config.vocab_size) {
      return fail(ErrorCode::model_refused,
                  fmt::format("the tokenizer has {} pieces, but the embeddings have {} rows", tokenizer->vocab_size(),
                              model.config.vocab_size),
                  "config.json: vocab_size");
    }
    return tokenizer;
  }

  /// If the checkpoint's template does not compile, chat is disabled with a warning; if one given by --chat-template does
  /// not, the load fails.
  Result<std::unique_ptr<ChatTemplate>> open_chat_template(const OpenedModel& model) {
    LATHE_TRY(const NamedTemplates templates, choose_templates(model.chat_templates, options_.chat_template));
    if (templates.empty()) {
      parts_.model.chat_template_error = model.chat_template_error;
      return std::unique_ptr<ChatTemplate>();
    }
    LATHE_TRY(const TokenizerConfig config, read_tokenizer_config(model.folder));
    CompiledTemplates compiled = compile_chat_templates(templates, {.bos_token = config.bos_token.value_or(""),
                                                                    .eos_token = config.eos_token.value_or(""),
                                                                    .unk_token = config.unk_token.value_or(""),
                                                                    .pad_token = config.pad_token.value_or("")});
    if (!compiled.errors.empty() && !options_.chat_template.empty()) {
      return tl::unexpected(std::move(compiled.errors.front()));
    }
    if (!compiled.errors.empty()) parts_.model.chat_template_error = compiled.errors.front().message;
    for (const Error& error : compiled.errors) {
      warnings_.push_back(fmt::format("the chat template is not used: {}", error.message));
    }
    if (templates.choose(false) == nullptr && model.config.has_head) {
      warnings_.push_back(
          fmt::format("no chat template is named \"default\", so chats{} are refused: choose one of {} with --chat-template",
                      compiled.chat ? " without tools" : "", templates.names()));
    }
    has_chat_template_ = compiled.has_plain;
    return std::move(compiled.chat);
  }

  /// Runs one small step, which touches the memory, initializes libraries and detects broken weights.
  Result<void> warm_up(ModelRunner& runner) {
    const RunnerLimits& limits = runner.limits();
    const int n_rows = std::min({kWarmUpRows, limits.max_rows, limits.block_size, static_cast<int>(limits.max_model_len)});
    std::vector<std::int32_t> ids;
    for (int i = 0; i < n_rows; ++i) ids.push_back(static_cast<std::int32_t>(i % limits.vocab_size));
    const bool has_head = runner.config().has_head;
    const BlockTable first_block = consecutive_blocks(0, 1, limits.windows.size());
    BatchBuilder builder({.block_size = limits.block_size, .n_windows = limits.windows.size()});
    builder.clear();
    builder.add({.table = first_block,
                 .token_ids = ids,
                 .first_logit = n_rows - 1,
                 .n_logits = 1,
                 .takes_state = !has_head,
                 .rope_choice = rope_choice(limits.rope_contexts, n_rows)});
    LATHE_TRY(const StepOutput output, runner.run(builder.finish()));
    const kernels::TensorView& row = has_head ? output.logits : output.states;
    const auto* first = row.as<const float>();
    if (!std::all_of(first, first + row.dim(1), [](float x) { return std::isfinite(x); })) {
      warnings_.push_back(
          fmt::format("the model's {} are not finite: its weights hold NaN or infinity, and requests will fail",
                      has_head ? "logits" : "states"));
    }
    return {};
  }

  static std::optional<MeasuredMemory> measure(ModelRunner& runner, std::optional<std::int64_t> before) {
    const auto after = anonymous_bytes();
    const auto parts = runner.resident_memory();
    if (!before || !after || !parts) return std::nullopt;
    return measured_memory(*before, *after, *parts);
  }

  void describe(OpenedModel model, const LoadedRunner& made) {
    const MemoryPlan& plan = made.plan;
    const ModelRunner& runner = *made.runner;
    LoadedModel& loaded = parts_.model;
    loaded.info = std::move(model.info);
    std::vector<std::string>& warnings = loaded.info.warnings;
    warnings.insert(warnings.end(), plan.warnings.begin(), plan.warnings.end());
    warnings.insert(warnings.end(), made.cache.warnings.begin(), made.cache.warnings.end());
    warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
    add_eos_ids(parts_.tokenizer->eos_ids(), loaded.info);
    if (!loaded.info.bos_id) loaded.info.bos_id = parts_.tokenizer->bos_id();
    loaded.info.tokenizer = parts_.tokenizer->kind();
    loaded.info.has_chat_template = has_chat_template_;
    loaded.generates = runner.config().has_head;
    loaded.options = options_;
    const bool lacks_snapshots = plan.limits.n_state_slots > 0 && plan.limits.n_snapshots == 0;
    // plan.warnings say why, or the policy shares nothing.
    if (lacks_snapshots) loaded.options.enable_prefix_caching = false;
    loaded.name = options_.served_model_name.empty() ? loaded.info.name : options_.served_model_name;
    loaded.dtype = name_of(plan.weights.dtype);
    loaded.kv_cache_dtype = name_of(plan.kv_dtype);
    loaded.max_model_len = plan.limits.max_model_len;
    loaded.n_blocks = plan.limits.n_blocks;
    loaded.backend = runner.backend_info().name;
    loaded.isa = runner.backend_info().isa;
    loaded.device = runner.backend_info().device;
    loaded.n_threads = runner.backend_info().n_threads;
    loaded.estimate = plan.estimate;
    loaded.division = made.division;
    const RunnerMemory memory = runner.memory();
    loaded.memory = {
        .weights = memory.weights, .kv = memory.kv, .activations = memory.activations, .other = memory.rope + memory.work};
    parts_.suppressed_ids = std::move(model.generation.suppressed_ids);
    loaded.default_sampling = std::move(model.generation.sampling);
    loaded.default_max_tokens = model.generation.max_new_tokens;
    if (parts_.chat_template) {
      loaded.answer_formats = answer_formats(options_, parts_.chat_template->source(false));
      loaded.answer_formats_with_tools = answer_formats(options_, parts_.chat_template->source(true));
    }
    loaded.answer_markers = answer_markers(loaded.answer_formats, *parts_.tokenizer);
    loaded.answer_markers_with_tools = answer_markers(loaded.answer_formats_with_tools, *parts_.tokenizer);
    loaded.packed_cache = made.cache.use;
    loaded.load_ms = seconds() * 1e3;
  }

  EngineOptions options_;
  const LoadObserver& observer_;
  const PackedCacheFolder& folder_;
  const ModelUse use_;
  Pooling pooling_ = Pooling::last;
  const SteadyTime::time_point start_ = SteadyTime::now();
  std::optional<std::int64_t> memory_before_;
  EngineParts parts_;
  bool has_chat_template_ = false;
  std::vector<std::string> warnings_;
};

/// Catches all exceptions of libraries: none leaves a load or its check.
template <class Function>
auto guarded(const Function& load) -> decltype(load()) {
  try {
    return load();
  } catch (const std::system_error& error) {
    return fail(ErrorCode::resource_exhausted,
                fmt::format("the engine's thread could not be started: {}", error.code().message()), "threads");
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::resource_exhausted, "not enough memory to load the model; free some, or lower max_model_len",
                "memory");
  }
}

}  // namespace

std::string_view name_of(LoadPhase phase) {
  switch (phase) {
    case LoadPhase::reading: return "map";
    case LoadPhase::calibrating: return "calibrate";
    case LoadPhase::converting: return "convert";
    case LoadPhase::warming_up: return "warm-up";
  }
  return "?";
}

std::string_view name_of(PackedCacheUse use) {
  switch (use) {
    case PackedCacheUse::none: return "none";
    case PackedCacheUse::hit: return "hit";
    case PackedCacheUse::stored: return "stored";
    case PackedCacheUse::missed: return "missed";
  }
  return "?";
}

Result<std::unique_ptr<Engine>> load_engine(const EngineOptions& options, const LoadObserver& observer) {
  return load_engine_cached(options, observer, {});
}

Result<std::unique_ptr<Engine>> load_engine_cached(const EngineOptions& options, const LoadObserver& observer,
                                                   const PackedCacheFolder& folder) {
  Result<std::unique_ptr<Engine>> engine =
      guarded([&] { return EngineLoad(options, observer, folder, ModelUse::serve).run(); });
  // After a failure the allocator keeps freed memory between live allocations (vocabularies, headers): 9 MiB for a model of
  // half a billion parameters.
  if (!engine) ::malloc_trim(0);
  return engine;
}

Result<void> check_load(const EngineOptions& options, std::int64_t returned_bytes) {
  const LoadObserver nobody;
  const PackedCacheFolder no_folder;
  return guarded([&] { return EngineLoad(options, nobody, no_folder, ModelUse::serve).check(returned_bytes); });
}

}  // namespace lathe::engine
