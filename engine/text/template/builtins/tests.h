// SPDX-License-Identifier: Apache-2.0
// Tests of the template language, which follow `is`.
#pragma once

#include <string_view>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

bool has_test(std::string_view name);
/// Runs a test. Throws Failure for an unknown test.
bool run_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

}  // namespace lathe::engine::jinja
