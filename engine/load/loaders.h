// SPDX-License-Identifier: Apache-2.0
// Loader: reads one file format into a Checkpoint. loaders.cpp is the table of loaders.
#pragma once

#include <span>
#include <string_view>

#include "engine/load/checkpoint.h"
#include "engine/load/files/model_folder.h"

namespace lathe::engine {

struct Loader {
  std::string_view name;  ///< "safetensors"
  /// Decides by the names of the files in the folder.
  bool (*recognises)(const ModelFolder& folder);
  /// Reads headers, no weights. Errors: model_refused with file, field, got and expected.
  Result<Checkpoint> (*open)(const ModelFolder& folder);
};

std::span<const Loader* const> loaders();

/// Opens the checkpoint with the first loader that recognises it. Errors: model_refused, also when none does.
Result<Checkpoint> open_checkpoint(const ModelFolder& folder);

}  // namespace lathe::engine
