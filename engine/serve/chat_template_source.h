// SPDX-License-Identifier: Apache-2.0
// Where a checkpoint keeps its chat templates.
#pragma once

#include <string>
#include <vector>

#include "engine/api/named_templates.h"
#include "engine/api/result.h"
#include "engine/load/gguf/gguf_metadata.h"
#include "engine/load/model_folder.h"

namespace lathe::engine {

/// chat_template.jinja is the default and additional_chat_templates/NAME.jinja the others; without such files
/// "chat_template" of tokenizer_config.json, which is a text or named texts, counts, and without one there
/// chat_template.json. A default that the files do not have is looked for further on. Of a GGUF file tokenizer.chat_template
/// and tokenizer.chat_template.NAME. None is no error. Source: PreTrainedTokenizerBase.from_pretrained and ProcessorMixin of
/// transformers. A file that cannot be read is left out with a warning. Errors: of GGUF files, model_refused.
Result<NamedTemplates> read_chat_templates(const ModelFolder& folder, std::vector<std::string>& warnings);

/// Under the keys of a GGUF file. Source: add_chat_template of gguf-py.
void write_chat_templates(const NamedTemplates& templates, GgufMetadata& metadata);

/// As the value of "chat_template" in tokenizer_config.json. Requires: one at least.
Json chat_template_value(const NamedTemplates& templates);

}  // namespace lathe::engine
