// SPDX-License-Identifier: Apache-2.0
// A tokenizer out of its description and the configuration beside it.
#pragma once

#include <memory>

#include "engine/api/tokenizer.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_description.h"

namespace lathe::engine {

/// Errors: model_refused with file and field, and every component type that is not supported.
Result<std::unique_ptr<Tokenizer>> assemble_tokenizer(const TokenizerDescription& description,
                                                      const TokenizerConfig& config);

}  // namespace lathe::engine
