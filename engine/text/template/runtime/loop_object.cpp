// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/loop_object.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/text/template/runtime/failure.h"
#include "engine/text/template/runtime/runtime.h"

namespace lathe::engine::jinja {
namespace {

/// Names of the fields, made only once because each iteration makes an object.
const std::array<Value, 13>& field_names() {
  static const std::array<Value, 13> kNames = {Value::text("index"),     Value::text("index0"),   Value::text("first"),
                                               Value::text("last"),      Value::text("length"),   Value::text("revindex"),
                                               Value::text("revindex0"), Value::text("previtem"), Value::text("nextitem"),
                                               Value::text("depth"),     Value::text("depth0"),   Value::text("cycle"),
                                               Value::text("changed")};
  return kNames;
}

Value function(std::string name, std::function<Value(Runtime&, const Arguments&)> call) {
  return Value(std::make_shared<const Function>(Function{std::move(name), std::move(call)}));
}

Value make_cycle(std::size_t index) {
  return function("cycle", [index](Runtime&, const Arguments& a) {
    if (a.positional.empty()) throw Failure("cycle() needs items");
    return a.positional[index % a.positional.size()];
  });
}

/// Makes loop.changed(), which returns true if its arguments differ from those of the previous call.
Value make_changed(std::weak_ptr<std::optional<Items>> last) {
  return function("changed", [last = std::move(last)](Runtime& runtime, const Arguments& a) {
    const auto kept = last.lock();
    if (kept == nullptr) throw Failure("changed() belongs inside its loop");
    const bool same =
        kept->has_value() && std::equal((*kept)->begin(), (*kept)->end(), a.positional.begin(), a.positional.end(),
                                        [&](const Value& x, const Value& y) { return equal(runtime, x, y); });
    if (!same) *kept = a.positional;
    return Value(!same);
  });
}

FunctionPtr refuse_call() {
  static const FunctionPtr kRefuse = std::make_shared<const Function>(Function{
      "loop", [](Runtime&, const Arguments&) -> Value { throw Failure("only a loop marked recursive can be called"); }});
  return kRefuse;
}

}  // namespace

Value LoopRun::turn(std::size_t i) {
  const auto index = static_cast<std::int64_t>(i), n = static_cast<std::int64_t>(items_.size());
  auto loop = std::make_shared<DictObject>();
  loop->kind = "LoopContext";
  loop->call = again_ ? again_ : refuse_call();
  loop->items.reserve(field_names().size());
  const auto add = [&](Value value) { loop->append(field_names()[loop->items.size()], std::move(value)); };
  add(Value(index + 1));
  add(Value(index));
  add(Value(index == 0));
  add(Value(index + 1 == n));
  add(Value(n));
  add(Value(n - index));
  add(Value(n - index - 1));
  add(i == 0 ? Value::undefined("previtem") : items_[i - 1]);
  add(i + 1 == items_.size() ? Value::undefined("nextitem") : items_[i + 1]);
  add(Value(depth0_ + 1));
  add(Value(depth0_));
  add(make_cycle(i));
  add(make_changed(last_));
  return Value(std::move(loop));
}

}  // namespace lathe::engine::jinja
