// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a GGUF file, read as simply as it can be: for tests over files that are known to be whole.
#pragma once

#include <string>

#include "engine/text/gguf_vocabulary.h"

namespace lathe::tests {

/// Aborts on a file that is no GGUF of version 2 or 3.
engine::GgufVocabulary read_gguf_vocabulary(const std::string& path);

}  // namespace lathe::tests
