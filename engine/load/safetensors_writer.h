// SPDX-License-Identifier: Apache-2.0
// Creates safetensors files.
#pragma once

#include "engine/load/weights_writer.h"

namespace lathe::engine {

/// Creates the file and writes its header. Errors: as WeightsWriter::create.
Result<WeightsWriter> create_safetensors(const std::string& path, std::span<const WrittenTensor> tensors);

}  // namespace lathe::engine
