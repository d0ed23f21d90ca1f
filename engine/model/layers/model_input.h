// SPDX-License-Identifier: Apache-2.0
// ModelInput: the rows of one step as a model reads them.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Where the layers of one group of the KV cache find and leave their rows.
struct KvRows {
  std::span<const std::int32_t> slots;  ///< [M], where each row's K and V go
  kernels::AttentionBatch batch;
};

/// Shapes: M rows.
struct ModelInput {
  std::span<const std::int32_t> token_ids;      ///< [M]
  std::span<const std::int32_t> positions;      ///< [M]
  std::span<const std::int32_t> rope_rows;      ///< [M], rows of RopeTable: of the part that each row's sequence chose
  std::span<const std::int32_t> token_types{};  ///< [M], the sentence of each, where the model has types
  std::span<const KvRows> kv_rows;              ///< by KvStorage::group_of()
  std::span<const std::int32_t> logit_rows;     ///< rows whose logits are wanted
};

}  // namespace lathe::engine
