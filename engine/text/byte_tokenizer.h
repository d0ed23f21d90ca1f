// SPDX-License-Identifier: Apache-2.0
// A tokenizer for models that have none, such as shapes with random weights: the first 256 ids are bytes.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// Texts become one id a byte. Ids from 256 on, which only a model writes, are shown as " 1234". No id is special.
/// Requires: vocab_size >= 256.
std::unique_ptr<Tokenizer> make_byte_tokenizer(std::int32_t vocab_size);

}  // namespace lathe::engine
