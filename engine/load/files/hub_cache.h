// SPDX-License-Identifier: Apache-2.0
// Finds the snapshot of a repository in the Hugging Face cache: models--org--name/{blobs,refs,snapshots}. Source:
// huggingface_hub, "Understand caching".
#pragma once

#include <optional>
#include <string>

#include "engine/api/result.h"

namespace lathe::engine {

struct HubSnapshot {
  std::string path;
  std::string warning;  ///< names the chosen snapshot where the cache does not decide; empty: it decides
};

/// The snapshot to open for a repository's folder, or for `snapshots` in it: the one of refs/main, else the only one, else
/// the newest. Empty: the folder is no repository. Errors: model_refused when nothing was downloaded.
Result<std::optional<HubSnapshot>> find_hub_snapshot(const std::string& folder);

}  // namespace lathe::engine
