// SPDX-License-Identifier: Apache-2.0
// Reads the texts of a dataset file: a plain text, a JSON list of strings, or JSONL with "text" in each line and,
// optionally, "given", the text that precedes it.
#pragma once

#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct TextDataset {
  std::vector<std::string> texts;
  std::vector<std::string> given;  ///< preceding text of each text; empty: no text has one
  bool is_list = false;            ///< false: one plain text
};

/// The file name decides about the form: .json, .jsonl, else plain text. Errors: not_found; invalid_argument naming line or
/// item; too_large (above 1 GiB).
engine::Result<TextDataset> read_text_dataset(const std::string& path);

/// Errors: not_found; invalid_argument if the file is not UTF-8, naming the byte; too_large (above 1 GiB).
engine::Result<std::string> read_text_file(const std::string& path);

}  // namespace lathe::app
