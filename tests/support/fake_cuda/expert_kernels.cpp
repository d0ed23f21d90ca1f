// SPDX-License-Identifier: Apache-2.0
// The fake kernels of mixtures of experts: one expert after the other.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/cuda/ops/experts.h"
#include "tests/support/fake_cuda/prepared_rows.h"
#include "tests/support/fake_cuda/products.h"

namespace lathe::kernels::cuda {
namespace {

using namespace lathe::tests;

std::span<Chosen> checked(const ChosenRows& chosen) {
  const std::int64_t count = std::int64_t{chosen.n_rows} * chosen.top_k;
  return {FakeDevice::elements(chosen.data, count), static_cast<std::size_t>(count)};
}

/// Calls body with each expert that has rows.
template <class Body>
void for_experts(const PlacedRows& rows, const Body& body) {
  const ExpertRows all = *FakeDevice::elements(rows.experts, 1);
  const ExpertRows* const listed = FakeDevice::elements(rows.experts + 1, all.n_rows);
  for (const ExpertRows& one : std::span(listed, static_cast<std::size_t>(all.n_rows))) {
    require(one.n_rows > 0 && one.first_slot % kRowTile == 0, "rows of an expert begin within a tile");
    require(one.first_slot + slots_of(one.n_rows) <= rows.x.n_rows, "an expert has slots after the last one");
    body(one);
  }
}

/// Prepared rows of one expert.
PreparedX rows_of_expert(const PreparedX& x, const ExpertRows& expert) {
  PreparedX part = x;
  part.data = static_cast<std::byte*>(x.data) + prepared_bytes(expert.first_slot, x.padded_k, x.is_bf16);
  part.n_rows = expert.n_rows;
  return part;
}

struct OneMatrix {
  StoredMatrix matrix;
  const float* bias;
};
OneMatrix matrix_of(const ExpertMatrices& matrices, const ExpertRows& expert) {
  const ExpertMatrix& one = *FakeDevice::elements(matrices.of_expert + expert.expert, 1);
  OneMatrix of{.matrix = matrices.form, .bias = one.bias};
  of.matrix.weights = one.weights;
  of.matrix.scales = one.scales;
  return of;
}

void place_now(const PlacedRows& to, const Rows& x, const ChosenRows& chosen, int n_experts) {
  const std::span<const Chosen> pairs = checked(chosen);
  check_prepared(to.x);
  FakeDevice::elements(to.experts, 1 + n_experts);
  ExpertRows all;
  std::int32_t slot = 0;
  for (std::int32_t expert = 0; expert < n_experts; ++expert) {
    ExpertRows one{.expert = expert, .first_slot = slot, .first_slice = all.first_slice};
    for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
      if (pairs[pair].expert != expert) continue;
      const std::int32_t own = slot + one.n_rows++;
      *FakeDevice::elements(to.pair_of + own, 1) = static_cast<std::int32_t>(pair);
      const float* const from = x.data + static_cast<std::int64_t>(pair) / chosen.top_k * x.stride;
      for (std::int64_t k = 0; k < to.x.padded_k; ++k) store_prepared(to.x, own, k, k < x.n_columns ? from[k] : 0);
    }
    if (one.n_rows == 0) continue;
    to.experts[1 + all.n_rows++] = one;
    all.first_slice += slices_of(one.n_rows);
    slot += slots_of(one.n_rows);
  }
  to.experts[0] = all;
}

void combine_now(const Rows& out, const Rows& pairs, const ChosenRows& chosen) {
  const std::span<const Chosen> of_pairs = checked(chosen);
  lathe::tests::checked(out);
  lathe::tests::checked(pairs);
  std::vector<std::int64_t> order(static_cast<std::size_t>(chosen.top_k));
  for (std::int64_t row = 0; row < chosen.n_rows; ++row) {
    std::iota(order.begin(), order.end(), row * chosen.top_k);
    std::ranges::stable_sort(order, {}, [&](std::int64_t pair) { return of_pairs[static_cast<std::size_t>(pair)].expert; });
    for (std::int64_t column = 0; column < out.n_columns; ++column) {
      float sum = 0;
      for (const std::int64_t pair : order)
        sum = std::fma(of_pairs[static_cast<std::size_t>(pair)].weight, pairs.data[pair * pairs.stride + column], sum);
      out.data[row * out.stride + column] = sum;
    }
  }
}

}  // namespace

void route(Stream stream, const ChosenRows& to, const Rows& logits, const RouterForm& form, const float* bias) {
  if (to.n_rows == 0) return;
  LATHE_CHECK(form.top_k == to.top_k && form.top_k <= kMostChosen && form.n_experts <= kMaxExperts);
  LATHE_CHECK(logits.n_rows == to.n_rows && logits.n_columns == form.n_experts);
  launch_kernel(stream, "route", [=] {
    lathe::tests::checked(logits);
    const std::span<Chosen> chosen = checked(to);
    const auto n_experts = static_cast<std::size_t>(form.n_experts), top_k = static_cast<std::size_t>(to.top_k);
    std::span<const float> biases;
    if (bias != nullptr) biases = {FakeDevice::elements(bias, form.n_experts), n_experts};
    for (std::size_t row = 0; row < static_cast<std::size_t>(to.n_rows); ++row) {
      const float* const from = logits.data + static_cast<std::int64_t>(row) * logits.stride;
      std::vector<float> scores(from, from + n_experts);
      choose_experts(form, scores, biases, chosen.subspan(row * top_k, top_k));
    }
  });
}

void place_rows(Stream stream, const PlacedRows& to, const Rows& x, const ChosenRows& chosen, int n_experts) {
  if (chosen.n_rows == 0) return;
  LATHE_CHECK(x.n_rows == chosen.n_rows && chosen.top_k <= kMostChosen && n_experts <= kMaxExperts);
  LATHE_CHECK(to.x.is_bf16 && to.x.padded_k >= x.n_columns);
  launch_kernel(stream, "place_rows", [=] {
    lathe::tests::checked(x);
    place_now(to, x, chosen, n_experts);
  });
}

void multiply_experts_gated(Stream stream, const PreparedX& to, const PlacedRows& rows, const ExpertMatrices& gate,
                            const ExpertMatrices& up, Activation activation, int) {
  LATHE_CHECK(are_gated_together(gate.form, up.form) && to.is_bf16 && to.padded_k == round_up(up.form.layout.n, kQuad));
  launch_kernel(stream, "multiply_experts_gated", [=] {
    for_experts(rows, [&](const ExpertRows& expert) {
      const OneMatrix of_gate = matrix_of(gate, expert), of_up = matrix_of(up, expert);
      multiply_gated_now(rows_of_expert(to, expert), rows_of_expert(rows.x, expert),
                         {.gate = of_gate.matrix,
                          .up = of_up.matrix,
                          .gate_bias = of_gate.bias,
                          .up_bias = of_up.bias,
                          .activation = activation});
    });
  });
}

void multiply_experts(Stream stream, const Rows& out, const PlacedRows& rows, const PreparedX& x,
                      const ExpertMatrices& matrices, int) {
  LATHE_CHECK(out.n_columns == matrices.form.layout.n);
  launch_kernel(stream, "multiply_experts", [=] {
    for_experts(rows, [&](const ExpertRows& expert) {
      const OneMatrix of = matrix_of(matrices, expert);
      const std::vector<float> totals = product_now(rows_of_expert(x, expert), of.matrix, of.bias, nullptr);
      for (std::int32_t row = 0; row < expert.n_rows; ++row) {
        const std::int32_t pair = *FakeDevice::elements(rows.pair_of + expert.first_slot + row, 1);
        float* const to = FakeDevice::elements(out.data + pair * out.stride, out.n_columns);
        std::copy_n(totals.begin() + row * out.n_columns, out.n_columns, to);
      }
    });
  });
}

void combine_experts(Stream stream, const Rows& out, const Rows& pairs, const ChosenRows& chosen) {
  if (chosen.n_rows == 0) return;
  LATHE_CHECK(out.n_rows == chosen.n_rows && out.n_columns == pairs.n_columns && chosen.top_k <= kMostChosen);
  launch_kernel(stream, "combine_experts", [=] { combine_now(out, pairs, chosen); });
}

}  // namespace lathe::kernels::cuda
