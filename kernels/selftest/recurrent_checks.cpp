// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest/recurrent_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/api/recurrent.h"
#include "kernels/selftest/stopwatch.h"

namespace lathe::kernels {
namespace {

constexpr double kTolerance = 5e-6;
constexpr std::int64_t kRows = 40;
constexpr std::int32_t kBorder = 17;  // rows after which a text is divided
constexpr std::size_t kSlots = 3;

/// The slots that a step uses.
struct StepSlots {
  std::int32_t slot = 0, source = 0;
  std::vector<StateSnapshot> snapshots{};
};

/// One layer, with inputs for a text of kRows rows.
struct LayerCase {
  const char* name;
  StateShape shape;
  std::int64_t n_key_heads;  ///< 0: a convolution alone
};

constexpr std::array kLayers = {
    LayerCase{"gated delta net 16 heads of 128",
              {.conv_channels = 2 * 8 * 128 + 16 * 128, .conv_kernel = 4, .n_heads = 16, .key_dim = 128, .value_dim = 128},
              8},
    LayerCase{"gated delta net 9 heads of 14",
              {.conv_channels = 2 * 3 * 10 + 9 * 14, .conv_kernel = 3, .n_heads = 9, .key_dim = 10, .value_dim = 14},
              3},
    LayerCase{"short convolution of 1024", {.conv_channels = 1024, .conv_kernel = 3}, 0}};

class LayerInputs {
 public:
  LayerInputs(const LayerCase& of, RandomNumbers& numbers, Backend& backend)
      : of_(of),
        x_(Dtype::f32, {kRows, of.shape.conv_channels}, numbers, 1, &backend),
        gates_(Dtype::f32, {kRows, std::max<std::int64_t>(2 * of.shape.n_heads, 1)}, numbers, 3, &backend),
        conv_(Dtype::f32, {of.shape.conv_kernel, of.shape.conv_channels}, numbers, 1, &backend),
        rates_(Dtype::f32, {std::max<std::int64_t>(of.shape.n_heads, 1)}, numbers, 1, &backend),
        dt_bias_(Dtype::f32, {std::max<std::int64_t>(of.shape.n_heads, 1)}, numbers, 1, &backend) {
    auto* const rates = rates_.view().as<float>();
    for (std::int64_t i = 0; i < of.shape.n_heads; ++i) rates[i] = -std::exp(rates[i]);
  }

  std::int64_t width() const {
    return of_.n_key_heads > 0 ? of_.shape.n_heads * of_.shape.value_dim : of_.shape.conv_channels;
  }

  /// Computes rows [begin, begin + n) of the text into the same rows of out [kRows, width()].
  void step(Backend& backend, void* states, std::int64_t begin, std::int64_t n, const TensorView& out,
            const StepSlots& of_step = {}) const {
    RecurrentOperations& ops = *recurrent_operations(backend);
    const std::int32_t starts[] = {0, static_cast<std::int32_t>(n)}, context[] = {static_cast<std::int32_t>(begin + n)},
                       slots[] = {of_step.slot}, sources[] = {of_step.source}, padding[] = {0};
    const RecurrentBatch batch{.n_seqs = 1,
                               .query_start = starts,
                               .context_len = context,
                               .slots = slots,
                               .n_padding = padding,
                               .sources = sources,
                               .snapshots = of_step.snapshots};
    const StateLayer layer{.data = states, .shape = of_.shape, .n_slots = kSlots};
    const RandomTensor x = x_.copy(), gates = gates_.copy();
    const TensorView rows = x.view().rows(begin, n), to = out.rows(begin, n);
    ops.causal_conv1d(rows, {.weight = conv_.view(), .applies_silu = of_.n_key_heads > 0}, layer, batch);
    if (of_.n_key_heads > 0) {
      ops.gated_delta_rule(to, rows, gates.view().rows(begin, n),
                           {.n_key_heads = of_.n_key_heads, .decay_rate = rates_.view(), .dt_bias = dt_bias_.view()}, layer,
                           batch);
    } else {
      backend.fill(to, 0);
      backend.add(to, rows);
    }
    backend.finish();
  }

 private:
  const LayerCase& of_;
  RandomTensor x_, gates_, conv_, rates_, dt_bias_;
};

Buffer states_of(Backend& backend, const LayerCase& of) {
  return backend.allocate(kSlots * recurrent_operations(backend)->state_bytes(of.shape));
}

/// Share of the rows that differ in any bit.
double share_of_differing_rows(const TensorView& a, const TensorView& b) {
  const auto n_bytes = static_cast<std::size_t>(a.dim(1)) * sizeof(float);
  double share = 0;
  for (std::int64_t row = 0; row < a.dim(0); ++row) {
    if (std::memcmp(a.row<float>(row), b.row<float>(row), n_bytes) != 0) share += 1.0 / static_cast<double>(a.dim(0));
  }
  return share;
}

void check_layer(Backend& backend, const LayerCase& of, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  const auto reference = make_reference_backend();
  const LayerInputs inputs(of, numbers, backend);
  const RandomTensor want({kRows, inputs.width()}), got({kRows, inputs.width()}, &backend),
      parts({kRows, inputs.width()}, &backend);
  const Buffer plain = states_of(*reference, of), states = states_of(backend, of);
  inputs.step(*reference, plain.data(), 0, kRows, want.view());
  OpCheck check{.op = of.name, .tolerance = kTolerance, .bound = {}};
  check.seconds = best_seconds(0, [&] { inputs.step(backend, states.data(), 0, kRows, got.view()); });
  check.max_error = relative_error(got.view(), want.view());
  add(std::move(check));
  OpCheck invariance{.op = std::string("in two steps, ") + of.name, .bound = {}};
  invariance.seconds = seconds_of([&] {
    inputs.step(backend, states.data(), 0, kBorder, parts.view());
    inputs.step(backend, states.data(), kBorder, kRows - kBorder, parts.view());
  });
  invariance.max_error = share_of_differing_rows(got.view(), parts.view());
  add(std::move(invariance));
  // One step leaves a snapshot on its way, and another sequence continues from it.
  OpCheck resumed{.op = std::string("from a snapshot, ") + of.name, .bound = {}};
  const StepSlots writes{.snapshots = {{.sequence = 0, .n_rows = kBorder, .slot = 1}}}, reads{.slot = 2, .source = 1};
  resumed.seconds = seconds_of([&] {
    inputs.step(backend, states.data(), 0, kRows, parts.view(), writes);
    inputs.step(backend, states.data(), kBorder, kRows - kBorder, parts.view(), reads);
  });
  resumed.max_error = share_of_differing_rows(got.view(), parts.view());
  add(std::move(resumed));
}

}  // namespace

void check_recurrent_layers(Backend& backend, RandomNumbers& numbers, const std::function<void(OpCheck)>& add) {
  if (recurrent_operations(backend) == nullptr) return;
  for (const LayerCase& of : kLayers) check_layer(backend, of, numbers, add);
}

}  // namespace lathe::kernels
