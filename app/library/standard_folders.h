// SPDX-License-Identifier: Apache-2.0
// Lists the folders where other programs store models: the Hugging Face hub cache, LM Studio, ollama.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/api/library.h"

namespace lathe::app {

/// Returns the value of an environment variable; empty: unset.
using Environment = std::function<std::string(const char* name)>;

/// Uses HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME in the order of huggingface_hub, and OLLAMA_MODELS as ollama does; a
/// leading "~" is replaced by `home`. Folders that do not exist are listed too. Empty `home`: only folders from the
/// environment, and that of ollama's service.
std::vector<WatchedFolder> standard_model_folders(const Environment& environment, const std::string& home);

}  // namespace lathe::app
