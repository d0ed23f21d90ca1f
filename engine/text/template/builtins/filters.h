// SPDX-License-Identifier: Apache-2.0
// Filters of the template language, which follow a `|`.
#pragma once

#include <string_view>

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

using Filter = Value (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

struct NamedFilter {
  std::string_view name;
  Filter filter;
  std::string_view parameters;  ///< parameter names in order; "*" if the filter checks its arguments itself
};

/// Runs a filter. Throws Failure for an unknown filter and for arguments that the filter does not take.
Value run_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

/// Returns null for an unknown filter.
const NamedFilter* find_filter(std::string_view name);

// Parts of the table: list_filters.cpp, number_filters.cpp. They return null for a filter that the part does not have.
const NamedFilter* find_list_filter(std::string_view name);
const NamedFilter* find_number_filter(std::string_view name);

}  // namespace lathe::engine::jinja
