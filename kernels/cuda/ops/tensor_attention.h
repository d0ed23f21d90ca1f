// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores: functions that launch its kernels.
#pragma once

#include "kernels/cuda/layout/attention_items.h"
#include "kernels/cuda/ops/ops.h"

namespace lathe::kernels::cuda {

/// Items of a step and the space for their parts. Requires: fewer than 2^31 heads of tokens in the cache.
struct TensorWork {
  const AttentionItem* items = nullptr;
  int n_items = 0;       ///< items times heads of the cache times chunks
  int n_head_items = 1;  ///< heads of the cache times chunks: neighbours share an AttentionItem
  int n_chunks = 1;      ///< chunks of the query heads of a KV head
  int group = 1;         ///< query heads of a KV head
  int n_few_queries = 1;
  int n_processors = 1;
  float* partials = nullptr;  ///< [n_items][n_few_queries][part_floats()]
  int* tickets = nullptr;     ///< zeros, for each tile with items and its heads
};

/// Whether the kernels below have the form: 16-bit elements, head_dim as listed in for_tensor_form(). Rows of q and of the
/// result are then read and written two elements at a time.
bool has_tensor_attention(const KvShape& shape, const AttentionRows& rows);
/// Whether attend_wide() has it on this device.
bool has_warpgroup_attention(const KvShape& shape, const AttentionRows& rows);

// Each function writes the result to `out`, if it has data, and as the input of a product to `prepared`, if that has data.
/// Attention of the tiles with items. Blocks wait for parts of others: no kernel of another stream may keep blocks from
/// their multiprocessors for good.
void attend_few(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                const AttentionRows& rows, const TensorWork& work);
/// Attention of tiles of kPromptQueries queries.
void attend_many(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group);
/// The same with Hopper's products of four warps, for tiles of kWidePromptQueries. Requires: has_warpgroup_attention().
void attend_wide(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group);

}  // namespace lathe::kernels::cuda
