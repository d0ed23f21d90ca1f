// SPDX-License-Identifier: Apache-2.0
// The expression part of the parser: precedence, postfix operators, filters and tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/template/runtime/stack_guard.h"
#include "engine/text/template/syntax/ast.h"
#include "engine/text/template/syntax/lexer.h"

namespace lathe::engine::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  /// Parses `a if b else c` and everything that binds tighter; without the conditional if an `if` belongs to the statement.
  ExprPtr parse_expression(bool with_conditional = true);
  /// Parses one expression, or a tuple if commas follow.
  ExprPtr parse_tuple(bool with_conditional = true);
  void parse_arguments(Expr& call);
  /// Parses all `| filter` and `is test` that follow.
  ExprPtr parse_filters(ExprPtr expr);
  ExprPtr parse_filter(ExprPtr input);

  const Token& peek(std::size_t ahead = 0) const;
  Token take();
  bool at_symbol(std::string_view symbol) const { return is_symbol(peek(), symbol); }
  bool at_name(std::string_view name) const { return peek().kind == TokenKind::name && peek().text == name; }
  bool take_symbol(std::string_view symbol);
  bool take_name(std::string_view name);
  void expect_symbol(std::string_view symbol);
  std::string expect_name(std::string_view what);
  [[noreturn]] void refuse(std::string_view wanted) const;
  static ExprPtr make(ExprKind kind, Position at, std::string text = {});
  /// Adds a part; throws Failure if the tree gets too deep.
  static void add_part(Expr& expr, ExprPtr part);

  /// Counts an open bracket or expression; throws Failure if there are too many. The caller decrements n_open_ at its end.
  void open();

  StackGuard guard_;
  int n_open_ = 0;
  /// Number of uses of the names that have a meaning inside a loop or a macro.
  struct SpecialNames {
    int loop = 0, varargs = 0, kwargs = 0, caller = 0;
  };
  SpecialNames seen_;

 private:
  static bool is_symbol(const Token& token, std::string_view symbol) {
    return token.kind == TokenKind::symbol && token.text == symbol;
  }
  struct Operator {
    int level = -1;  ///< -1: the next token is no binary operator
    ExprKind kind = ExprKind::arithmetic;
    std::string_view name;
  };
  Operator peek_operator() const;
  ExprPtr parse_operators(int min_level);
  ExprPtr combine(const Operator& op, Position at, ExprPtr left);
  ExprPtr parse_not();
  ExprPtr parse_unary(bool with_filters);
  ExprPtr parse_primary();
  ExprPtr parse_parentheses();
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_name();
  ExprPtr parse_integer();
  ExprPtr parse_postfix(ExprPtr expr);
  ExprPtr parse_subscript(ExprPtr object);
  ExprPtr parse_test(ExprPtr input);
  void note_name(std::string_view name);
  void parse_argument(Expr& call);
  void parse_spread(Expr& call);
  bool starts_test_argument() const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace lathe::engine::jinja
