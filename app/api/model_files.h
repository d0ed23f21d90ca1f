// SPDX-License-Identifier: Apache-2.0
// Model files: which model a file or a folder is, or is a part of.
#pragma once

#include <string>

namespace lathe::app {

/// A checkpoint's folder for itself, its config.json and its .safetensors files; a GGUF file, or the folder with just one,
/// for itself; a repository's folder in the Hugging Face cache. Empty: none of them. Reads names and at most the first bytes
/// of a file. Thread: any.
std::string model_at(const std::string& path);

}  // namespace lathe::app
