// SPDX-License-Identifier: Apache-2.0
// TextInput: reads the texts of a request that asks for vectors: a text, a list of texts, token ids, or a list of those.
#pragma once

#include <cstdint>
#include <functional>
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

/// Calls `read` for a text, or for each item of a list of texts, with its path: "input", or "input[3]". `is_one`: the value
/// is one text, whatever its type. Errors: those of `read`; invalid_argument at `name` for no value, and for a list that is
/// empty or too long.
engine::Result<void> read_text_list(
    const engine::Json* value, const std::string& name, bool is_one,
    const std::function<engine::Result<void>(const engine::Json& item, const std::string& path)>& read);

class TextInput {
 public:
  /// Requires: the engine outlives the reader.
  TextInput(const engine::Engine& engine, const TextRules& rules) : engine_(engine), rules_(rules) {}

  /// Reads one or several texts. `name`: the field, for errors. Errors: invalid_argument at the field, with the index;
  /// at "input_tokens" for a text that is too long.
  engine::Result<std::vector<std::vector<std::int32_t>>> read(const engine::Json* value, const std::string& name) const;
  /// Encodes two texts as the one that a classifier of pairs reads: [CLS] first [SEP] second [SEP]; with
  /// `labels.doubles_separator` another [SEP] before the second. Texts that are too long are cut in turn, the longer one
  /// first. A model with a prompt gets the pair in it; texts that are too long lose the end of the second. Errors: as
  /// read().
  engine::Result<VectorText> encode_pair(const std::string& first, const std::string& second,
                                         const engine::LabelInfo& labels, const std::string& name) const;
  /// Encodes one text. Errors: as read().
  engine::Result<std::vector<std::int32_t>> encode(const std::string& text, const std::string& name) const;

 private:
  engine::Result<VectorText> encode_in_prompt(const std::string& first, const std::string& second,
                                              const engine::PairPrompt& prompt, const std::string& name) const;
  engine::Result<std::vector<std::int32_t>> read_one(const engine::Json& value, const std::string& name) const;
  engine::Result<std::vector<std::int32_t>> fitted(std::vector<std::int32_t> ids, const std::string& name) const;
  engine::Result<std::vector<std::int32_t>> cut(const std::string& text, std::vector<std::int32_t> ids) const;

  const engine::Engine& engine_;
  TextRules rules_;
};

}  // namespace lathe::app
