// SPDX-License-Identifier: Apache-2.0
// Reads the chat templates of a checkpoint and writes them to other formats.
#pragma once

#include <string>
#include <vector>

#include "engine/api/named_templates.h"
#include "engine/api/result.h"
#include "engine/load/files/model_folder.h"
#include "engine/load/gguf/gguf_metadata.h"

namespace lathe::engine {

/// Reads all templates. chat_template.jinja is the default, additional_chat_templates/NAME.jinja are the others. Without
/// such files, "chat_template" of tokenizer_config.json is used (one text or named texts), then chat_template.json. If the
/// files lack only the default, the same sources provide it. GGUF files have tokenizer.chat_template and
/// tokenizer.chat_template.NAME. No template is no error. A file that cannot be read is skipped with a warning. Errors:
/// model_refused, for GGUF files. Source: PreTrainedTokenizerBase.from_pretrained and ProcessorMixin of transformers.
Result<NamedTemplates> read_chat_templates(const ModelFolder& folder, std::vector<std::string>& warnings);

/// Writes the templates under the keys of a GGUF file. Source: add_chat_template of gguf-py.
void write_chat_templates(const NamedTemplates& templates, GgufMetadata& metadata);

/// The value of "chat_template" in tokenizer_config.json. Requires: at least one template.
Json chat_template_value(const NamedTemplates& templates);

}  // namespace lathe::engine
