// SPDX-License-Identifier: Apache-2.0
#include "engine/api/checkpoint.h"
#include "engine/load/files/model_folder.h"
#include "engine/run/open_backend.h"
#include "engine/serve/config_source.h"
#include "engine/serve/fit_fixes.h"
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

/// A load that is planned from the description of its checkpoint.
struct PlannedLoad {
  ModelConfig config;
  StoredWeights stored;
  std::unique_ptr<kernels::Backend> backend;
  MemoryPlan plan;
};

Result<PlannedLoad> plan_load(const ModelInfo& info, const EngineOptions& options, std::int64_t returned_bytes) {
  LATHE_TRY(const ModelFolder folder, ModelFolder::open(info.path));
  LATHE_TRY(const Json config_json, read_config_json(folder));
  LATHE_TRY(ModelConfig config, read_model_config(config_json));
  config.tied_embeddings = info.tied_embeddings;
  StoredWeights stored = stored_weights_of(info);
  // Sizes of weights depend on the layout of the instruction set, work memory on the number of threads.
  LATHE_TRY(auto backend, open_backend(backend_choice(options)));
  std::optional<std::int64_t> free = free_bytes_of(*backend);
  if (free) *free += returned_bytes;
  LATHE_TRY(MemoryPlan plan, plan_memory(*backend, config, stored, options, free));
  plan.estimate.returned = returned_bytes;
  return PlannedLoad{std::move(config), std::move(stored), std::move(backend), std::move(plan)};
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
  LATHE_TRY(const PlannedLoad load, plan_load(info, options, returned_bytes));
  return load.plan.estimate;
}

Result<std::vector<FitFix>> find_fixes(const ModelInfo& info, const EngineOptions& options, std::int64_t returned_bytes) {
  LATHE_TRY(const PlannedLoad load, plan_load(info, options, returned_bytes));
  EngineOptions named = options;
  named.model = info.path;  // options that name no model are not valid
  return find_fixes(*load.backend, load.config, load.stored, named, load.plan);
}

}  // namespace lathe::engine
