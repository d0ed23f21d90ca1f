// SPDX-License-Identifier: Apache-2.0
// The filter striptags: the words of an HTML text.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Returns the text without comments and tags, one blank between words. &amp; &lt; &gt; &quot; &apos; &nbsp; and numeric
/// character references are replaced by their characters. Charges for the text read and made.
MarkedText without_tags(Runtime& runtime, const MarkedText& text);

}  // namespace lathe::engine::jinja
