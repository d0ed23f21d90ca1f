// SPDX-License-Identifier: Apache-2.0
// Scope: the variables of a block. A variable that it does not have is searched in the enclosing scope.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/text/template/interpreter.h"
#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

struct Scope {
  explicit Scope(std::shared_ptr<Scope> around) : outer(std::move(around)) {}
  std::shared_ptr<Scope> outer;
  Variables variables;

  const Value* find(Runtime& runtime, std::string_view name) const {
    runtime.charge(variables.size() / 8);
    for (const auto& [known, value] : variables) {
      if (known == name) return &value;
    }
    return outer ? outer->find(runtime, name) : nullptr;
  }
  void set(Runtime& runtime, const std::string& name, Value value) {
    runtime.charge(variables.size() / 8);
    for (auto& [known, old] : variables) {
      if (known == name) {
        old = std::move(value);
        return;
      }
    }
    variables.emplace_back(name, std::move(value));
  }
};
using ScopePtr = std::shared_ptr<Scope>;

}  // namespace lathe::engine::jinja
