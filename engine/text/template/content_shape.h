// SPDX-License-Identifier: Apache-2.0
// ContentShape: the form in which a chat template expects the contents of messages.
// Source: vLLM's --chat-template-content-format auto, which also searches for a loop over contents.
#pragma once

#include <cstdint>

#include "engine/text/template/syntax/ast.h"

namespace lathe::engine::jinja {

enum class ContentShape : std::uint8_t {
  text,    ///< one text
  either,  ///< a text, or a list of parts; the template tests which
  parts    ///< a list of parts, always
};

ContentShape content_shape_of(const Body& body);

}  // namespace lathe::engine::jinja
