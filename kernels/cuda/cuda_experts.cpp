// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_experts.h"

#include <algorithm>
#include <vector>

#include "kernels/cuda/device_matrix.h"
#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/rows_of.h"
#include "kernels/cuda/stored_format.h"

namespace lathe::kernels::cuda {
namespace {

// Rows that are mixed at a time: of 128 experts with 8 for each row, each has 32 of them, as many as a warp takes at a time.
// More would need more memory for the outputs of all pairs.
constexpr std::int64_t kMostRows = 512;

StoredMatrix stored(const PackedMatrix& matrix) { return static_cast<const DeviceMatrix&>(matrix).stored(); }

/// True if the products of an expert are those of the first one, with other weights.
bool are_multiplied_together(const MlpWeights& first, const MlpWeights& other) {
  if (other.gate == nullptr || other.activation != first.activation) return false;
  const StoredMatrix up = stored(first.up), down = stored(first.down), gate = stored(*other.gate),
                     other_up = stored(other.up), other_down = stored(other.down);
  const bool has_order = gate.order != nullptr || other_up.order != nullptr || other_down.order != nullptr;
  return !has_order && are_gated_together(up, gate) && are_gated_together(up, other_up) &&
         are_gated_together(down, other_down) && down.layout.k == up.layout.n;
}

ExpertMatrix expert_matrix(const StoredMatrix& matrix, const TensorView& bias) {
  return {.weights = static_cast<const std::byte*>(matrix.weights),
          .scales = static_cast<const std::byte*>(matrix.scales),
          .bias = bias.as<const float>()};
}

Rows rows_from(const Rows& rows, std::int64_t first, std::int64_t count) {
  return {.data = rows.data + first * rows.stride, .stride = rows.stride, .n_rows = count, .n_columns = rows.n_columns};
}

/// The elements of type Chosen of a view [M, 2 top_k].
ChosenRows chosen_rows(const TensorView& chosen) {
  LATHE_CHECK(is_rows_of_f32(chosen) && chosen.strides[0] == chosen.dim(1) && chosen.dim(1) % 2 == 0);
  return {.data = static_cast<Chosen*>(chosen.data),
          .n_rows = static_cast<int>(chosen.dim(0)),
          .top_k = static_cast<int>(chosen.dim(1) / 2)};
}

}  // namespace

std::unique_ptr<DeviceExperts> DeviceExperts::create(Stream stream, std::span<const MlpWeights> experts,
                                                     std::int64_t top_k) {
  if (experts.empty() || std::ssize(experts) > kMaxExperts || top_k > kMostChosen) return nullptr;
  const MlpWeights& first = experts.front();
  const bool are_together =
      std::ranges::all_of(experts, [&](const MlpWeights& one) { return are_multiplied_together(first, one); });
  if (!are_together) return nullptr;
  std::unique_ptr<DeviceExperts> made(new DeviceExperts());
  made->gate_ = stored(*first.gate);
  made->up_ = stored(first.up);
  made->down_ = stored(first.down);
  made->n_experts_ = static_cast<int>(experts.size());
  made->activation_ = first.activation;
  std::vector<ExpertMatrix> table;
  table.reserve(3 * experts.size());
  for (const MlpWeights& one : experts) table.push_back(expert_matrix(stored(*one.gate), one.gate_bias));
  for (const MlpWeights& one : experts) table.push_back(expert_matrix(stored(one.up), one.up_bias));
  for (const MlpWeights& one : experts) table.push_back(expert_matrix(stored(one.down), one.down_bias));
  const std::size_t n_bytes = table.size() * sizeof(ExpertMatrix);
  made->table_.require(n_bytes, "the table of experts");
  check(cudaMemcpyAsync(made->table_.data(), table.data(), n_bytes, cudaMemcpyHostToDevice, stream), "copying a table");
  check(cudaStreamSynchronize(stream), "copying a table");
  return made;
}

CudaExperts::WorkSizes CudaExperts::work_sizes(const MixShape& shape) {
  const std::int64_t n_pairs = std::min(shape.n_rows, kMostRows) * shape.top_k;
  const std::int64_t n_slots = most_slots(n_pairs, shape.n_experts);
  const auto bytes_of = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return {.experts = bytes_of((1 + shape.n_experts) * static_cast<std::int64_t>(sizeof(ExpertRows))),
          .pair_of = bytes_of(n_slots * static_cast<std::int64_t>(sizeof(std::int32_t))),
          .x = bytes_of(prepared_bytes(n_slots, round_up(shape.hidden_size, kQuad), true)),
          .inner_x = bytes_of(prepared_bytes(n_slots, round_up(shape.expert_size, kQuad), true)),
          .pairs = bytes_of(n_pairs * shape.hidden_size * static_cast<std::int64_t>(sizeof(float)))};
}

CudaExperts::WorkSizes CudaExperts::work_sizes(const StepShape& shape) {
  const auto is_in_tiles = [&](WeightFormat format) {
    return !is_in_rows(stored_matrix(format, kTile, shape.hidden_size).layout.storage) &&
           !is_in_rows(stored_matrix(format, kTile, shape.expert_size).layout.storage);
  };
  const bool mixes = shape.n_experts > 0 && shape.top_k <= kMostChosen &&
                     (is_in_tiles(shape.expert_format) || std::ranges::any_of(shape.other_formats, is_in_tiles));
  if (!mixes) return {};
  return work_sizes(MixShape{.n_rows = shape.n_rows,
                             .top_k = shape.top_k,
                             .n_experts = shape.n_experts,
                             .hidden_size = shape.hidden_size,
                             .expert_size = shape.expert_size});
}

std::size_t CudaExperts::work_bytes(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  return sizes.experts + sizes.pair_of + sizes.x + sizes.inner_x + sizes.pairs;
}

bool CudaExperts::reserve(const StepShape& shape) {
  const WorkSizes sizes = work_sizes(shape);
  return experts_.reserve(sizes.experts) && pair_of_.reserve(sizes.pair_of) && x_.reserve(sizes.x) &&
         inner_x_.reserve(sizes.inner_x) && pairs_.reserve(sizes.pairs);
}

void CudaExperts::route(const TensorView& chosen, const TensorView& logits, const RouterForm& form, const TensorView& bias) {
  cuda::route(stream_, chosen_rows(chosen), rows_of(logits), form, bias.as<const float>());
}

void CudaExperts::mix(const TensorView& out, const TensorView& x, const TensorView& chosen, const DeviceExperts& experts) {
  const ChosenRows all = chosen_rows(chosen);
  const std::int64_t n_rows = x.dim(0);
  LATHE_CHECK(out.dim(0) == n_rows && all.n_rows == n_rows && x.dim(1) == experts.up().form.layout.k &&
              out.dim(1) == experts.down().form.layout.n);
  for (std::int64_t first = 0; first < n_rows; first += kMostRows) {
    const std::int64_t count = std::min(n_rows - first, kMostRows);
    mix_rows(rows_from(rows_of(out), first, count), rows_from(rows_of(x), first, count),
             {.data = all.data + first * all.top_k, .n_rows = static_cast<int>(count), .top_k = all.top_k}, experts);
  }
}

void CudaExperts::mix_rows(const Rows& out, const Rows& x, const ChosenRows& chosen, const DeviceExperts& experts) {
  const ExpertMatrices up = experts.up(), down = experts.down();
  const MixShape shape{.n_rows = chosen.n_rows,
                       .top_k = chosen.top_k,
                       .n_experts = experts.n_experts(),
                       .hidden_size = out.n_columns,
                       .expert_size = up.form.layout.n};
  const WorkSizes sizes = work_sizes(shape);
  constexpr const char* kWhat = "rows by expert";
  experts_.require(sizes.experts, kWhat);
  pair_of_.require(sizes.pair_of, kWhat);
  x_.require(sizes.x, kWhat);
  inner_x_.require(sizes.inner_x, kWhat);
  pairs_.require(sizes.pairs, kWhat);
  const std::int64_t n_pairs = shape.n_rows * shape.top_k, n_slots = most_slots(n_pairs, shape.n_experts);
  const PlacedRows placed{
      .experts = experts_.as<ExpertRows>(),
      .pair_of = pair_of_.as<std::int32_t>(),
      .x = {.data = x_.data(), .n_rows = n_slots, .padded_k = up.form.layout.padded_k(), .is_bf16 = true}};
  const PreparedX inner{
      .data = inner_x_.data(), .n_rows = n_slots, .padded_k = down.form.layout.padded_k(), .is_bf16 = true};
  const Rows pairs{.data = pairs_.as<float>(), .stride = out.n_columns, .n_rows = n_pairs, .n_columns = out.n_columns};
  place_rows(stream_, placed, x, chosen, experts.n_experts());
  multiply_experts_gated(stream_, inner, placed, experts.gate(), up, experts.activation(), n_processors_);
  multiply_experts(stream_, pairs, placed, inner, down, n_processors_);
  combine_experts(stream_, out, pairs, chosen);
}

}  // namespace lathe::kernels::cuda
