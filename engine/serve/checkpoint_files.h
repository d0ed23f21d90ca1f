// SPDX-License-Identifier: Apache-2.0
// What a checkpoint's folder has beside its weights: config.json, tokenizer and chat template.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/opened_model.h"

namespace lathe::engine {

inline constexpr std::string_view kConfigFile = "config.json";

/// Files beside config.json that are of use to whoever reads the weights.
std::span<const std::string_view> files_beside_config();

/// Writes them for a model whose matrices are numbers of `dtype`: those of its folder, or what its GGUF file says.
/// `is_untied`: the head got a tensor of its own. Returns what could not be written, for people. Errors: those of reading;
/// resource_exhausted.
Result<std::vector<std::string>> write_checkpoint_files(const OpenedModel& model, kernels::Dtype dtype, bool is_untied,
                                                        const std::filesystem::path& folder);

}  // namespace lathe::engine
