// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/row_ops.h"

#include "kernels/api/check.h"

namespace lathe::kernels {

bool is_norm_of(const Norm& norm, std::int64_t n) {
  return norm.weight.n_elements() == n && (norm.bias.data == nullptr || norm.bias.n_elements() == n);
}

NormArgs norm_args(const TensorView& out, const TensorView& x, const TensorView& delta, const Norm& norm) {
  LATHE_CHECK(is_rows_of_f32(out) && is_rows_of_f32(x) && out.dim(0) == x.dim(0) && out.dim(1) == x.dim(1));
  LATHE_CHECK(is_norm_of(norm, x.dim(1)));
  const bool adds = delta.data != nullptr;
  LATHE_CHECK(!adds || (is_rows_of_f32(delta) && delta.dim(0) == x.dim(0) && delta.dim(1) == x.dim(1)));
  return {.out = out.as<float>(),
          .out_stride = out.strides[0],
          .x = x.as<float>(),
          .x_stride = x.strides[0],
          .delta = delta.as<float>(),
          .delta_stride = adds ? delta.strides[0] : 0,
          .weight = norm.weight.as<float>(),
          .bias = norm.bias.as<float>(),
          .n = x.dim(1),
          .eps = norm.eps};
}

ElementwiseArgs add_args(const TensorView& x, const TensorView& delta) {
  LATHE_CHECK(is_rows_of_f32(x) && is_rows_of_f32(delta) && delta.dim(0) == x.dim(0) && delta.dim(1) == x.dim(1));
  return {.out = x.as<float>(),
          .out_stride = x.strides[0],
          .gate = nullptr,
          .up = delta.as<float>(),
          .in_stride = delta.strides[0],
          .n = x.dim(1)};
}

MapArgs map_args(const TensorView& x, float parameter) {
  LATHE_CHECK(is_rows_of_f32(x));
  return {.x = x.as<float>(), .x_stride = x.strides[0], .n = x.dim(1), .parameter = parameter};
}

SigmoidArgs sigmoid_args(const TensorView& x, const TensorView& gate) {
  LATHE_CHECK(is_rows_of_f32(x) && is_rows_of_f32(gate) && x.dim(0) == gate.dim(0));
  LATHE_CHECK(gate.dim(1) > 0 && x.dim(1) % gate.dim(1) == 0);
  return {.x = x.as<float>(),
          .x_stride = x.strides[0],
          .gate = gate.as<float>(),
          .gate_stride = gate.strides[0],
          .n_gates = gate.dim(1),
          .width = x.dim(1) / gate.dim(1)};
}

RopeArgs rope_args(const TensorView& x, int n_heads, std::span<const std::int32_t> positions, const RopeForm& form) {
  const std::int64_t head_dim = x.dim(1) / n_heads, rotary_dim = 2 * form.cos.dim(1);
  LATHE_CHECK(is_rows_of_f32(x) && x.dim(1) == n_heads * head_dim && rotary_dim <= head_dim);
  LATHE_CHECK(static_cast<std::int64_t>(positions.size()) >= x.dim(0) && form.cos.strides[0] == form.sin.strides[0]);
  for (const std::int32_t position : positions) LATHE_CHECK(position >= 0 && position < form.cos.dim(0));
  return {.x = x.as<float>(),
          .x_stride = x.strides[0],
          .n_heads = n_heads,
          .head_dim = static_cast<int>(head_dim),
          .rotary_dim = static_cast<int>(rotary_dim),
          .positions = positions.data(),
          .cos = form.cos.as<float>(),
          .sin = form.sin.as<float>(),
          .table_stride = form.cos.strides[0],
          .interleaved = form.style == RopeStyle::interleaved};
}

void norm_heads_of_rows(const OpTable& ops, const TensorView& x, int n_heads, const Norm& norm, std::int64_t begin,
                        std::int64_t end) {
  const std::int64_t head_dim = x.dim(1) / n_heads;
  const bool is_shared = is_norm_of(norm, head_dim);
  LATHE_CHECK(is_shared || is_norm_of(norm, x.dim(1)));
  auto* const op = norm_of(ops, norm);
  for (std::int64_t m = begin; m < end; ++m) {
    NormArgs args{.out = x.row<float>(m),
                  .out_stride = head_dim,
                  .x = x.row<float>(m),
                  .x_stride = head_dim,
                  .delta = nullptr,
                  .delta_stride = 0,
                  .weight = norm.weight.as<float>(),
                  .bias = norm.bias.as<float>(),
                  .n = head_dim,
                  .eps = norm.eps};
    if (is_shared) {  // all heads of a row are normalised in one call, as n_heads rows
      op(args, 0, n_heads);
      continue;
    }
    for (int head = 0; head < n_heads; ++head) {
      op(args, head, head + 1);
      args.weight += head_dim;
      if (args.bias != nullptr) args.bias += head_dim;
    }
  }
}

}  // namespace lathe::kernels
