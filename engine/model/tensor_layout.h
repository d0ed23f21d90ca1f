// SPDX-License-Identifier: Apache-2.0
// Brings a tensor as files have it into the order in which the layers take it, and back.
#pragma once

#include <vector>

#include "engine/load/checkpoint.h"
#include "engine/model/architecture.h"
#include "engine/model/model_config.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// What the file's format does goes before `usual`, what the family's own files do.
TensorLayout layout_of(StoredForm form, TensorLayout usual);

/// Whether rows stay whole, so that rows of codes can be moved as well.
bool moves_rows_at_most(TensorLayout layout);

/// The shape that a tensor of `shape` has in files.
std::vector<std::int64_t> stored_shape(TensorLayout layout, std::vector<std::int64_t> shape);

/// The tensor in plain order: `source` itself if it is, else a copy in `memory` of the same type.
kernels::TensorView to_plain(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config,
                             const kernels::TensorView& source, std::vector<std::byte>& memory);
/// What to_plain() undoes.
kernels::TensorView to_stored(kernels::Backend& backend, TensorLayout layout, const ModelConfig& config,
                              const kernels::TensorView& plain, std::vector<std::byte>& memory);

}  // namespace lathe::engine
