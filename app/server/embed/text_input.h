// SPDX-License-Identifier: Apache-2.0
// TextInput: reads the texts of a request that asks for vectors: a text, a list of texts, token ids, or a list of those.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/server/embed/vector_set.h"
#include "app/server/request_fields.h"
#include "engine/api/engine.h"
#include "engine/api/json.h"

namespace lathe::app {

/// Cuts texts that are too long, and says how they are encoded.
struct TextRules {
  bool add_special_tokens = true;
  std::int64_t most_tokens = 0;  ///< longer texts are cut to it; 0: they are refused
  bool keeps_end = false;        ///< a text that is cut loses its beginning
};

/// Reads truncate_prompt_tokens (-1: the longest text of the model), truncation_side and add_special_tokens.
TextRules read_text_rules(RequestFields& body, const engine::LoadedModel& model);

class TextInput {
 public:
  /// Requires: the engine outlives the reader.
  TextInput(const engine::Engine& engine, const TextRules& rules) : engine_(engine), rules_(rules) {}

  /// Reads one or several texts. `name`: the field, for errors. Errors: invalid_argument at the field, with the index;
  /// at "input_tokens" for a text that is too long.
  engine::Result<std::vector<std::vector<std::int32_t>>> read(const engine::Json* value, const std::string& name) const;
  /// Encodes two texts as the one that a classifier of pairs reads: [CLS] first [SEP] second [SEP]; with `doubles_separator`
  /// another [SEP] before the second. Texts that are too long are cut in turn, the longer one first. Errors: as read().
  engine::Result<VectorText> encode_pair(const std::string& first, const std::string& second, bool doubles_separator,
                                         const std::string& name) const;
  /// Encodes one text. Errors: as read().
  engine::Result<std::vector<std::int32_t>> encode(const std::string& text, const std::string& name) const;

 private:
  engine::Result<std::vector<std::int32_t>> read_one(const engine::Json& value, const std::string& name) const;
  engine::Result<std::vector<std::int32_t>> fitted(std::vector<std::int32_t> ids, const std::string& name) const;
  engine::Result<std::vector<std::int32_t>> cut(const std::string& text, std::vector<std::int32_t> ids) const;

  const engine::Engine& engine_;
  TextRules rules_;
};

}  // namespace lathe::app
