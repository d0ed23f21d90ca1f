// SPDX-License-Identifier: Apache-2.0
#include "engine/api/checkpoint.h"
#include "engine/load/files/model_folder.h"
#include "engine/run/open_backend.h"
#include "engine/serve/config_source.h"
#include "engine/serve/memory_plan.h"
#include "kernels/api/roofline.h"

namespace lathe::engine {

namespace {

StoredWeights stored_weights_of(const ModelInfo& info) {
  StoredWeights stored = kernels::Dtype::f32;
  for (const kernels::Dtype dtype : {kernels::Dtype::f16, kernels::Dtype::bf16}) {
    if (info.stored_dtype == name_of(dtype)) stored.dtype = dtype;
  }
  stored.matrices = kernels::weight_format_named(info.stored_quantization);
  stored.experts = kernels::weight_format_named(info.stored_expert_quantization);
  stored.head = kernels::weight_format_named(info.stored_head_quantization);
  for (const std::array<std::string, kMatrixParts>& names : info.stored_layer_quantizations) {
    StoredLayer& layer = stored.layers.emplace_back();
    for (std::size_t i = 0; i < kMatrixParts; ++i) layer[i] = kernels::weight_format_named(names[i]);
  }
  stored.matrices_are_ordered = info.has_input_orders;
  stored.experts_are_ordered = info.has_expert_input_orders;
  return stored;
}

}  // namespace

std::string_view name_of(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::fits: return "Fits";
    case FitVerdict::tight: return "Tight";
    case FitVerdict::wont_fit: return "Won't fit";
    case FitVerdict::unknown: return "Unknown";
  }
  return "?";
}

Result<FitEstimate> estimate_fit(const ModelInfo& info, const EngineOptions& options, std::int64_t returned_bytes) {
  LATHE_TRY(const ModelFolder folder, ModelFolder::open(info.path));
  LATHE_TRY(const Json config_json, read_config_json(folder));
  LATHE_TRY(ModelConfig config, read_model_config(config_json));
  config.tied_embeddings = info.tied_embeddings;
  // Sizes of weights depend on the layout of the instruction set, work memory on the number of threads.
  LATHE_TRY(const auto backend, open_backend(backend_choice(options)));
  std::optional<std::int64_t> free = free_bytes_of(*backend);
  if (free) *free += returned_bytes;
  LATHE_TRY(MemoryPlan plan, plan_memory(*backend, config, stored_weights_of(info), options, free));
  plan.estimate.returned = returned_bytes;
  return plan.estimate;
}

}  // namespace lathe::engine
