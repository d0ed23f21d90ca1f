// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/fit_fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/byte_text.h"

namespace lathe::engine {
namespace {

using Values = std::vector<std::string>;

/// A kind of change. `values` returns the values to try, the one that gives up least first.
struct Change {
  std::string_view option;
  Values (*values)(const EngineOptions& options, const MemoryPlan& plan);
};

/// Returns the candidates that are smaller than the present value.
Values smaller(std::initializer_list<std::int64_t> candidates, std::int64_t present) {
  Values values;
  for (const std::int64_t candidate : candidates) {
    if (candidate < present) values.push_back(std::to_string(candidate));
  }
  return values;
}

/// THE TABLE of changes, in the order in which they are listed.
constexpr Change kChanges[] = {
    {"max_model_len",
     [](const EngineOptions&, const MemoryPlan& plan) {
       // 0 would be the checkpoint's context.
       return plan.fitting_tokens > 0 ? smaller({plan.fitting_tokens}, plan.limits.max_model_len) : Values();
     }},
    {"max_model_len",
     [](const EngineOptions&, const MemoryPlan& plan) {
       return smaller({16384, 8192, 4096, 2048, 1024, 512}, plan.limits.max_model_len);
     }},
    {"max_num_seqs",
     [](const EngineOptions& options, const MemoryPlan&) {
       return smaller({8, 4, 2, 1}, options.max_num_seqs);
     }},
    {"kv_cache_memory_bytes",
     [](const EngineOptions& options, const MemoryPlan& plan) {
       return smaller({plan.fitting_kv_bytes}, options.kv_cache_memory_bytes);
     }},
    {"kv_cache_memory_bytes",
     [](const EngineOptions& options, const MemoryPlan&) { return smaller({0}, options.kv_cache_memory_bytes); }},
    {"num_gpu_blocks_override",
     [](const EngineOptions& options, const MemoryPlan& plan) {
       return smaller({plan.fitting_tokens / options.block_size}, options.num_gpu_blocks_override);
     }},
    {"num_gpu_blocks_override",
     [](const EngineOptions& options, const MemoryPlan&) { return smaller({0}, options.num_gpu_blocks_override); }},
    {"state_snapshot_memory_bytes",
     [](const EngineOptions& options, const MemoryPlan&) { return smaller({0}, options.state_snapshot_memory_bytes); }},
    {"dtype",
     [](const EngineOptions&, const MemoryPlan&) {
       return Values{"bfloat16", "float16"};
     }},
    {"quantization",
     [](const EngineOptions& options, const MemoryPlan&) {
       return options.quantization == "none" ? Values{"int8_g32", "int4_g32"} : Values();
     }},
};

/// Advice for a plan that does not fit.
std::string advice(const std::vector<FitFix>& fixes, const MemoryPlan& plan) {
  if (fixes.empty()) {
    return plan.fitting_tokens > 0
               ? "no change of one option makes it fit; free memory, or use a smaller model"
               : "the weights alone are too large, and no change of one option makes it fit; free memory, or use a smaller "
                 "model";
  }
  std::string text = "it would fit with ";
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    if (i > 0) text += i + 1 == fixes.size() ? " or " : ", ";
    text += fmt::format("{} {} ({})", fixes[i].option, fixes[i].value, gibibytes(fixes[i].total));
  }
  return text;
}

/// The budget of a device is free, unless other programs use it.
Result<void> check_budget(const MemoryPlan& plan) {
  const std::int64_t free = plan.estimate.free;
  if (!plan.fills_device || free >= plan.budget) return {};
  constexpr double kSteps = 100;
  const double share = static_cast<double>(free) / static_cast<double>(plan.device_bytes);
  return fail(ErrorCode::resource_exhausted,
              fmt::format("gpu_memory_utilization asks for {} of the device, but only {} is free. End other programs that "
                          "use the device, lower gpu_memory_utilization to {:.2f}, or set kv_cache_memory_bytes",
                          gibibytes(plan.budget), gibibytes(free), std::floor(share * kSteps) / kSteps),
              "gpu_memory_utilization");
}

}  // namespace

std::vector<FitFix> find_fixes(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                               const EngineOptions& options, const MemoryPlan& plan) {
  std::vector<FitFix> fixes;
  if (plan.estimate.verdict != FitVerdict::wont_fit) return fixes;
  const auto attempt = [&](std::string_view option, const std::string& value) -> std::optional<FitFix> {
    EngineOptions changed = options;
    if (!set_option(changed, option, value) || changed == options || !validate(changed)) return {};
    const Result<MemoryPlan> smaller_plan = plan_memory(backend, config, stored, changed, plan.estimate.free);
    if (!smaller_plan || smaller_plan->estimate.verdict == FitVerdict::wont_fit) return {};
    return FitFix{std::string(option), value, smaller_plan->estimate.total()};
  };
  for (const Change& change : kChanges) {
    for (const std::string& value : change.values(options, plan)) {
      std::optional<FitFix> fix = attempt(change.option, value);
      if (!fix) continue;
      const bool is_listed = std::any_of(fixes.begin(), fixes.end(), [&](const FitFix& other) {
        return other.option == fix->option && other.value == fix->value;
      });
      if (!is_listed) fixes.push_back(*std::move(fix));
      break;
    }
  }
  return fixes;
}

Result<void> check_fit(const kernels::Backend& backend, const ModelConfig& config, const StoredWeights& stored,
                       const EngineOptions& options, const MemoryPlan& plan) {
  const FitEstimate& estimate = plan.estimate;
  if (estimate.lacks_host()) {
    return fail(ErrorCode::resource_exhausted,
                fmt::format("a load on a device needs {} of the host's memory, but only {} is free there; free memory, or "
                            "lower max_num_batched_tokens or max_num_seqs",
                            gibibytes(estimate.host), gibibytes(estimate.host_free)),
                "memory");
  }
  if (estimate.verdict == FitVerdict::wont_fit) {
    const bool is_by_budget = plan.fills_device && estimate.free == plan.budget;
    const std::string limit = is_by_budget ? fmt::format("gpu_memory_utilization allows {}", gibibytes(plan.budget))
                                           : fmt::format("only {} is free", gibibytes(estimate.free));
    return fail(ErrorCode::resource_exhausted,
                fmt::format("does not fit: needs {} (weights {}, KV cache {}, activations {}, other {}), but {}; {}",
                            gibibytes(estimate.total()), gibibytes(estimate.weights), gibibytes(estimate.kv),
                            gibibytes(estimate.activations), gibibytes(estimate.other), limit,
                            advice(find_fixes(backend, config, stored, options, plan), plan)),
                "memory");
  }
  return check_budget(plan);
}

}  // namespace lathe::engine
