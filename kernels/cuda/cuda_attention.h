// SPDX-License-Identifier: Apache-2.0
// CudaAttention: the KV cache and attention over it: the choice of the kernels, the division of rows among warps and blocks
// of threads, and work memory.
#pragma once

#include <vector>

#include "kernels/api/backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/layout/attention_items.h"
#include "kernels/cuda/layout/step_plans.h"
#include "kernels/cuda/ops/ops.h"
#include "kernels/cuda/step_arrays.h"

namespace lathe::kernels::cuda {

/// A part of CudaBackend. Owns: memory on the device for parts of long contexts. Operations: those of Backend with these
/// names.
class CudaAttention {
 public:
  /// `n_processors`: multiprocessors of the device. `arrays` lives longer.
  CudaAttention(Stream stream, int n_processors, StepArrays& arrays)
      : stream_(stream), n_processors_(n_processors), arrays_(arrays) {}

  static std::size_t kv_layer_bytes(const KvShape& shape);
  std::size_t work_bytes_held() const { return partials_.n_bytes() + tickets_.n_bytes(); }

  void kv_write(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots);
  void attention(const TensorView& out, const TensorView& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                 const AttentionForm& form);

  /// Whether attention_for_product() has this form.
  static bool has_attention_for_product(const KvShape& shape, const AttentionForm& form);
  /// As attention(), but the result goes to `prepared`. Requires: has_attention_for_product().
  void attention_for_product(const PreparedX& prepared, const TensorView& q, int n_heads, const KvLayer& layer,
                             const AttentionBatch& batch, const AttentionForm& form);

 private:
  /// Everything that a plan depends on. The arrays of a batch do not change within a step.
  struct Key {
    const std::int32_t *query_start = nullptr, *context_len = nullptr;
    int n_seqs = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0, window = 0, n_prompt_queries = 0;
    bool is_causal = true, has_items = true;
    bool operator==(const Key&) const = default;
  };
  /// A plan for kernels on tensor cores, and its arrays on the device.
  struct TensorPlan {
    TensorTiling tiling;
    std::vector<ItemRun> runs;
    const AttentionItem* items = nullptr;
    const AttentionTile* tiles = nullptr;
  };
  /// A plan for attention().
  struct PlainPlan {
    AttentionTiling tiling;
    const AttentionTile* tiles = nullptr;
  };

  AttentionRows rows_of_step(const AttentionBatch& batch, const AttentionForm& form);
  template <class T>
  const T* on_device(const std::vector<T>& array);
  const TensorPlan& tensor_plan(const Key& key, const AttentionBatch& batch);
  bool reserve_parts(const Key& key, const TensorPlan& plan);
  void attend_on_tensor_cores(const Rows& out, const PreparedX& prepared, const Rows& q, int n_heads, const KvLayer& layer,
                              const AttentionBatch& batch, AttentionRows& rows);
  void attend_plain(const Rows& out, const Rows& q, int n_heads, const KvLayer& layer, const AttentionBatch& batch,
                    AttentionRows& rows);

  Stream stream_;
  int n_processors_;
  StepArrays& arrays_;
  DeviceBuffer partials_, tickets_;
  StepPlans<Key, TensorPlan> tensor_plans_;
  StepPlans<Key, PlainPlan> plain_plans_;
};

}  // namespace lathe::kernels::cuda
