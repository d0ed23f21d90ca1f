// SPDX-License-Identifier: Apache-2.0
// Where other programs keep models: the Hugging Face hub cache, LM Studio, ollama.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/api/library.h"

namespace lathe::app {

/// The value of an environment variable; empty: unset.
using Environment = std::function<std::string(const char* name)>;

/// HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME are obeyed as huggingface_hub does, OLLAMA_MODELS as ollama does; "~" at
/// their beginning is `home`. Folders that are not there are named too. `home` empty: only what the environment names.
std::vector<WatchedFolder> standard_model_folders(const Environment& environment, const std::string& home);

}  // namespace lathe::app
