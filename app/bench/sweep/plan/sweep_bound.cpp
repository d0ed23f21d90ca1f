// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace lathe::app {
namespace {

using engine::EngineOptions;
using engine::ModelInfo;
using engine::Result;

constexpr double kCacheBytes = 64 << 20;   // weights that stay in a cache from step to step are not read from memory
constexpr std::int64_t kMinRunsToEnd = 3;  // fewest runs of a plan that may end a cell early

/// Work that a model requires of the machine.
struct Needs {
  double step_bytes = 0;                             ///< weight bytes that each step reads
  double layer_parameters = 0, head_parameters = 0;  ///< parameters used per token; the head's only per generated token
};

/// Parameters of n_layers layers with attention and a gated MLP; a model with more has experts.
double most_of_dense_layers(const ModelInfo& info) {
  const auto of = [](std::int64_t n) { return static_cast<double>(n); };
  const double attention = of(info.hidden_size) * of(info.head_dim) * 2 * (of(info.n_heads) + of(info.n_kv_heads));
  const double mlp = 3 * of(info.hidden_size) * of(info.intermediate_size);
  return of(info.n_layers) * (attention + mlp);
}

std::optional<Needs> needs_of(const ModelInfo& info, double weight_bytes) {
  const double table = static_cast<double>(info.vocab_size) * static_cast<double>(info.hidden_size);
  const double layers = static_cast<double>(info.n_parameters) - table * (info.tied_embeddings ? 1 : 2);
  if (layers <= 0 || layers > 1.2 * most_of_dense_layers(info)) return std::nullopt;
  // A step reads only some rows of an embedding table that is not tied to the head. Its size is subtracted as float32, the
  // largest it may be.
  const double looked_up = info.tied_embeddings ? 0 : table * sizeof(float);
  return Needs{.step_bytes = std::max(0.0, weight_bytes - looked_up - kCacheBytes),
               .layer_parameters = layers,
               .head_parameters = table};
}

/// Peak rate of the fastest instruction that a kernel may use. Units: operations per second.
double peak_of(const kernels::Ceilings& ceilings, bool has_codes) {
  const double floats = std::max(ceilings.fma_gflop_s, ceilings.bf16_gflop_s);
  return 1e9 * (has_codes ? std::max({floats, ceilings.int8_gop_s, ceilings.int4_gop_s}) : floats);
}

/// True if a run has no useful lower bound: lengths with a tail or cut to the context, or a run that max_waiting may end.
bool may_be_tiny(const SweepWorkload& work) {
  const bool has_tail = work.length_spread > 0 && work.length_distribution != "uniform";
  const bool may_end = work.pattern() != LoadPattern::concurrency && work.max_waiting > 0;
  return has_tail || may_end || work.too_long != "fail";
}

/// Shortest length that is drawn.
double least_length(const SweepWorkload& work, std::int64_t mean) {
  return std::max(1.0, (1 - work.length_spread) * static_cast<double>(mean));
}

/// Fewest turns of a conversation: those of a dataset may have one.
std::int64_t least_turns(const SweepWorkload& work) { return work.dataset.empty() ? work.turns : 1; }

/// Prompt tokens of a conversation that no cache holds. Those of a dataset are unknown and count as 0.
double prompt_tokens(const SweepWorkload& work) {
  if (!work.dataset.empty()) return 0;
  double n = (1 - work.shared_prefix) * least_length(work, work.prompt_tokens);
  for (std::int64_t turn = 1; turn < work.turns; ++turn) n += least_length(work, work.new_tokens(turn));
  return n;
}

double run_seconds(const SweepWorkload& work, const Needs& needs, double bytes_s, double operations_s) {
  const auto n = static_cast<double>(work.n_requests()), turns = static_cast<double>(least_turns(work));
  const bool is_open = work.pattern() != LoadPattern::concurrency;
  const double rounds = is_open ? 1 : n / std::min(n, static_cast<double>(work.concurrency));
  const double answer = turns * least_length(work, work.output_tokens);
  const double operations =
      2 * n * (answer * (needs.layer_parameters + needs.head_parameters) + prompt_tokens(work) * needs.layer_parameters);
  // Time of conversations that run one after another. During a think time the machine computes for others, so think time
  // does not add to the computation.
  double talk = rounds * (answer * needs.step_bytes / bytes_s + (turns - 1) * work.think_time);
  if (work.pattern() == LoadPattern::constant_rate) talk += (n - 1) / work.rate;  // time until the last conversation begins
  const double seconds = std::max(talk, operations / operations_s);
  return work.max_seconds > 0 ? std::min(seconds, work.max_seconds) : seconds;
}

}  // namespace

WeightBytes weight_bytes_of(const ModelInfo& info) {
  return [info](const EngineOptions& options) -> Result<std::int64_t> {
    LATHE_TRY(const engine::FitEstimate fit, engine::estimate_fit(info, options));
    return fit.weights;
  };
}

std::optional<double> least_seconds(const SweepPlan& plan, const ModelInfo& info, const kernels::Ceilings& ceilings,
                                    const WeightBytes& weights) {
  if (!plan.target.url.empty() || ceilings.read_gb_s <= 0 || ceilings.fma_gflop_s <= 0) return std::nullopt;
  const std::int64_t repeats = plan.stop_at_ci > 0 ? std::min(plan.repeats, kMinRunsToEnd) : plan.repeats;
  std::map<std::string, double> bytes_of;
  double seconds = 0;
  for (std::size_t index = 0; index < n_cells(plan); ++index) {
    const auto cell = cell_of(plan, index);
    if (!cell) continue;  // the cell fails at once
    const LoadPattern pattern = cell->workload.pattern();
    if (pattern == LoadPattern::replay || pattern == LoadPattern::saturation || may_be_tiny(cell->workload))
      return std::nullopt;
    const EngineOptions& options = cell->options;
    const auto [place, is_new] = bytes_of.emplace(fmt::format("{} {}", options.quantization, options.dtype), 0);
    if (is_new) {
      const auto bytes = weights(options);
      if (!bytes) continue;  // the load fails at once
      place->second = static_cast<double>(*bytes);
    }
    if (place->second == 0) continue;
    const std::optional<Needs> needs = needs_of(info, place->second);
    if (!needs) return std::nullopt;
    const bool has_codes = options.quantization != "none" || !info.kept_quantization().empty();
    seconds += static_cast<double>(repeats + (plan.warm_up ? 1 : 0)) *
               run_seconds(cell->workload, *needs, 1e9 * ceilings.read_gb_s, peak_of(ceilings, has_codes));
  }
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace lathe::app
