// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/evaluator.h"

#include <memory>
#include <string>
#include <utility>

#include "engine/text/template/builtins/filters.h"
#include "engine/text/template/builtins/globals.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/spread_arguments.h"
#include "engine/text/template/builtins/tests.h"

namespace lathe::engine::jinja {

Value Evaluator::evaluate(const Expr& expr) {
  guard_.check();
  runtime_.charge();
  at_ = expr.at;
  switch (expr.kind) {
    case ExprKind::literal: return expr.value;
    case ExprKind::name: return look_up(expr.text);
    case ExprKind::list: return Value::list(evaluate_parts(expr));
    case ExprKind::tuple: return Value::tuple(evaluate_parts(expr));
    case ExprKind::dict: return evaluate_dict(expr);
    case ExprKind::negate: return negated(evaluate(*expr.parts[0]));
    case ExprKind::plus: return as_it_is(evaluate(*expr.parts[0]));
    case ExprKind::logical_not: return Value(!is_true(evaluate(*expr.parts[0])));
    case ExprKind::logical_and:
    case ExprKind::logical_or: return evaluate_logical(expr);
    case ExprKind::arithmetic: return evaluate_arithmetic(expr);
    case ExprKind::concatenate: return concatenated(runtime_, evaluate_parts(expr));
    case ExprKind::compare: return evaluate_compare(expr);
    case ExprKind::conditional: return evaluate_conditional(expr);
    case ExprKind::attribute: return evaluate_attribute(expr);
    case ExprKind::subscript: return evaluate_subscript(expr);
    case ExprKind::slice: return evaluate_slice(expr);
    case ExprKind::call: return evaluate_call(expr);
    case ExprKind::filter: return filtered(&expr, {});
    case ExprKind::test: return evaluate_test(expr);
    case ExprKind::spread: break;  // evaluate_arguments() handles it
  }
  return {};
}

Value Evaluator::look_up(const std::string& name) {
  if (const Value* found = scope_->find(runtime_, name)) return *found;
  if (auto function = global_function(name)) return std::move(*function);
  return Value::undefined(name);
}

Items Evaluator::evaluate_parts(const Expr& expr) {
  Items items;
  for (const ExprPtr& part : expr.parts) items.push_back(evaluate(*part));
  return items;
}

Value Evaluator::evaluate_dict(const Expr& expr) {
  auto dict = std::make_shared<DictObject>();
  for (std::size_t i = 0; i + 1 < expr.parts.size(); i += 2) {
    Value key = evaluate(*expr.parts[i]);
    dict->set(runtime_, std::move(key), evaluate(*expr.parts[i + 1]));
  }
  return Value(std::move(dict));
}

Value Evaluator::evaluate_logical(const Expr& expr) {
  Value left = evaluate(*expr.parts[0]);
  return is_true(left) == (expr.kind == ExprKind::logical_or) ? left : evaluate(*expr.parts[1]);
}

Value Evaluator::evaluate_arithmetic(const Expr& expr) {
  const Value left = evaluate(*expr.parts[0]), right = evaluate(*expr.parts[1]);
  at_ = expr.at;
  return arithmetic(runtime_, expr.text, left, right);
}

Value Evaluator::evaluate_compare(const Expr& expr) {
  Value left = evaluate(*expr.parts[0]);
  for (std::size_t i = 0; i < expr.names.size(); ++i) {
    Value right = evaluate(*expr.parts[i + 1]);
    at_ = expr.at;
    if (!compared(runtime_, expr.names[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Evaluator::evaluate_conditional(const Expr& expr) {
  if (is_true(evaluate(*expr.parts[0]))) return evaluate(*expr.parts[1]);
  return expr.parts.size() > 2 ? evaluate(*expr.parts[2]) : Value();
}

Value Evaluator::evaluate_attribute(const Expr& expr) {
  const Value object = evaluate(*expr.parts[0]);
  at_ = expr.at;
  return attribute(runtime_, object, expr.text);
}

Value Evaluator::evaluate_subscript(const Expr& expr) {
  const Value object = evaluate(*expr.parts[0]), key = evaluate(*expr.parts[1]);
  at_ = expr.at;
  return subscript(runtime_, object, key);
}

Value Evaluator::evaluate_slice(const Expr& expr) {
  const auto part = [&](std::size_t i) { return expr.parts[i] ? evaluate(*expr.parts[i]) : Value::none(); };
  const Value object = evaluate(*expr.parts[0]), start = part(1), stop = part(2), step = part(3);
  at_ = expr.at;
  return sliced(runtime_, object, start, stop, step);
}

Arguments Evaluator::evaluate_arguments(const Expr& expr) {
  Arguments arguments;
  for (std::size_t i = 1; i < expr.parts.size(); ++i) {
    if (expr.parts[i]->kind == ExprKind::spread) {
      spread_list(runtime_, evaluate(*expr.parts[i]->parts[0]), arguments);
    } else {
      arguments.positional.push_back(evaluate(*expr.parts[i]));
    }
  }
  for (const auto& [name, value] : expr.named) {
    if (name == "**") {
      spread_dict(runtime_, evaluate(*value), arguments);
    } else {
      arguments.named.emplace_back(name, evaluate(*value));
    }
  }
  return arguments;
}

Value Evaluator::evaluate_call(const Expr& expr) {
  const Expr& callee = *expr.parts[0];
  if (callee.kind != ExprKind::attribute) {
    const Value function = evaluate(callee);
    const Arguments arguments = evaluate_arguments(expr);
    at_ = expr.at;
    return runtime_.call(function, arguments);
  }
  // Calls object.method(...) directly, without making the method a value.
  const Value object = evaluate(*callee.parts[0]);
  const Method method = find_method(object, callee.text);
  const Value function = method == nullptr ? attribute(runtime_, object, callee.text) : Value();
  const Arguments arguments = evaluate_arguments(expr);
  at_ = expr.at;
  if (method == nullptr) return runtime_.call(function, arguments);
  runtime_.charge();
  return method(runtime_, object, arguments);
}

Value Evaluator::filtered(const Expr* expr, Value input) {
  if (expr == nullptr) return input;
  guard_.check();
  const Expr* source = expr->parts[0].get();
  Value value = source == nullptr                  ? std::move(input)
                : source->kind == ExprKind::filter ? filtered(source, std::move(input))
                                                   : evaluate(*source);
  const Arguments arguments = evaluate_arguments(*expr);
  at_ = expr->at;
  return run_filter(runtime_, expr->text, value, arguments);
}

Value Evaluator::evaluate_test(const Expr& expr) {
  const Value value = evaluate(*expr.parts[0]);
  const Arguments arguments = evaluate_arguments(expr);
  at_ = expr.at;
  return Value(run_test(runtime_, expr.text, value, arguments));
}

}  // namespace lathe::engine::jinja
