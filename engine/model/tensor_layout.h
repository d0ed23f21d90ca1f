// SPDX-License-Identifier: Apache-2.0
// Converts a tensor between the layout of files and the plain layout that the layers read.
#pragma once

#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/architecture.h"
#include "engine/model/model_config.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// The layout of a tensor in files of this format; `usual`, the layout of the family's own files, where the format keeps it.
TensorLayout layout_of(StoredForm form, TensorLayout usual);

/// True if the layout keeps rows whole, so that rows of codes can be moved as well.
bool moves_rows_at_most(TensorLayout layout);

/// Layout of a role's tensor whose heads of V are in the other order (DeltaNetConfig::is_tiled), and apart from that as
/// `layout` says.
TensorLayout with_other_value_heads(WeightRole role, TensorLayout layout);

/// Shape in files of a tensor whose plain shape is `shape`.
std::vector<std::int64_t> stored_shape(TensorLayout layout, std::vector<std::int64_t> shape);

/// Returns the tensor in plain layout: `source` itself if it already is, else a copy in `memory` of the same type.
kernels::TensorView to_plain(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config,
                             const kernels::TensorView& source, std::vector<std::byte>& memory);
/// The inverse of to_plain().
kernels::TensorView to_stored(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config,
                              const kernels::TensorView& plain, std::vector<std::byte>& memory);

}  // namespace lathe::engine
