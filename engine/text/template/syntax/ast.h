// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/template/runtime/failure.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

enum class ExprKind : std::uint8_t {
  literal,      ///< value
  name,         ///< text
  list,         ///< parts
  tuple,        ///< parts
  dict,         ///< parts: key, value, key, value...
  negate,       ///< parts[0]
  plus,         ///< parts[0]
  logical_not,  ///< parts[0]
  logical_and,  ///< parts[0], parts[1]
  logical_or,   ///< parts[0], parts[1]
  arithmetic,   ///< text is the operator; parts[0], parts[1]
  concatenate,  ///< parts, two or more
  compare,      ///< parts[0], then one part for each of `names`, which hold the operators
  conditional,  ///< parts: condition, then, else (may be missing)
  attribute,    ///< parts[0] . text
  subscript,    ///< parts[0] [ parts[1] ]
  slice,        ///< parts: object, start, stop, step; null if omitted
  call,         ///< parts[0] ( parts[1...], named )
  filter,       ///< parts[0] | text ( parts[1...], named ); parts[0] is null for a filter block
  test,         ///< parts[0] is text ( parts[1...], named )
  spread        ///< * parts[0] among the arguments of a call; the name of ** in `named` is "**"
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind = ExprKind::literal;
  Position at;
  int depth = 1;        ///< levels of the tree at and below this node
  bool closed = false;  ///< the source has parentheses around the expression
  std::string text;
  Value value;
  std::vector<ExprPtr> parts;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, ExprPtr>> named;
};

enum class StmtKind : std::uint8_t {
  data,          ///< text
  output,        ///< exprs
  if_,           ///< exprs[i] is the condition of bodies[i]; an additional body is the else
  for_,          ///< targets in exprs[0], if exprs[1] (may be null); bodies: loop, else
  set,           ///< targets = exprs[0]
  set_block,     ///< targets = bodies[0], through the filters of exprs[0] (may be null)
  macro,         ///< text ( targets ) with defaults in exprs, null if a target has none; bodies[0]
  call_block,    ///< exprs[0] is the call; targets are the arguments of caller; bodies[0]
  filter_block,  ///< exprs[0] over bodies[0]
  with,          ///< targets[i] = exprs[i]; bodies[0]
  scope,         ///< bodies[0], {% generation %}
  block,         ///< bodies[0], which sees only variables that are set outside of all blocks
  break_,
  continue_
};

/// Target of an assignment: a name, a field of a namespace, or several targets.
struct Target {
  std::string name;
  std::string field;          ///< field in "name.field"; empty: none
  std::vector<Target> parts;  ///< targets in "a, b"; name is empty then
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Stmt {
  StmtKind kind = StmtKind::data;
  Position at;
  std::string text;
  bool uses_loop = false;     ///< for_: the name `loop` occurs in the bodies
  bool is_recursive = false;  ///< for_: `loop(items)` runs the loop recursively
  // macro and call_block: whether the body takes more arguments than the targets, because it uses the name `varargs`,
  // `kwargs` or `caller`.
  bool takes_varargs = false, takes_kwargs = false, takes_caller = false;
  std::vector<Target> targets;
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
};

}  // namespace lathe::engine::jinja
