// SPDX-License-Identifier: Apache-2.0
// Hub snapshots: the choice of a snapshot in a repository's folder of the Hugging Face cache, models--org--name.
#pragma once

#include <string>

namespace lathe::engine {

/// Path of the snapshot that is opened for a repository's folder, or for `snapshots` in it: the one of refs/main, else the
/// only one, else the newest. Empty: it is not such a folder, or has no snapshot.
std::string hub_snapshot(const std::string& folder);
/// Path of the snapshot of refs/main. Empty: there is none.
std::string main_hub_snapshot(const std::string& folder);

}  // namespace lathe::engine
