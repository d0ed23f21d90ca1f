// SPDX-License-Identifier: Apache-2.0
// Model files: finds the model to which a file or a folder belongs.
#pragma once

#include <string>

namespace lathe::app {

/// Path of the model at `path`: a checkpoint's folder for the folder, its config.json or one of its .safetensors files; the
/// path itself for a GGUF file, a folder with exactly one GGUF model, or a repository's folder in the Hugging Face cache.
/// Empty: no model. Reads file names and at most the first bytes of a file. Thread: any.
std::string model_at(const std::string& path);

}  // namespace lathe::app
