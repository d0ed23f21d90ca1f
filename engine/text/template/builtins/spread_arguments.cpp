// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/spread_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/operators.h"

namespace lathe::engine::jinja {
namespace {

// The limit bounds the cost of arguments: a named one is found by a linear search, once for each parameter, and a filter
// that runs another filter copies all arguments.
constexpr std::size_t kMaxSpread = 1000;

}  // namespace

void spread_list(Runtime& runtime, const Value& list, Arguments& arguments) {
  Items more = items_of(runtime, list);
  if (more.size() > kMaxSpread) throw Failure(fmt::format("* of more than {} items", kMaxSpread));
  std::move(more.begin(), more.end(), std::back_inserter(arguments.positional));
}

void spread_dict(Runtime& runtime, const Value& value, Arguments& arguments) {
  const DictObject* dict = value.as_dict();
  require_defined(value);
  if (dict == nullptr || !dict->is_dict()) throw Failure(fmt::format("** needs a dict, got {}", type_name(value)));
  if (dict->items.size() > kMaxSpread) throw Failure(fmt::format("** of more than {} entries", kMaxSpread));
  for (const auto& [key, item] : dict->items) {
    if (key.as_text() == nullptr) throw Failure(fmt::format("** needs texts for keys, got {}", type_name(key)));
    runtime.charge(1 + arguments.named.size() / 8);
    const std::string& name = key.as_text()->text();
    if (std::any_of(arguments.named.begin(), arguments.named.end(), [&](const auto& known) { return known.first == name; }))
      throw Failure(fmt::format("the argument \"{}\" is given twice", printable_excerpt(name)));
    arguments.named.emplace_back(name, item);
  }
}

}  // namespace lathe::engine::jinja
