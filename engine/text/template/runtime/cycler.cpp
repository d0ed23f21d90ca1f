// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/cycler.h"

#include <memory>
#include <utility>

namespace lathe::engine::jinja {
namespace {

constexpr std::size_t kObjectSteps = 256;  // a cycler stays until the end of the rendering, about 1.5 KB

/// Makes items[at] the next item.
void move_to(Runtime& runtime, DictObject& cycler, std::size_t at) {
  const Value items = *cycler.find(runtime, std::string_view("items"));
  cycler.put(runtime, "pos", Value(static_cast<std::int64_t>(at)));
  cycler.put(runtime, "current", items.as_list()->items[at]);
}

Value next_of(Runtime& runtime, DictObject& cycler) {
  Value current = *cycler.find(runtime, std::string_view("current"));
  const auto at = static_cast<std::size_t>(*cycler.find(runtime, std::string_view("pos"))->as_integer());
  move_to(runtime, cycler, (at + 1) % cycler.find(runtime, std::string_view("items"))->as_list()->items.size());
  return current;
}

}  // namespace

Value make_cycler(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.empty()) throw Failure("cycler() needs items");
  runtime.charge(kObjectSteps + arguments.positional.size());
  auto cycler = std::make_shared<DictObject>();
  cycler->kind = "Cycler";
  runtime.keep(cycler);  // its functions hold the cycler itself
  cycler->put(runtime, "items", Value::tuple(arguments.positional));
  move_to(runtime, *cycler, 0);
  const auto add = [&](std::string name, std::function<Value(Runtime&, const Arguments&)> call) {
    const int depth = depth_around(cycler->depth);
    cycler->put(runtime, name, Value(std::make_shared<const Function>(Function{name, std::move(call), depth})));
  };
  add("next", [cycler](Runtime& r, const Arguments&) {
    if (cycler->items.empty()) throw Failure("the cycler is gone");
    return next_of(r, *cycler);
  });
  add("reset", [cycler](Runtime& r, const Arguments&) {
    if (!cycler->items.empty()) move_to(r, *cycler, 0);
    return Value::none();
  });
  return Value(std::move(cycler));
}

Value make_joiner(Runtime& runtime, const Arguments& arguments) {
  runtime.charge();
  const Value* given = arguments.find(0, "sep");
  const Value separator = given != nullptr ? *given : Value::text(", ");
  auto call = [separator, used = std::make_shared<bool>(false)](Runtime&, const Arguments&) {
    return std::exchange(*used, true) ? separator : Value::text("");
  };
  return Value(std::make_shared<const Function>(Function{"joiner", std::move(call), depth_around(separator.depth())}));
}

}  // namespace lathe::engine::jinja
