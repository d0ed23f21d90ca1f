// SPDX-License-Identifier: Apache-2.0
// Writes the files of a checkpoint's folder other than weights: config.json, tokenizer and chat template.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/opened_model.h"

namespace lathe::engine {

inline constexpr std::string_view kConfigFile = "config.json";

/// Names of further files, next to config.json, that readers of the weights need.
std::span<const std::string_view> files_beside_config();

/// Writes the files of a model whose matrices have type `dtype`: copies them from its folder, or makes them from its GGUF
/// file.
/// `is_untied`: the head has its own tensor. Returns texts about files that could not be written. Errors: as reading;
/// resource_exhausted.
Result<std::vector<std::string>> write_checkpoint_files(const OpenedModel& model, kernels::Dtype dtype, bool is_untied,
                                                        const std::filesystem::path& folder);

}  // namespace lathe::engine
