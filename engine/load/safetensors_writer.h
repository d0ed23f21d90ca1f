// SPDX-License-Identifier: Apache-2.0
// Begins a safetensors file.
#pragma once

#include "engine/load/weights_writer.h"

namespace lathe::engine {

/// Errors: those of WeightsWriter::create.
Result<WeightsWriter> create_safetensors(const std::string& path, std::span<const WrittenTensor> tensors);

}  // namespace lathe::engine
