// SPDX-License-Identifier: Apache-2.0
// Structural tags: texts in which some parts are free and others, between a beginning and an end, follow a schema.
// Source: XGrammar, docs/tutorials/structural_tag.md: the older form (structures, triggers) and the newer (format), in which
// a token is known by its id. Styles of schemas are those of the formats of tool calls: "python" literals, "text" up to
// `close` without quotes, "quoted" strings between `open` and `close` in objects with bare names; both are lists of texts
// and ids.
#pragma once

#include <string>

#include "engine/api/json.h"
#include "engine/sample/grammar/json_rules.h"

namespace lathe::engine::grammar {

/// Appends the texts of a structural tag. Errors: in the builder, with the path of the member.
NodeId append_structural_tag(JsonRules& json, NodeId from, const OrderedJson& tag);

}  // namespace lathe::engine::grammar
