// SPDX-License-Identifier: Apache-2.0
// Writes K and V of tokens to the blocks of a paged KV cache, in the layout of CpuBackend.
#pragma once

#include "kernels/api/backend.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {

KvType kv_type_of(Dtype dtype);

/// Units: bytes of one layer of the cache.
std::size_t kv_layer_bytes_of(const KvShape& shape);

/// Writes rows [begin, end) of Backend::kv_write().
void write_kv(const KvLayer& layer, const TensorView& k, const TensorView& v, std::span<const std::int32_t> slots,
              std::int64_t begin, std::int64_t end);

}  // namespace lathe::kernels
