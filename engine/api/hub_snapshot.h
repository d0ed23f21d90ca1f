// SPDX-License-Identifier: Apache-2.0
// Snapshots that the folder of a repository in the Hugging Face cache, models--org--name, is opened by.
#pragma once

#include <string>

namespace lathe::engine {

/// The snapshot that such a folder, or `snapshots` in it, is opened by: that of refs/main, else the only one, else the
/// newest. Empty: it is no such folder, or has no snapshot.
std::string hub_snapshot(const std::string& folder);
/// The snapshot of refs/main. Empty: there is none.
std::string main_hub_snapshot(const std::string& folder);

}  // namespace lathe::engine
