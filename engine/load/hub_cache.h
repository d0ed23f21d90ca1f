// SPDX-License-Identifier: Apache-2.0
// Repositories in the Hugging Face cache: models--org--name/{blobs,refs,snapshots}. Source: huggingface_hub, "Understand
// caching".
#pragma once

#include <optional>
#include <string>

#include "engine/api/result.h"

namespace lathe::engine {

struct HubSnapshot {
  std::string path;
  std::string warning;  ///< which one it is, where the cache does not say which is meant; empty: it does
};

/// The snapshot that a repository's folder, or `snapshots` in it, is opened by: that of refs/main, else the only one, else
/// the newest. Nothing: the folder is none of a repository. Errors: model_refused when nothing was downloaded.
Result<std::optional<HubSnapshot>> find_hub_snapshot(const std::string& folder);

}  // namespace lathe::engine
