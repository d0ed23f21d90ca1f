// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/api/checkpoint.h"
#include "engine/api/machine.h"
#include "engine/run/measured.h"
#include "engine/run/open_backend.h"

namespace lathe::engine {
namespace {

/// Shape of Qwen2.5-0.5B: small enough for any machine, large enough that weights come from memory.
ModelInfo common_shape() {
  ModelInfo info;
  info.hidden_size = 896;
  info.n_heads = 14;
  info.n_kv_heads = 2;
  info.head_dim = 64;
  info.intermediate_size = 4864;
  info.vocab_size = 32'000;
  return info;
}

/// The products of a decoder: Q, K and V as one matrix; up is left out, because its shape is that of gate.
std::vector<kernels::RooflineMatrix> matrices_of(const ModelInfo& info) {
  const std::int64_t q = info.n_heads * info.head_dim;
  return {{"qkv", q + 2 * info.n_kv_heads * info.head_dim, info.hidden_size},
          {"o", info.hidden_size, q},
          {"gate", info.intermediate_size, info.hidden_size},
          {"down", info.hidden_size, info.intermediate_size},
          {"head", info.vocab_size, info.hidden_size}};
}

Result<std::vector<kernels::WeightFormat>> formats_named(const std::vector<std::string>& names) {
  std::vector<kernels::WeightFormat> formats;
  for (const std::string& name : names) {
    const auto format = kernels::weight_format_named(name);
    if (!format) {
      return fail(ErrorCode::invalid_argument, fmt::format("there is no weight format '{}'; the formats are {}", name,
                                                           fmt::join(kernels::weight_format_names(), ", ")));
    }
    formats.push_back(*format);
  }
  return formats;
}

kernels::AttentionMeasurement attention_of(const ModelInfo& info) {
  return {.n_heads = static_cast<int>(info.n_heads),
          .n_kv_heads = static_cast<int>(info.n_kv_heads),
          .head_dim = static_cast<int>(info.head_dim),
          .kv_types = kernels::kv_types(),
          .steps = {{.n_rows = 1, .context = 2048}, {.n_rows = 512, .context = 512}}};
}

}  // namespace

Result<Roofline> measure_roofline(const RooflineRequest& request, const RooflineReport& report) {
  kernels::RooflinePlan plan;
  plan.rows = request.rows;
  LATHE_TRY(plan.formats, formats_named(request.formats));
  ModelInfo info = common_shape();
  if (!request.model.empty()) {
    LATHE_TRY(info, inspect_checkpoint(request.model));
  }
  plan.matrices = matrices_of(info);
  LATHE_TRY(const auto backend, open_backend({request.device, request.isa, request.n_threads}));
  Roofline roofline{{backend->info(), kernels::measure_ceilings(*backend)}, {}, {}};
  const kernels::Ceilings& ceilings = roofline.machine.ceilings;
  bool goes_on = true;
  LATHE_TRY_VOID(measured(*backend, [&] {
    roofline.points = kernels::measure_roofline(*backend, ceilings, plan, [&](const kernels::RooflinePoint& point) {
      goes_on = report.product(point);
      return goes_on;
    });
    if (goes_on) roofline.attention = kernels::measure_attention(*backend, ceilings, attention_of(info), report.attention);
  }));
  return roofline;
}

}  // namespace lathe::engine
