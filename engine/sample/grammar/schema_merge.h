// SPDX-License-Identifier: Apache-2.0
// Joins two schemas that a value must hold to both (allOf, and what is written next to a $ref or an anyOf) to one.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::engine::grammar {

/// Requires: objects. Errors: invalid_argument, `where` = the keyword that cannot be joined.
Result<OrderedJson> merge_schemas(OrderedJson a, const OrderedJson& b);

/// The types of a schema: its `type`, or those about which its keywords say something; all without either. `integer` only
/// where it is named. Errors: invalid_argument, `where` = "type".
Result<std::vector<std::string>> types_of(const OrderedJson& schema);

/// True if it is certain that no value holds to both.
bool are_disjoint(const OrderedJson& a, const OrderedJson& b);

}  // namespace lathe::engine::grammar
