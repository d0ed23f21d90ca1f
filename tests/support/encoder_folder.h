// SPDX-License-Identifier: Apache-2.0
// EncoderFolder: a tiny encoder in a folder of its own, with a vocabulary, as sentence-transformers saves one.
#pragma once

#include <string>

#include "tests/support/text_files.h"

namespace lathe::tests {

/// 96 pieces: the five control tokens of BERT, then t5, t6...
struct EncoderFolder : TextFolder {
  /// One of tests/fixtures/embeddings.
  explicit EncoderFolder(const std::string& name = "bert");

  /// "mean", "cls" or "lasttoken".
  void pool(const std::string& kind, bool normalises) const;
};

}  // namespace lathe::tests
