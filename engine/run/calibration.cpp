// SPDX-License-Identifier: Apache-2.0
#include "engine/run/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/cache/kv_storage.h"
#include "engine/model/layers/decoder_layer.h"
#include "engine/model/layers/embedding.h"
#include "engine/model/tensor_layout.h"
#include "engine/run/model_runner.h"
#include "engine/run/rope_rows.h"
#include "engine/schedule/batch_plan.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

constexpr int kBlockSize = 16;

/// Plans all texts as one step, each text in blocks of its own.
BatchPlan plan_of(std::span<const std::vector<std::int32_t>> texts) {
  BatchPlan plan;
  std::int32_t n_blocks = 0;
  std::size_t longest = 0;
  for (const std::vector<std::int32_t>& text : texts) longest = std::max(longest, text.size());
  plan.max_blocks = (static_cast<std::int32_t>(longest) + kBlockSize - 1) / kBlockSize;
  plan.query_start.push_back(0);
  for (const std::vector<std::int32_t>& text : texts) {
    const auto n = static_cast<std::int32_t>(text.size());
    for (std::int32_t position = 0; position < n; ++position) {
      plan.token_ids.push_back(text[static_cast<std::size_t>(position)]);
      plan.positions.push_back(position);
      plan.slots.push_back(n_blocks * kBlockSize + position);
    }
    plan.query_start.push_back(plan.n_rows());
    plan.context_len.push_back(n);
    for (std::int32_t block = 0; block < plan.max_blocks; ++block) {
      plan.block_tables.push_back(block * kBlockSize < n ? n_blocks + block : -1);
    }
    n_blocks += (n + kBlockSize - 1) / kBlockSize;
  }
  return plan;
}

std::int32_t n_blocks_of(const BatchPlan& plan) {
  return plan.block_tables.empty() ? 0 : *std::max_element(plan.block_tables.begin(), plan.block_tables.end()) + 1;
}

class Calibration {
 public:
  Calibration(kernels::Backend& backend, const CalibrationModel& model, BatchPlan plan, double alpha)
      : backend_(backend),
        model_(model),
        config_(model.config),
        storage_(model.dtype),
        plan_(std::move(plan)),
        alpha_(alpha) {
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
    if (plan_.n_rows() == 0) return fail(ErrorCode::invalid_argument, "there is no text to calibrate with", "calibration");
    for (const std::int32_t id : plan_.token_ids) {
      if (id >= 0 && id < config_.vocab_size) continue;
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("the calibration text has the token {}, but the embeddings have {} rows", id, config_.vocab_size),
          "calibration");
    }
    return {};
  }

  Result<void> check_norms() const {
    if (can_smooth(config_)) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} has no separate norm before each of its products, so the range of activations cannot be "
                            "moved; use dynamic_int8 or int8_g32",
                            config_.architecture->name),
                "quantization smoothquant");
  }

  Result<void> take_memory() {
    const std::int64_t longest = *std::max_element(plan_.context_len.begin(), plan_.context_len.end());
    LATHE_TRY(layer_, DecoderLayer::create(backend_, storage_.of_layer(0), config_, config_.layers.front()));
    LATHE_TRY(ropes_, RopeTables::create(backend_, config_, longest));
    for (const std::int32_t n : plan_.context_len) plan_.rope_choices.push_back(rope_choice(ropes_.contexts(), n));
    find_rope_rows(plan_, ropes_.contexts(), rope_rows_);
    LATHE_TRY(activations_, Activations::create(backend_, config_, plan_.n_rows(), 0));
    kernels::KvShape kv = kv_shape(config_, Dtype::f32, kBlockSize, n_blocks_of(plan_));
    kv.n_layers = 1;
    LATHE_TRY(kv_, KvStorage::allocate(backend_, {.shape = kv}));
    const kernels::StepShape step = step_shape(config_, storage_, plan_.n_rows());
    if (backend_.reserve(step)) return {};
    return fail(ErrorCode::resource_exhausted,
                fmt::format("not enough memory for {} bytes of work memory", backend_.work_bytes(step)), "calibration");
  }

  Result<TensorView> read(const PlannedWeight& weight) {
    LATHE_TRY_VOID(model_.checkpoint.check_whole(*weight.tensor));
    return to_plain(backend_, weight.layout, config_, view_of(*weight.tensor, aligned_), ordered_);
  }

  /// Embeds the texts. The embeddings' memory is given back before the first layer is loaded.
  Result<void> embed() {
    LATHE_TRY(Embedding embedding, Embedding::create(backend_, config_, storage_.dtype, storage_.head));
    for (const PlannedWeight& weight : model_.plan.weights) {
      if (weight.layer >= 0) continue;
      LATHE_TRY(const TensorView source, read(weight));
      embedding.accept(backend_, config_, weight.role, source);
      model_.checkpoint.drop(*weight.tensor);
    }
    embedding.forward(backend_, config_, input(), step());
    return {};
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
    raise_to_magnitudes(backend_, step().normed, inputs.attention);
    delta = layer_.feed_forward(backend_, config_, step(), delta);
    raise_to_magnitudes(backend_, step().normed, inputs.mlp);
    return LayerSmoothing{smoothing_factors(inputs.attention, weights.attention, alpha_),
                          smoothing_factors(inputs.mlp, weights.mlp, alpha_)};
  }

  void note_weights(WeightRole role, const TensorView& source, Magnitudes& largest) {
    switch (role) {
      case WeightRole::q:
      case WeightRole::k:
      case WeightRole::v:
      case WeightRole::qkv: raise_to_magnitudes(backend_, source, largest.attention); break;
      case WeightRole::gate:
      case WeightRole::up:
      case WeightRole::gate_up: raise_to_magnitudes(backend_, source, largest.mlp); break;
      default: break;
    }
  }

  StepBuffers step() const { return activations_.for_step(plan_.n_rows(), 0); }
  ModelInput input() {
    kv_rows_ = {.slots = plan_.slots,
                .batch = {.n_seqs = plan_.n_seqs(),
                          .query_start = plan_.query_start,
                          .context_len = plan_.context_len,
                          .block_tables = plan_.block_tables,
                          .max_blocks = plan_.max_blocks}};
    return {.token_ids = plan_.token_ids,
            .positions = plan_.positions,
            .rope_rows = rope_rows_,
            .kv_rows = std::span(&kv_rows_, 1),
            .logit_rows = {}};
  }

  kernels::Backend& backend_;
  const CalibrationModel& model_;
  const ModelConfig& config_;
  const WeightStorage storage_;
  BatchPlan plan_;
  const double alpha_;
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
  return Calibration(backend, model, plan_of(texts), alpha).run(observe);
}

}  // namespace lathe::engine
