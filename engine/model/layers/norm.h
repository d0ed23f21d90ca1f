// SPDX-License-Identifier: Apache-2.0
// NormLayer: the weight and the bias of a norm.
#pragma once

#include "engine/model/layers/device_tensor.h"
#include "engine/model/layers/weight_parts.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// Shapes: weight [n], bias [n] or none, f32. A default-constructed NormLayer is absent, as is one with n 0.
class NormLayer {
 public:
  NormLayer() = default;
  NormLayer(const NormConfig& config, std::int64_t n);
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.weight_, self.bias_);
  }

  /// Sets the weight of a norm for which files store none.
  void on_allocated(kernels::Backend& backend);

  /// Shapes: weight, bias: n elements of any floating type, in any shape.
  void load_weight(kernels::Backend& backend, const kernels::TensorView& weight);
  /// Loads the elements from `first` on.
  void load_weight_part(kernels::Backend& backend, std::int64_t first, const kernels::TensorView& part);
  void load_bias(kernels::Backend& backend, const kernels::TensorView& bias);
  /// Multiplies the loaded weight.
  void scale_weight(double factor);

  bool exists() const { return weight_.view().data != nullptr; }
  kernels::Norm view() const {
    return {.kind = config_.kind, .weight = weight_.view(), .bias = bias_.view(), .eps = static_cast<float>(config_.eps)};
  }

 private:
  void add_one(std::int64_t first, std::int64_t n);

  NormConfig config_;
  DeviceTensor weight_, bias_;
};

/// A norm without weight: ones [n]. A default-constructed UnitNorm is absent.
class UnitNorm {
 public:
  UnitNorm() = default;
  UnitNorm(const NormConfig& config, std::int64_t n) : config_(config), ones_(kernels::Dtype::f32, {n}) {}
  /// Names each part once (weight_parts.h).
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.ones_);
  }
  /// Fills the ones.
  void on_allocated();

  kernels::Norm view() const {
    return {.kind = config_.kind, .weight = ones_.view(), .eps = static_cast<float>(config_.eps)};
  }

 private:
  NormConfig config_;
  DeviceTensor ones_;
};

}  // namespace lathe::engine
