// SPDX-License-Identifier: Apache-2.0
// Texts of a file: a plain text, a JSON list of strings, or JSONL with "text" in each line.
#pragma once

#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct TextDataset {
  std::vector<std::string> texts;
  bool is_list = false;  ///< false: one plain text
};

/// The form follows the name: .json, .jsonl, all else plain. Errors: not_found, invalid_argument naming line or item,
/// too_large (1 GiB).
engine::Result<TextDataset> read_text_dataset(const std::string& path);

/// Prompts, one a request: the items of a list (.json) or of JSONL (.jsonl), each with "text", "prompt" or ShareGPT's
/// "conversations"[0]."value", of a list also strings; or the lines of a text. Empty ones are left out.
/// Errors: as above, and when there is none.
engine::Result<std::vector<std::string>> read_prompt_dataset(const std::string& path);

}  // namespace lathe::app
