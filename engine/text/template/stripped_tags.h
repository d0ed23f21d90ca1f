// SPDX-License-Identifier: Apache-2.0
// The words of a text in HTML.
#pragma once

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// Without comments and tags, one blank between words, and with the characters that &amp; &lt; &gt; &quot; &apos; &nbsp; and
/// the numbers of characters stand for. Charges for what it reads and makes.
MarkedText without_tags(Runtime& runtime, const MarkedText& text);

}  // namespace lathe::engine::jinja
