// SPDX-License-Identifier: Apache-2.0
// Texts of a file: a plain text, a JSON list of strings, or JSONL with "text" in each line, and "given" where something
// stands before it.
#pragma once

#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct TextDataset {
  std::vector<std::string> texts;
  std::vector<std::string> given;  ///< as many, or none
  bool is_list = false;            ///< false: one plain text
};

/// The form follows the name: .json, .jsonl, all else plain. Errors: not_found, invalid_argument naming line or item,
/// too_large (1 GiB).
engine::Result<TextDataset> read_text_dataset(const std::string& path);

/// Errors: not_found; invalid_argument where it is no UTF-8, with the byte; too_large (1 GiB).
engine::Result<std::string> read_text_file(const std::string& path);

}  // namespace lathe::app
