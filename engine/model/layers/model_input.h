// SPDX-License-Identifier: Apache-2.0
// ModelInput: the rows of one step as a model reads them.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/api/backend.h"
#include "kernels/api/recurrent.h"

namespace lathe::engine {

/// Destination of K and V, and the contexts to attend to, for the layers of one group of the KV cache.
struct KvRows {
  std::span<const std::int32_t> slots;  ///< [M], slot of each row's K and V
  kernels::AttentionBatch batch;
};

/// Shapes: M rows.
struct ModelInput {
  std::span<const std::int32_t> token_ids;      ///< [M]
  std::span<const std::int32_t> positions;      ///< [M]
  std::span<const std::int32_t> rope_rows;      ///< [M], rows of RopeTable, in the part that the row's sequence chose
  std::span<const std::int32_t> token_types{};  ///< [M], token type (segment) of each row, if the model has types
  std::span<const KvRows> kv_rows;              ///< indexed by KvStorage::group_of()
  std::span<const KvRows> chunk_rows{};         ///< kv_rows for layers that see chunks, if the model has such layers
  std::span<const std::int32_t> logit_rows;     ///< rows that need logits
  kernels::RecurrentBatch recurrent{};          ///< of recurrent layers: the slot of each sequence's states
};

}  // namespace lathe::engine
