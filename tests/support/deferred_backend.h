// SPDX-License-Identifier: Apache-2.0
// DeferredBackend: runs operations as late as Backend allows, as a device does, and records what the host does too early.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/api/backend.h"

namespace lathe::tests {

/// Keeps operations until finish() or parallel_for(). Until then the memory of allocate() has other contents: what the host
/// reads there is wrong (NaN, or -1), what it writes there is found, and so are spans in that memory and memory that is
/// freed. Memory of allocate_on_device() always has other contents for the host; results come by download() and arg_max().
/// Arrays that are changed within a step are found. fail_at() makes an operation fail, as one on a device does.
/// Requires: every buffer is freed before the backend.
class DeferredBackend final : public kernels::Backend {
 public:
  explicit DeferredBackend(std::unique_ptr<kernels::Backend> inner) : inner_(std::move(inner)) {}
  ~DeferredBackend() override { finish(); }

  /// Accesses of the host to backend memory while operations were not done, in order.
  const std::vector<std::string>& violations() const { return violations_; }
  /// Operations that were kept so far; pack_rows() counts too.
  std::int64_t n_deferred() const { return n_deferred_; }
  /// Times that the host has waited for operations so far.
  std::int64_t n_waits() const { return n_waits_; }
  /// From now on the backend has no PackedExperts, as that of processors.
  void hide_experts() { has_experts_ = false; }
  /// Bytes of all buffers and packed matrices that were made so far.
  std::int64_t n_bytes() const { return n_bytes_; }
  /// Lets the n-th operation from now on (from 1) fail. A lost device stays lost.
  void fail_at(std::int64_t n, kernels::OperationError error) {
    failing_ = n_deferred_ + n;
    error_to_come_ = std::move(error);
  }

  /// From now on the device is lost: no operation is done, and no memory is given.
  void lose_device(std::string message) {
    error_ = kernels::OperationError{kernels::OperationFailure::device_lost, std::move(message)};
  }

  const kernels::BackendInfo& info() const override { return inner_->info(); }
  kernels::Buffer allocate(std::size_t n_bytes) override { return allocate(n_bytes, false); }
  kernels::Buffer allocate_on_device(std::size_t n_bytes) override { return allocate(n_bytes, true); }
  void begin_step(std::span<const std::span<const std::int32_t>> arrays) override;
  void finish() override;
  std::optional<kernels::OperationError> take_error() override;

  std::size_t packed_bytes(kernels::WeightFormat format, std::int64_t n, std::int64_t k) const override {
    return inner_->packed_bytes(format, n, k);
  }
  std::unique_ptr<kernels::PackedMatrix> make_packed(kernels::WeightFormat format, std::int64_t n, std::int64_t k) override;
  void pack_rows(kernels::PackedMatrix& matrix, std::int64_t row_begin, const kernels::TensorView& source) override {
    finish();
    run(++n_deferred_, [&] { inner_->pack_rows(matrix, row_begin, source); });
  }
  std::size_t work_bytes(const kernels::StepShape& shape) const override { return inner_->work_bytes(shape); }
  bool reserve(const kernels::StepShape& shape) override { return !is_lost() && inner_->reserve(shape); }
  std::size_t work_bytes_held() const override { return inner_->work_bytes_held(); }

  void embed(const kernels::TensorView& out, const kernels::TensorView& table, std::span<const std::int32_t> ids) override;
  void norm(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::Norm& norm) override;
  void add_norm(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::TensorView& delta,
                const kernels::Norm& norm) override;
  void norm_heads(const kernels::TensorView& x, int n_heads, const kernels::Norm& norm) override;
  void add(const kernels::TensorView& x, const kernels::TensorView& delta) override;
  void linear(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::PackedMatrix& matrix,
              const kernels::TensorView& bias) override;
  void scale(const kernels::TensorView& x, float factor) override;
  void clamp(const kernels::TensorView& x, float limit) override;
  void soft_cap(const kernels::TensorView& x, float cap) override;
  void mlp(const kernels::TensorView& out, const kernels::HalfInput& in, const kernels::MlpWeights& weights) override;
  void rope(const kernels::TensorView& x, int n_heads, int head_dim, std::span<const std::int32_t> positions,
            const kernels::RopeForm& form) override;
  void fill(const kernels::TensorView& x, float value) override;
  void add_rows(const kernels::TensorView& out, std::span<const std::int32_t> rows, const kernels::TensorView& x,
                std::span<const float> factors) override;
  void gather_rows(const kernels::TensorView& out, const kernels::TensorView& x,
                   std::span<const std::int32_t> rows) override;
  std::unique_ptr<kernels::PackedExperts> make_experts(std::span<const kernels::MlpWeights> experts,
                                                       std::int64_t top_k) override {
    return has_experts_ ? inner_->make_experts(experts, top_k) : nullptr;
  }
  void route(const kernels::TensorView& chosen, const kernels::TensorView& logits, const kernels::RouterForm& form,
             const kernels::TensorView& bias) override;
  void mix_experts(const kernels::TensorView& out, const kernels::TensorView& x, const kernels::TensorView& chosen,
                   const kernels::PackedExperts& experts) override;
  void scale_by_sigmoid(const kernels::TensorView& x, const kernels::TensorView& gate) override;
  kernels::TensorView download(const kernels::TensorView& x, std::span<const std::int32_t> rows) override;
  std::span<const std::int32_t> arg_max(const kernels::TensorView& x) override;
  std::size_t kv_layer_bytes(const kernels::KvShape& shape) const override { return inner_->kv_layer_bytes(shape); }
  void kv_write(const kernels::KvLayer& layer, const kernels::TensorView& k, const kernels::TensorView& v,
                std::span<const std::int32_t> slots) override;
  void attention(const kernels::TensorView& out, const kernels::TensorView& q, int n_heads, const kernels::KvLayer& layer,
                 const kernels::AttentionBatch& batch, const kernels::AttentionForm& form) override;
  void project_qkv(const kernels::TensorView& qkv, const kernels::HalfInput& in, const kernels::QkvForm& form,
                   std::span<const std::int32_t> positions, const kernels::KvLayer& layer,
                   std::span<const std::int32_t> slots) override;
  void attend(const kernels::TensorView& out, const kernels::TensorView& heads, const kernels::TensorView& q, int n_heads,
              const kernels::KvLayer& layer, const kernels::AttentionBatch& batch, const kernels::AttentionForm& form,
              const kernels::PackedMatrix& matrix, const kernels::TensorView& bias) override;
  void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) override;

 private:
  /// Memory of one buffer. `kept`: its contents while operations are not done, empty otherwise.
  struct Memory {
    std::vector<std::byte> kept;
    std::size_t n_bytes = 0;
    bool is_freed = false;
    bool is_of_device = false;  ///< the contents are never there for the host
  };
  /// An array of the current step, as it was when it was first seen.
  struct StepArray {
    const std::byte* data;
    std::vector<std::byte> bytes;
  };

  bool is_lost() const { return error_ && error_->kind == kernels::OperationFailure::device_lost; }
  kernels::Buffer allocate(std::size_t n_bytes, bool is_of_device);
  void note_array(std::span<const std::byte> array);
  void end_step();

  static void free_memory(void* data, std::size_t n_bytes);
  void defer(std::function<void()> operation);
  void run(std::int64_t index, const std::function<void()>& operation);
  void hide();
  void reveal();
  template <class T>
  std::vector<T> copy_of(std::span<const T> array, const char* name);

  std::unique_ptr<kernels::Backend> inner_;
  std::map<std::byte*, Memory> buffers_;
  std::vector<std::function<void()>> operations_;
  std::vector<std::string> violations_;
  bool is_in_step_ = false, has_experts_ = true;
  std::vector<StepArray> step_arrays_;
  std::shared_ptr<std::vector<float>> downloaded_;  ///< operations that write it own it too
  std::shared_ptr<std::vector<std::int32_t>> best_ids_;
  std::int64_t n_deferred_ = 0, n_waits_ = 0, failing_ = 0, n_bytes_ = 0;
  kernels::OperationError error_to_come_;
  std::optional<kernels::OperationError> error_;
};

}  // namespace lathe::tests
