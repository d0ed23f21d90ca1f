// SPDX-License-Identifier: Apache-2.0
// A JSON schema: compiling it, and answers that follow it.
#include "tests/fuzz/targets.h"
#include "tests/fuzz/use_constraint.h"

namespace lathe::fuzz {
namespace {

void feed_schema(std::span<const std::byte> bytes) { use_constraint("json", text_of(bytes)); }

}  // namespace

extern constexpr Target kSchemaTarget{.name = "schema", .feed = feed_schema};

}  // namespace lathe::fuzz
