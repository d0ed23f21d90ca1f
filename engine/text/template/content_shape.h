// SPDX-License-Identifier: Apache-2.0
// What a chat template takes the contents of messages for.
// Source: vLLM's --chat-template-content-format auto, which looks for a loop over contents as well.
#pragma once

#include <cstdint>

#include "engine/text/template/ast.h"

namespace lathe::engine::jinja {

enum class ContentShape : std::uint8_t {
  text,    ///< one text
  either,  ///< a text, or a list of parts; it asks which
  parts    ///< a list of parts, always
};

ContentShape content_shape_of(const Body& body);

}  // namespace lathe::engine::jinja
