// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/short_conv.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

LinearShape conv_in_shape(const ModelConfig& config) {
  return {3 * config.hidden_size, config.hidden_size, config.short_conv.has_bias};
}
LinearShape conv_out_shape(const ModelConfig& config) {
  return {config.hidden_size, config.hidden_size, config.short_conv.has_bias};
}

}  // namespace

ShortConv::ShortConv(const LayerFormats& formats, const ModelConfig& config)
    : in_(formats.of(MatrixPart::attention_in), conv_in_shape(config)),
      conv_(Dtype::f32, {config.short_conv.kernel, config.hidden_size}),
      out_(formats.of(MatrixPart::attention_out), conv_out_shape(config)) {
  if (config.short_conv.has_bias) conv_bias_ = DeviceTensor(Dtype::f32, {config.hidden_size});
}

bool ShortConv::accept(kernels::Backend& backend, WeightRole role, const TensorView& source) {
  switch (role) {
    case WeightRole::short_conv_in: in_.load_rows(backend, 0, source); return true;
    case WeightRole::short_conv_in_bias: in_.load_bias(backend, 0, source); return true;
    case WeightRole::short_conv: copy_transposed(backend, conv_.view(), source); return true;
    case WeightRole::short_conv_bias: copy_converted(backend, conv_bias_.view(), source); return true;
    case WeightRole::short_conv_out: out_.load_rows(backend, 0, source); return true;
    case WeightRole::short_conv_out_bias: out_.load_bias(backend, 0, source); return true;
    default: return false;
  }
}

void ShortConv::forward(kernels::Backend& backend, const AttentionContext& context, const TensorView& x,
                        const StepBuffers& step) const {
  const std::int64_t h = context.config.hidden_size;
  const TensorView b = step.conv_in.columns(0, h), c = step.conv_in.columns(h, h), in = step.conv_in.columns(2 * h, h);
  kernels::RecurrentOperations& ops = *kernels::recurrent_operations(backend);
  in_.forward(backend, step.conv_in, x);
  ops.multiply(in, b);
  ops.causal_conv1d(in, {.weight = conv_.view(), .bias = conv_bias_.view(), .applies_silu = false}, context.states,
                    context.input.recurrent);
  ops.multiply(in, c);
  out_.forward(backend, step.delta, in);
}

}  // namespace lathe::engine
