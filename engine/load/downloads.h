// SPDX-License-Identifier: Apache-2.0
// Downloads that were not finished, known by the names that programs give to them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

/// "x.part", "x.crdownload", "x.incomplete", "sha256-ab-partial": what browsers, wget, curl, huggingface_hub and ollama call
/// a file until all of it has come.
bool is_unfinished_download(std::string_view file_name);

/// Unfinished downloads in a folder, and in the caches of huggingface_hub that belong to it, by their paths from there;
/// sorted, at most 8.
std::vector<std::string> unfinished_downloads(const std::string& folder);

/// The end of a message about a missing or cut file: "; x.part is a download that is not finished: let it finish, or
/// download the model again". Empty: there is no such file. `file` empty: any download counts.
std::string downloads_text(const std::string& folder, std::string_view file = {});

}  // namespace lathe::engine
