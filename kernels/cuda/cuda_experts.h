// SPDX-License-Identifier: Apache-2.0
// CudaExperts: mixtures of experts, which run without the host: the rows of a step are sorted by expert on the device, and
// one kernel multiplies all experts with their rows.
#pragma once

#include <memory>
#include <span>

#include "kernels/api/backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/ops/experts.h"

namespace lathe::kernels::cuda {

/// Owns: tables of the experts' matrices on the device.
class DeviceExperts final : public PackedExperts {
 public:
  /// Null: experts of that form are not multiplied together. Errors: throws DeviceFailure.
  static std::unique_ptr<DeviceExperts> create(Stream stream, std::span<const MlpWeights> experts, std::int64_t top_k);

  ExpertMatrices gate() const { return matrices(gate_, 0); }
  ExpertMatrices up() const { return matrices(up_, 1); }
  ExpertMatrices down() const { return matrices(down_, 2); }
  int n_experts() const { return n_experts_; }
  Activation activation() const { return activation_; }

 private:
  DeviceExperts() = default;
  ExpertMatrices matrices(const StoredMatrix& form, int role) const {
    return {.form = form, .of_expert = table_.as<ExpertMatrix>() + role * n_experts_};
  }

  StoredMatrix gate_, up_, down_;  ///< forms
  int n_experts_ = 0;
  Activation activation_ = Activation::silu;
  DeviceBuffer table_;  ///< ExpertMatrix [gate, up, down][n_experts]
};

/// A part of CudaBackend. Owns: work memory on the device, which only grows.
class CudaExperts {
 public:
  CudaExperts(Stream stream, int n_processors) : stream_(stream), n_processors_(n_processors) {}

  /// Units: bytes that reserve() takes.
  static std::size_t work_bytes(const StepShape& shape);
  /// Requires: no kernel of the stream is running. False: no memory is left.
  bool reserve(const StepShape& shape);
  std::size_t work_bytes_held() const {
    return experts_.n_bytes() + pair_of_.n_bytes() + x_.n_bytes() + inner_x_.n_bytes() + pairs_.n_bytes();
  }

  /// Backend::route().
  void route(const TensorView& chosen, const TensorView& logits, const RouterForm& form, const TensorView& bias);
  /// Backend::mix_experts().
  void mix(const TensorView& out, const TensorView& x, const TensorView& chosen, const DeviceExperts& experts);

 private:
  /// Sizes of the work buffers. Units: bytes.
  struct WorkSizes {
    std::size_t experts = 0, pair_of = 0, x = 0, inner_x = 0, pairs = 0;
  };
  struct MixShape {
    std::int64_t n_rows = 0, top_k = 0, n_experts = 0, hidden_size = 0, expert_size = 0;
  };
  static WorkSizes work_sizes(const MixShape& shape);
  static WorkSizes work_sizes(const StepShape& shape);
  void mix_rows(const Rows& out, const Rows& x, const ChosenRows& chosen, const DeviceExperts& experts);

  Stream stream_;
  int n_processors_;
  DeviceBuffer experts_, pair_of_, x_, inner_x_, pairs_;
};

}  // namespace lathe::kernels::cuda
