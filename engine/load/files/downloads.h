// SPDX-License-Identifier: Apache-2.0
// Recognises unfinished downloads by the names that programs give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

/// Whether a name is one that browsers, wget, curl, huggingface_hub or ollama give a file until it is complete: "x.part",
/// "x.crdownload", "x.incomplete", "sha256-ab-partial".
bool is_unfinished_download(std::string_view file_name);

/// Unfinished downloads in a folder, and in the caches of huggingface_hub that belong to it, as paths relative to the
/// folder; sorted, at most 8.
std::vector<std::string> unfinished_downloads(const std::string& folder);

/// The end of a message about a missing or truncated file: "; x.part is a download that is not finished: let it finish, or
/// download the model again". Empty: there is no such download. `file` empty: any download counts.
std::string downloads_text(const std::string& folder, std::string_view file = {});

}  // namespace lathe::engine
