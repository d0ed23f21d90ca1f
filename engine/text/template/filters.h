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
};

/// Throws Failure for a filter that is not known.
Value run_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

/// The part of the table that works on lists: list_filters.cpp. Null when it has no such filter.
Filter find_list_filter(std::string_view name);

}  // namespace lathe::engine::jinja
