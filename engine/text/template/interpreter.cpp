// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/globals.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/evaluator.h"
#include "engine/text/template/runtime/loop_object.h"
#include "engine/text/template/runtime/stack_guard.h"
#include "engine/text/template/runtime/to_text.h"
#include "engine/text/template/scope.h"

namespace lathe::engine::jinja {
namespace {

enum class Flow : std::uint8_t { next, break_, continue_ };

class Interpreter final : public Runtime {
 public:
  Interpreter(Variables variables, const Limits& limits)
      : Runtime(limits), root_(std::make_shared<Scope>(nullptr)), scope_(root_), evaluator_(*this, guard_, scope_, at_) {
    root_->variables = std::move(variables);
  }
  ~Interpreter() override {
    // Namespaces and the scopes of macros may refer to each other in cycles.
    for (const DictPtr& object : kept_objects_) object->items.clear();
    for (const ScopePtr& scope : kept_scopes_) scope->variables.clear();
  }

  MarkedText run(const Body& body) {
    if (run_body(body) != Flow::next) throw Failure("break and continue belong inside a loop", at_);
    return std::move(out_);
  }
  Position at() const { return at_; }

  Value call(const Value& function, const Arguments& arguments) override {
    require_defined(function);
    const FunctionPtr* known = function.as<FunctionPtr>();
    if (known == nullptr && function.as_dict() != nullptr && function.as_dict()->call) known = &function.as_dict()->call;
    if (known == nullptr) throw Failure(fmt::format("cannot call {}", type_name(function)));
    charge();
    const FunctionPtr held = *known;  // the object of the function may be freed before it returns
    return held->call(*this, arguments);
  }

  Value make_namespace(const Arguments& arguments) override {
    auto object = std::make_shared<DictObject>();
    object->is_namespace = true;
    fill_dict(*this, *object, arguments);
    keep(object);
    return Value(std::move(object));
  }

  void keep(DictPtr object) override { kept_objects_.push_back(std::move(object)); }
  void check_stack() const override { guard_.check(); }

 private:
  void keep(const ScopePtr& scope) {
    if (!kept_scopes_.empty() && kept_scopes_.back() == scope) return;
    charge(16);  // scopes that loops and macros of other iterations keep live until the end
    kept_scopes_.push_back(scope);
  }

  // ---- statements
  Flow run_body(const Body& body) {
    guard_.check();
    for (const auto& statement : body) {
      const Flow flow = run_statement(*statement);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  Flow run_statement(const Stmt& statement) {
    at_ = statement.at;
    charge();
    switch (statement.kind) {
      case StmtKind::data: write(MarkedText(statement.text, Source::model)); break;
      case StmtKind::output:
        for (const ExprPtr& expr : statement.exprs) write(evaluator_.evaluate(*expr));
        break;
      case StmtKind::if_: return run_if(statement);
      case StmtKind::for_: return run_for(statement);
      case StmtKind::set: assign(statement.targets[0], evaluator_.evaluate(*statement.exprs[0])); break;
      case StmtKind::set_block: run_set_block(statement); break;
      case StmtKind::macro: scope_->set(*this, statement.text, make_macro(statement, 0, statement.text)); break;
      case StmtKind::call_block: run_call_block(statement); break;
      case StmtKind::filter_block: run_filter_block(statement); break;
      case StmtKind::with: return run_with(statement);
      case StmtKind::scope: return run_in_scope(statement.bodies[0], scope_);
      case StmtKind::block: return run_in_scope(statement.bodies[0], root_);
      case StmtKind::break_: return Flow::break_;
      case StmtKind::continue_: return Flow::continue_;
    }
    return Flow::next;
  }

  void write(const MarkedText& text) {
    charge_growth(out_.size(), text.size());
    out_.append(text);
  }
  void write(const Value& value) {
    if (const MarkedText* text = value.as_text()) return write(*text);
    write(to_text(*this, value));
  }

  Flow run_if(const Stmt& statement) {
    for (std::size_t i = 0; i < statement.exprs.size(); ++i) {
      if (is_true(evaluator_.evaluate(*statement.exprs[i]))) return run_body(statement.bodies[i]);
    }
    return statement.bodies.size() > statement.exprs.size() ? run_body(statement.bodies.back()) : Flow::next;
  }

  /// Returns the items that pass the loop's own condition.
  Items loop_items(const Stmt& statement, const Value& iterable) {
    Items items = items_of(*this, iterable);
    if (!statement.exprs[1]) return items;
    Items kept;
    const ScopePtr outer = scope_;
    for (Value& item : items) {
      scope_ = std::make_shared<Scope>(outer);
      assign(statement.targets[0], item);
      if (is_true(evaluator_.evaluate(*statement.exprs[1]))) kept.push_back(std::move(item));
    }
    scope_ = outer;
    return kept;
  }

  Flow run_for(const Stmt& statement) {
    const Value iterable = evaluator_.evaluate(*statement.exprs[0]);
    if (statement.is_recursive) keep(scope_);  // the loop holds the scope, which may come to hold the loop
    return run_turns(statement, iterable, 0);
  }

  Flow run_turns(const Stmt& statement, const Value& iterable, int depth0) {
    const Items items = loop_items(statement, iterable);
    if (items.empty()) return statement.bodies.size() > 1 ? run_body(statement.bodies[1]) : Flow::next;
    const ScopePtr outer = scope_;
    std::optional<LoopRun> loop;
    if (statement.uses_loop)
      loop.emplace(items, depth0, statement.is_recursive ? loop_call(statement, depth0 + 1) : nullptr);
    for (std::size_t i = 0; i < items.size(); ++i) {
      charge();
      scope_ = std::make_shared<Scope>(outer);  // variables that an iteration sets end with it
      if (loop) scope_->set(*this, "loop", loop->turn(i));
      assign(statement.targets[0], items[i]);
      if (run_body(statement.bodies[0]) == Flow::break_) break;
    }
    scope_ = outer;
    return Flow::next;
  }

  /// Returns loop(items) of a recursive loop: the output of the loop over these items, one level deeper.
  FunctionPtr loop_call(const Stmt& statement, int depth0) {
    auto run = [this, &statement, depth0, home = scope_](Runtime&, const Arguments& arguments) {
      if (arguments.positional.size() != 1 || !arguments.named.empty()) throw Failure("loop() needs what to loop over");
      return called(home, [&] {
        if (run_turns(statement, arguments.positional[0], depth0) != Flow::next)
          throw Failure("break and continue cannot leave this block", at_);
      });
    };
    return std::make_shared<const Function>(Function{"loop", std::move(run)});
  }

  void assign(const Target& target, const Value& value) {
    if (!target.parts.empty()) {
      const Items items = items_of(*this, value);
      if (items.size() != target.parts.size()) {
        throw Failure(fmt::format("cannot assign {} values to {} names", items.size(), target.parts.size()));
      }
      for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
    } else if (target.field.empty()) {
      scope_->set(*this, target.name, value);
    } else {
      const Value* object = scope_->find(*this, target.name);
      if (object == nullptr || object->as_dict() == nullptr || !object->as_dict()->is_namespace) {
        throw Failure(fmt::format("only fields of a namespace can be set, \"{}\" is none", target.name));
      }
      object->as_dict()->put(*this, target.field, value);
    }
  }

  void run_set_block(const Stmt& statement) {
    Value text(captured_in_scope(statement.bodies[0]));
    assign(statement.targets[0], evaluator_.filtered(statement.exprs[0].get(), std::move(text)));
  }

  void run_filter_block(const Stmt& statement) {
    Value text(captured_in_scope(statement.bodies[0]));
    write(evaluator_.filtered(statement.exprs[0].get(), std::move(text)));
  }

  Flow run_with(const Stmt& statement) {
    const ScopePtr outer = scope_;
    Items values;
    for (const ExprPtr& expr : statement.exprs) values.push_back(evaluator_.evaluate(*expr));
    scope_ = std::make_shared<Scope>(outer);
    for (std::size_t i = 0; i < values.size(); ++i) assign(statement.targets[i], values[i]);
    const Flow flow = run_body(statement.bodies[0]);
    scope_ = outer;
    return flow;
  }

  /// Runs a body with variables of its own.
  Flow run_in_scope(const Body& body, const ScopePtr& around) {
    const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>(around));
    const Flow flow = run_body(body);
    scope_ = outer;
    return flow;
  }

  /// Returns the output of a body with variables of its own.
  MarkedText captured_in_scope(const Body& body) {
    MarkedText outer = std::exchange(out_, {});
    if (run_in_scope(body, scope_) != Flow::next) throw Failure("break and continue cannot leave this block", at_);
    return std::exchange(out_, std::move(outer));
  }

  // ---- macros
  /// Makes a function that runs the body with the statement's targets from `first_default` on as parameters.
  Value make_macro(const Stmt& statement, std::size_t first_default, std::string name) {
    keep(scope_);
    auto run = [this, &statement, first_default, home = scope_](Runtime&, const Arguments& arguments) {
      return run_macro(statement, first_default, home, arguments);
    };
    return Value(std::make_shared<const Function>(Function{std::move(name), std::move(run)}));
  }

  Value run_macro(const Stmt& statement, std::size_t first_default, const ScopePtr& home, const Arguments& arguments) {
    return called(std::make_shared<Scope>(home), [&] {
      bind(statement, first_default, arguments);
      if (run_body(statement.bodies[0]) != Flow::next) throw Failure("break and continue cannot leave this block", at_);
    });
  }

  /// Returns the output of `run` with the variables of `home`: a call of a macro or of a loop.
  template <class Run>
  Value called(const ScopePtr& home, const Run& run) {
    if (++macro_depth_ > limits().max_macro_depth)
      throw Failure(fmt::format("macros nested deeper than {} calls", limits().max_macro_depth));
    const ScopePtr caller_scope = std::exchange(scope_, home);
    MarkedText outer = std::exchange(out_, {});
    run();
    MarkedText text = std::exchange(out_, std::move(outer));
    scope_ = caller_scope;
    --macro_depth_;
    return Value(std::move(text));
  }

  void bind(const Stmt& statement, std::size_t first_default, const Arguments& arguments) {
    for (std::size_t i = 0; i < statement.targets.size(); ++i) {
      const std::string& name = statement.targets[i].name;
      const Expr* fallback = statement.exprs[first_default + i].get();
      const Value* given = arguments.find(i, name);
      scope_->set(*this, name,
                  given != nullptr      ? *given
                  : fallback != nullptr ? evaluator_.evaluate(*fallback)
                                        : Value::undefined(name));
    }
    bind_more(statement, arguments);
  }

  /// Binds arguments beyond the parameters to varargs, kwargs and caller, if the body uses these names.
  void bind_more(const Stmt& statement, const Arguments& arguments) {
    const std::size_t n = statement.targets.size(), n_given = arguments.positional.size();
    if (n_given > n && !statement.takes_varargs)
      throw Failure(fmt::format("the macro \"{}\" takes {}", printable_excerpt(statement.text), at_most_arguments(n)));
    if (statement.takes_varargs) {
      const auto begin = arguments.positional.begin() + static_cast<std::ptrdiff_t>(std::min(n, n_given));
      scope_->set(*this, "varargs", Value::tuple(Items(begin, arguments.positional.end())));
    }
    // Hides the `caller` of an enclosing call.
    const auto is_caller = [](const Target& target) { return target.name == "caller"; };
    if (statement.takes_caller && std::none_of(statement.targets.begin(), statement.targets.end(), is_caller))
      scope_->set(*this, "caller", Value::undefined("caller"));
    auto named = std::make_shared<DictObject>();
    for (const auto& [name, value] : arguments.named) {
      const auto is_parameter = [&key = name](const Target& target) { return target.name == key; };
      const auto free = statement.targets.begin() + static_cast<std::ptrdiff_t>(std::min(n, n_given));
      if (std::any_of(free, statement.targets.end(), is_parameter)) continue;
      if (name == "caller" && statement.takes_caller) {
        scope_->set(*this, "caller", value);
      } else if (statement.takes_kwargs) {
        named->put(*this, name, value);
      } else {
        throw Failure(fmt::format("the macro \"{}\" takes no argument \"{}\"", printable_excerpt(statement.text),
                                  printable_excerpt(name)));
      }
    }
    if (statement.takes_kwargs) scope_->set(*this, "kwargs", Value(std::move(named)));
  }

  void run_call_block(const Stmt& statement) {
    const Expr& expr = *statement.exprs[0];
    Arguments arguments = evaluator_.evaluate_arguments(expr);
    arguments.named.emplace_back("caller", make_macro(statement, 1, "caller"));
    write(call(evaluator_.evaluate(*expr.parts[0]), arguments));
  }

  StackGuard guard_;
  const ScopePtr root_;
  ScopePtr scope_;
  MarkedText out_;
  Position at_;
  Evaluator evaluator_;
  int macro_depth_ = 0;
  std::vector<DictPtr> kept_objects_;
  std::vector<ScopePtr> kept_scopes_;
};

}  // namespace

MarkedText render(const Body& body, Variables variables, const Limits& limits) {
  Interpreter interpreter(std::move(variables), limits);
  try {
    return interpreter.run(body);
  } catch (const RaisedByTemplate&) {
    throw;
  } catch (const Failure& failure) {
    throw Failure(failure.message(), failure.at().line > 0 ? failure.at() : interpreter.at());
  }
}

}  // namespace lathe::engine::jinja
