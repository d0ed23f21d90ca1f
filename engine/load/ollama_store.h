// SPDX-License-Identifier: Apache-2.0
// The store of ollama: manifests/<registry>/<namespace>/<model>/<tag> names blobs/sha256-<digest>, GGUF files without an
// ending.
#pragma once

#include <string>
#include <string_view>

namespace lathe::engine {

/// Whether a folder has both parts of a store.
bool is_ollama_store(const std::string& folder);

/// Whether a file is called as blobs are: "sha256-" and 64 digits of a hexadecimal number.
bool is_blob_name(std::string_view file_name);

/// What the store that a blob lies in calls it: the first of its names, "llama3.2:1b"; empty when nothing there names it.
std::string ollama_name_of(const std::string& blob);

}  // namespace lathe::engine
