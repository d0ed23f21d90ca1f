// SPDX-License-Identifier: Apache-2.0
// Evaluator: the values of a template's expressions.
#pragma once

#include "engine/text/template/runtime/runtime.h"
#include "engine/text/template/runtime/stack_guard.h"
#include "engine/text/template/runtime/value.h"
#include "engine/text/template/scope.h"
#include "engine/text/template/syntax/ast.h"

namespace lathe::engine::jinja {

/// A part of the interpreter, which runs the statements. Errors: throws Failure.
class Evaluator {
 public:
  /// `scope`: the current scope, which the interpreter changes; `at`: set to the position of what is evaluated.
  Evaluator(Runtime& runtime, const StackGuard& guard, const ScopePtr& scope, Position& at)
      : runtime_(runtime), guard_(guard), scope_(scope), at_(at) {}

  Value evaluate(const Expr& expr);
  Arguments evaluate_arguments(const Expr& expr);
  /// Evaluates a chain of filters; the innermost one gets `input` if it has no part of its own.
  Value filtered(const Expr* expr, Value input);

 private:
  Value look_up(const std::string& name);
  Items evaluate_parts(const Expr& expr);
  Value evaluate_dict(const Expr& expr);
  Value evaluate_logical(const Expr& expr);
  Value evaluate_arithmetic(const Expr& expr);
  Value evaluate_compare(const Expr& expr);
  Value evaluate_conditional(const Expr& expr);
  Value evaluate_attribute(const Expr& expr);
  Value evaluate_subscript(const Expr& expr);
  Value evaluate_slice(const Expr& expr);
  Value evaluate_call(const Expr& expr);
  Value evaluate_test(const Expr& expr);

  Runtime& runtime_;
  const StackGuard& guard_;
  const ScopePtr& scope_;
  Position& at_;
};

}  // namespace lathe::engine::jinja
