// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/globals.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/runtime/cycler.h"
#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

using Global = Value (*)(Runtime& runtime, const Arguments& arguments);

Value make_range(Runtime& r, const Arguments& a) {
  if (a.positional.empty()) throw Failure("range() needs a number");
  const bool one = a.positional.size() == 1;
  const std::int64_t start = one ? 0 : integer_argument(a, 0, "start", 0),
                     stop = integer_argument(a, one ? 0 : 1, "stop", 0);
  const std::int64_t step = integer_argument(a, 2, "step", 1);
  if (step == 0) throw Failure("range() cannot have the step 0");
  Items items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<std::int64_t>(items.size()) == r.limits().max_range)
      throw Failure(fmt::format("range() of more than {} items", r.limits().max_range));
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  r.charge(items.size());
  return Value::list(std::move(items));
}

/// Makes a new dict, also from a namespace: the dict contains only the entries, and the runtime does not free it.
Value make_dict(Runtime& r, const Arguments& a) {
  auto dict = std::make_shared<DictObject>();
  fill_dict(r, *dict, a);
  return Value(std::move(dict));
}

Value make_namespace(Runtime& r, const Arguments& a) { return r.make_namespace(a); }

Value raise_exception(Runtime& r, const Arguments& a) {
  const Value* message = a.find(0, "message");
  throw RaisedByTemplate(message != nullptr ? printable_excerpt(to_text(r, *message).text(), 512)
                                            : "the template refuses these messages");
}

Value strftime_now(Runtime&, const Arguments& a) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[256];
  const std::size_t n = std::strftime(buffer, sizeof buffer, text_argument(a, 0, "format").text().c_str(), &local);
  return Value::text(std::string_view(buffer, n));
}

struct NamedGlobal {
  std::string_view name;
  Global call;
};

// THE TABLE of global functions.
constexpr std::array kGlobals = {
    NamedGlobal{"range", make_range},          NamedGlobal{"dict", make_dict},
    NamedGlobal{"namespace", make_namespace},  NamedGlobal{"raise_exception", raise_exception},
    NamedGlobal{"strftime_now", strftime_now}, NamedGlobal{"cycler", make_cycler},
    NamedGlobal{"joiner", make_joiner},
};

}  // namespace

void fill_dict(Runtime& r, DictObject& dict, const Arguments& a) {
  if (a.positional.size() > 1) throw Failure("a dict is made from one value at most");
  if (const DictObject* from = a.positional.empty() ? nullptr : a.positional[0].as_dict()) {
    r.charge(from->items.size());
    dict.items = from->items;
    dict.depth = from->depth;
  } else if (!a.positional.empty()) {
    for (const Value& pair : items_of(r, a.positional[0])) {
      Items sides = items_of(r, pair);
      if (sides.size() != 2) throw Failure("a dict is made from pairs");
      dict.set(r, std::move(sides[0]), std::move(sides[1]));
    }
  }
  for (const auto& [name, value] : a.named) dict.put(r, name, value);
}

std::optional<Value> global_function(std::string_view name) {
  for (const NamedGlobal& global : kGlobals) {
    if (global.name == name) return Value(std::make_shared<const Function>(Function{std::string(name), global.call}));
  }
  return std::nullopt;
}

}  // namespace lathe::engine::jinja
