// SPDX-License-Identifier: Apache-2.0
// Reads names from the store of ollama: manifests/<registry>/<namespace>/<model>/<tag> names blobs/sha256-<digest>, which
// are GGUF files without an ending.
#pragma once

#include <string>
#include <string_view>

namespace lathe::engine {

/// Whether a folder has both parts of a store, manifests and blobs.
bool is_ollama_store(const std::string& folder);

/// Whether a file name is a blob's: "sha256-" and 64 hexadecimal digits.
bool is_blob_name(std::string_view file_name);

/// The first name that a blob's store gives it, "llama3.2:1b"; empty when no manifest names it.
std::string ollama_name_of(const std::string& blob);

}  // namespace lathe::engine
