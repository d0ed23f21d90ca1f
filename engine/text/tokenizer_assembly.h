// SPDX-License-Identifier: Apache-2.0
// Makes a tokenizer from its description and its configuration.
#pragma once

#include <memory>

#include "engine/api/tokenizer.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Errors: model_refused with file and field, also for every component type that is not supported.
Result<std::unique_ptr<Tokenizer>> assemble_tokenizer(const TokenizerDescription& description,
                                                      const TokenizerConfig& config);

}  // namespace lathe::engine
