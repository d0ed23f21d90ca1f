// SPDX-License-Identifier: Apache-2.0
#include "engine/run/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/base/allocation_error.h"
#include "engine/base/finish_operations.h"
#include "engine/cache/kv_storage.h"
#include "engine/model/layers/decoder_layer.h"
#include "engine/model/layers/embedding.h"
#include "engine/model/tensor_layout.h"
#include "engine/run/model_runner.h"
#include "engine/run/rope_rows.h"
#include "engine/schedule/batch_builder.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

constexpr int kBlockSize = 16;

std::int32_t blocks_for(std::span<const std::int32_t> text) {
  return (static_cast<std::int32_t>(text.size()) + kBlockSize - 1) / kBlockSize;
}

class Calibration {
 public:
  Calibration(kernels::Backend& backend, const CalibrationModel& model, std::span<const std::vector<std::int32_t>> texts,
              double alpha)
      : backend_(backend), model_(model), config_(model.config), storage_(model.dtype), alpha_(alpha) {
    for (const std::vector<std::int32_t>& text : texts) {
      if (!text.empty()) texts_.push_back(text);
    }
    for (const PlannedWeight& weight : model.plan.weights) {
      if (weight.layer >= 0) of_layers_[static_cast<std::size_t>(weight.layer)].push_back(&weight);
    }
  }

  Result<Smoothing> run(const std::function<bool(std::int64_t)>& observe) {
    LATHE_TRY_VOID(check_tokens());
    LATHE_TRY_VOID(check_norms());
    LATHE_TRY_VOID(take_memory());
    LATHE_TRY_VOID(embed());
    Smoothing smoothing;
    smoothing.plus_one = config_.norm.plus_one;
    Delta delta = Delta::none;
    for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
      LATHE_TRY(LayerSmoothing factors, run_layer(layer, delta));
      smoothing.layers.push_back(std::move(factors));
      if (observe && !observe(bytes_done_)) return fail(ErrorCode::cancelled, "loading was cancelled");
    }
    return smoothing;
  }

 private:
  Result<void> check_tokens() const {
    if (texts_.empty()) return fail(ErrorCode::invalid_argument, "there is no text to calibrate with", "calibration");
    for (const std::span<const std::int32_t> text : texts_) {
      const auto wrong =
          std::find_if(text.begin(), text.end(), [&](std::int32_t id) { return id < 0 || id >= config_.vocab_size; });
      if (wrong == text.end()) continue;
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("the calibration text has the token {}, but the embeddings have {} rows", *wrong, config_.vocab_size),
          "calibration");
    }
    return {};
  }

  Result<void> check_norms() const {
    if (can_smooth(config_)) return {};
    if (config_.has_recurrent_layers()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the inputs of {}'s recurrent layers cannot be smoothed; use dynamic_int8 or int8_g32",
                              config_.architecture->name),
                  "quantization smoothquant");
    }
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} has no separate norm before each of its products, so the range of activations cannot be "
                            "moved; use dynamic_int8 or int8_g32",
                            config_.architecture->name),
                "quantization smoothquant");
  }

  /// Plans all texts as one step, each text in blocks of its own. Returns the number of these blocks.
  std::int32_t plan_texts() {
    std::int32_t n_blocks = 0;
    for (const std::span<const std::int32_t> text : texts_) {
      tables_.push_back(consecutive_blocks(n_blocks, blocks_for(text)));
      n_blocks += blocks_for(text);
    }
    builder_.clear();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      builder_.add({.table = tables_[i],
                    .token_ids = texts_[i],
                    .rope_choice = rope_choice(ropes_.contexts(), std::ssize(texts_[i]))});
    }
    builder_.finish();
    return n_blocks;
  }

  Result<void> take_memory() {
    const auto longest =
        std::max_element(texts_.begin(), texts_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    LATHE_TRY(layer_, allocated(backend_, DecoderLayer(storage_.of_layer(0), config_, config_.layers.front())));
    LATHE_TRY(ropes_, RopeTables::create(backend_, config_, std::ssize(*longest)));
    const std::int32_t n_blocks = plan_texts();
    find_rope_rows(plan(), ropes_.contexts(), rope_rows_);
    LATHE_TRY(activations_, Activations::create(backend_, config_, plan().n_rows(), 0));
    kernels::KvShape kv = kv_shape(config_, Dtype::f32, kBlockSize, n_blocks);
    kv.n_layers = 1;
    LATHE_TRY(kv_, KvStorage::allocate(backend_, {.shape = kv}));
    const kernels::StepShape step = step_shape(config_, storage_, plan().n_rows());
    if (backend_.reserve(step)) return {};
    return allocation_error(
        backend_, fmt::format("not enough memory for {} bytes of work memory", backend_.work_bytes(step)), "calibration");
  }

  Result<TensorView> read(const PlannedWeight& weight) {
    LATHE_TRY_VOID(model_.checkpoint.prepare(*weight.tensor));
    return to_plain(backend_, weight.layout, config_, view_of(*weight.tensor, aligned_), ordered_);
  }

  /// Embeds the texts. The embeddings' memory is given back before the first layer is loaded.
  Result<void> embed() {
    LATHE_TRY(Embedding embedding, allocated(backend_, Embedding(config_, storage_.dtype, storage_.head)));
    for (const PlannedWeight& weight : model_.plan.weights) {
      if (weight.layer >= 0) continue;
      LATHE_TRY(const TensorView source, read(weight));
      embedding.accept(backend_, config_, weight.role, source);
      model_.checkpoint.drop(*weight.tensor);
    }
    embedding.forward(backend_, config_, input(), step());
    return finish_operations(backend_, kLoadAdvice);  // the operations read the memory of `embedding`
  }

  /// Largest magnitudes [H] of each input of the products that follow a layer's two norms.
  struct Magnitudes {
    std::vector<float> attention, mlp;
  };

  Result<LayerSmoothing> run_layer(std::int64_t index, Delta& delta) {
    const auto n = static_cast<std::size_t>(config_.hidden_size);
    Magnitudes weights{std::vector<float>(n), std::vector<float>(n)}, inputs = weights;
    for (const PlannedWeight* weight : of_layers_[static_cast<std::size_t>(index)]) {
      LATHE_TRY(const TensorView source, read(*weight));
      layer_.accept(backend_, config_, weight->role, source);
      note_weights(weight->role, source, weights);
      model_.checkpoint.drop(*weight->tensor);
      bytes_done_ += n_bytes_of(*weight->tensor);
    }
    const LayerConfig& layer = config_.layers[static_cast<std::size_t>(index)];
    const ModelInput rows = input();
    const kernels::KvLayer cache = kv_.layer(0);
    delta = layer_.attend(backend_, {config_, layer, rows, ropes_.of(layer), cache, rows.kv_rows.front()}, step(), delta);
    raise_to_magnitudes(backend_, backend_.download(step().normed, {}), inputs.attention);
    delta = layer_.feed_forward(backend_, config_, step(), delta);
    raise_to_magnitudes(backend_, backend_.download(step().normed, {}), inputs.mlp);
    LATHE_TRY_VOID(finish_operations(backend_, kLoadAdvice));
    return LayerSmoothing{smoothing_factors(inputs.attention, weights.attention, alpha_),
                          smoothing_factors(inputs.mlp, weights.mlp, alpha_)};
  }

  void note_weights(WeightRole role, const TensorView& source, Magnitudes& largest) {
    switch (role) {
      case WeightRole::q:
      case WeightRole::k:
      case WeightRole::v:
      case WeightRole::qkv:
      case WeightRole::attention_gate: raise_to_magnitudes(backend_, source, largest.attention); break;
      case WeightRole::gate:
      case WeightRole::up:
      case WeightRole::gate_up: raise_to_magnitudes(backend_, source, largest.mlp); break;
      default: break;
    }
  }

  const BatchPlan& plan() const { return builder_.plan(); }
  StepBuffers step() const { return activations_.for_step(plan().n_rows(), 0); }
  ModelInput input() {
    kv_rows_ = {.slots = plan().slots,
                .batch = {.n_seqs = plan().n_seqs(),
                          .query_start = plan().query_start,
                          .context_len = plan().context_len,
                          .block_tables = plan().block_tables,
                          .max_blocks = plan().max_blocks}};
    return {.token_ids = plan().token_ids,
            .positions = plan().positions,
            .rope_rows = rope_rows_,
            .kv_rows = std::span(&kv_rows_, 1),
            .logit_rows = {}};
  }

  kernels::Backend& backend_;
  const CalibrationModel& model_;
  const ModelConfig& config_;
  const WeightStorage storage_;
  const double alpha_;
  std::vector<std::span<const std::int32_t>> texts_;
  std::vector<BlockTable> tables_;  ///< of the texts
  BatchBuilder builder_{BatchShape{.block_size = kBlockSize}};
  std::map<std::size_t, std::vector<const PlannedWeight*>> of_layers_;
  DecoderLayer layer_;  ///< memory of one layer, which all layers use one after the other
  RopeTables ropes_;
  std::vector<std::int32_t> rope_rows_;
  Activations activations_;
  KvStorage kv_;
  KvRows kv_rows_;
  std::vector<std::byte> aligned_, ordered_;
  std::int64_t bytes_done_ = 0;
};

}  // namespace

std::int64_t calibration_bytes(const WeightPlan& plan) {
  std::int64_t sum = 0;
  for (const PlannedWeight& weight : plan.weights) {
    if (weight.layer >= 0) sum += n_bytes_of(*weight.tensor);
  }
  return sum;
}

Result<Smoothing> calibrate(kernels::Backend& backend, const CalibrationModel& model,
                            std::span<const std::vector<std::int32_t>> texts, double alpha,
                            const std::function<bool(std::int64_t)>& observe) {
  return Calibration(backend, model, texts, alpha).run(observe);
}

}  // namespace lathe::engine
