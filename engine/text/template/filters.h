// SPDX-License-Identifier: Apache-2.0
// Filters of the template language: what stands behind `|`.
#pragma once

#include <string_view>

#include "engine/text/template/runtime.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

using Filter = Value (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

struct NamedFilter {
  std::string_view name;
  Filter filter;
  std::string_view parameters;  ///< their names, in order; "*" where the filter looks at its arguments itself
};

/// Throws Failure for a filter that is not known, and for arguments that it does not take.
Value run_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

/// Null when there is none.
const NamedFilter* find_filter(std::string_view name);

// Parts of the table: list_filters.cpp, number_filters.cpp. Null when it has no such filter.
const NamedFilter* find_list_filter(std::string_view name);
const NamedFilter* find_number_filter(std::string_view name);

}  // namespace lathe::engine::jinja
