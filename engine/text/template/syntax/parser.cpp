// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/syntax/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "engine/base/utf8.h"
#include "engine/text/template/syntax/expression_parser.h"

namespace lathe::engine::jinja {
namespace {

constexpr int kMaxBlocks = 100;  // nesting of blocks

using StmtPtr = std::unique_ptr<Stmt>;
using Names = std::span<const std::string_view>;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body parse_all() {
    Body body = parse_body({});
    if (peek().kind != TokenKind::end) refuse("the end of the template");
    return body;
  }

 private:
  using ParseStatement = StmtPtr (Parser::*)(StmtPtr);
  struct Statement {
    std::string_view name;
    ParseStatement parse;
  };
  static const Statement* find_statement(std::string_view name);

  static StmtPtr make_statement(StmtKind kind, Position at) {
    auto statement = std::make_unique<Stmt>();
    statement->kind = kind;
    statement->at = at;
    return statement;
  }

  /// Parses statements up to a block whose name is one of `ends`; also takes the begin and name of that block.
  Body parse_body(Names ends) {
    guard_.check();
    if (++n_blocks_ > kMaxBlocks) throw Failure(fmt::format("blocks nested deeper than {} levels", kMaxBlocks), peek().at);
    const Position opened = peek().at;
    Body body;
    while (true) {
      const Token token = take();
      if (token.kind == TokenKind::end) {
        if (!ends.empty()) throw Failure(fmt::format("{{% {} %}} is missing", ends.back()), opened);
        break;
      }
      if (token.kind == TokenKind::data) {
        body.push_back(make_statement(StmtKind::data, token.at));
        body.back()->text = token.text;
      } else if (token.kind == TokenKind::variable_begin) {
        body.push_back(make_statement(StmtKind::output, token.at));
        body.back()->exprs.push_back(parse_tuple());
        expect_end(TokenKind::variable_end);
      } else {
        const std::string name = expect_name("the name of a statement");
        ended_by_ = name;
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) break;
        body.push_back(parse_statement(name, token.at));
      }
    }
    --n_blocks_;
    return body;
  }

  StmtPtr parse_statement(const std::string& name, Position at) {
    const Statement* known = find_statement(name);
    if (known == nullptr) {
      throw Failure(fmt::format("the statement {{% {} %}} is not supported here", printable_excerpt(name)), at);
    }
    return (this->*known->parse)(make_statement(StmtKind::data, at));
  }

  void expect_end(TokenKind kind) {
    if (peek().kind != kind) refuse("the end of the tag");
    take();
  }
  void end_block() { expect_end(TokenKind::block_end); }

  template <std::size_t N>
  Body parse_until(const std::array<std::string_view, N>& ends) {
    end_block();
    return parse_body(ends);
  }

  StmtPtr parse_if(StmtPtr statement) {
    constexpr std::array<std::string_view, 3> kBranches = {"elif", "else", "endif"};
    constexpr std::array<std::string_view, 1> kEnd = {"endif"};
    statement->kind = StmtKind::if_;
    do {
      statement->exprs.push_back(parse_tuple());
      statement->bodies.push_back(parse_until(kBranches));
    } while (ended_by_ == "elif");
    if (ended_by_ == "else") statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  StmtPtr parse_for(StmtPtr statement) {
    constexpr std::array<std::string_view, 2> kBranches = {"else", "endfor"};
    constexpr std::array<std::string_view, 1> kEnd = {"endfor"};
    statement->kind = StmtKind::for_;
    statement->targets.push_back(parse_target(false));
    if (!take_name("in")) refuse("\"in\"");
    statement->exprs.push_back(parse_tuple(false));
    statement->exprs.push_back(take_name("if") ? parse_expression() : nullptr);
    statement->is_recursive = take_name("recursive");
    const int n_before = seen_.loop;
    statement->bodies.push_back(parse_until(kBranches));
    statement->uses_loop = seen_.loop != n_before;
    if (ended_by_ == "else") statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  Target parse_one_target(bool with_fields) {
    if (take_symbol("(")) {
      Target target = parse_target(with_fields);
      expect_symbol(")");
      return target;
    }
    Target target;
    target.name = expect_name("a name to assign to");
    if (with_fields && take_symbol(".")) target.field = expect_name("the name of a field");
    return target;
  }

  Target parse_target(bool with_fields) {
    open();
    Target first = parse_one_target(with_fields);
    --n_open_;
    if (!at_symbol(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (take_symbol(",")) {
      if (peek().kind != TokenKind::name && !at_symbol("(")) break;
      all.parts.push_back(parse_one_target(with_fields));
    }
    return all;
  }

  StmtPtr parse_set(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endset"};
    statement->targets.push_back(parse_target(true));
    if (take_symbol("=")) {
      statement->kind = StmtKind::set;
      statement->exprs.push_back(parse_tuple());
    } else {
      statement->kind = StmtKind::set_block;
      statement->exprs.push_back(parse_block_filters());
      statement->bodies.push_back(parse_until(kEnd));
    }
    end_block();
    return statement;
  }

  /// Parses the filters of a block, "| trim | upper"; the innermost has no input. Returns null if there are none.
  ExprPtr parse_block_filters() {
    ExprPtr filter;
    while (take_symbol("|")) filter = parse_filter(std::move(filter));
    return filter;
  }

  void parse_parameters(Stmt& statement) {
    expect_symbol("(");
    while (!take_symbol(")")) {
      if (!statement.targets.empty()) expect_symbol(",");
      if (take_symbol(")")) break;
      statement.targets.push_back({.name = expect_name("the name of a parameter"), .field = {}, .parts = {}});
      statement.exprs.push_back(take_symbol("=") ? parse_expression() : nullptr);
    }
  }

  StmtPtr parse_macro(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endmacro"};
    statement->kind = StmtKind::macro;
    statement->text = expect_name("the name of the macro");
    parse_parameters(*statement);
    parse_macro_body(*statement, kEnd);
    take_name(statement->text);
    end_block();
    return statement;
  }

  void parse_macro_body(Stmt& statement, const std::array<std::string_view, 1>& end) {
    const SpecialNames before = seen_;
    statement.bodies.push_back(parse_until(end));
    statement.takes_varargs = seen_.varargs != before.varargs;
    statement.takes_kwargs = seen_.kwargs != before.kwargs;
    statement.takes_caller = seen_.caller != before.caller;
  }

  StmtPtr parse_call(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endcall"};
    statement->kind = StmtKind::call_block;
    if (at_symbol("(")) parse_parameters(*statement);
    ExprPtr call = parse_expression();
    if (call->kind != ExprKind::call) throw Failure("{% call %} needs a call", call->at);
    statement->exprs.insert(statement->exprs.begin(), std::move(call));
    parse_macro_body(*statement, kEnd);
    end_block();
    return statement;
  }

  StmtPtr parse_filter_block(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endfilter"};
    statement->kind = StmtKind::filter_block;
    ExprPtr filter = parse_filter(nullptr);
    while (take_symbol("|")) filter = parse_filter(std::move(filter));
    statement->exprs.push_back(std::move(filter));
    statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  StmtPtr parse_with(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endwith"};
    statement->kind = StmtKind::with;
    while (peek().kind != TokenKind::block_end) {
      if (!statement->targets.empty()) expect_symbol(",");
      statement->targets.push_back(parse_one_target(false));
      expect_symbol("=");
      statement->exprs.push_back(parse_expression());
    }
    statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  /// Parses {% generation %}, which marks the assistant's text for training and has no effect on a prompt.
  StmtPtr parse_generation(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endgeneration"};
    statement->kind = StmtKind::scope;
    statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  /// Parses a block, which is rendered in its position, because no template can extend this one.
  StmtPtr parse_block(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endblock"};
    statement->text = expect_name("the name of the block");
    if (!block_names_.insert(statement->text).second) {
      throw Failure(fmt::format("the block \"{}\" appears twice", printable_excerpt(statement->text)), peek().at);
    }
    statement->kind = take_name("scoped") ? StmtKind::scope : StmtKind::block;
    statement->bodies.push_back(parse_until(kEnd));
    take_name(statement->text);
    end_block();
    return statement;
  }

  StmtPtr parse_print(StmtPtr statement) {
    statement->kind = StmtKind::output;
    while (peek().kind != TokenKind::block_end) {
      if (!statement->exprs.empty()) expect_symbol(",");
      statement->exprs.push_back(parse_expression());
    }
    end_block();
    return statement;
  }

  /// Parses {% autoescape false %}, which has no effect because autoescape is always off.
  StmtPtr parse_autoescape(StmtPtr statement) {
    constexpr std::array<std::string_view, 1> kEnd = {"endautoescape"};
    if (!take_name("false") && !take_name("False")) {
      throw Failure("automatic escaping is not supported: {% autoescape %} accepts only false", peek().at);
    }
    statement->kind = StmtKind::scope;
    statement->bodies.push_back(parse_until(kEnd));
    end_block();
    return statement;
  }

  StmtPtr parse_break(StmtPtr statement) {
    statement->kind = StmtKind::break_;
    end_block();
    return statement;
  }
  StmtPtr parse_continue(StmtPtr statement) {
    statement->kind = StmtKind::continue_;
    end_block();
    return statement;
  }

  int n_blocks_ = 0;
  std::string ended_by_;  // name of the block that ended the last body
  std::set<std::string> block_names_;
};

const Parser::Statement* Parser::find_statement(std::string_view name) {
  // THE TABLE of statements.
  static constexpr std::array kStatements = {
      Statement{"if", &Parser::parse_if},
      Statement{"for", &Parser::parse_for},
      Statement{"set", &Parser::parse_set},
      Statement{"macro", &Parser::parse_macro},
      Statement{"call", &Parser::parse_call},
      Statement{"filter", &Parser::parse_filter_block},
      Statement{"with", &Parser::parse_with},
      Statement{"generation", &Parser::parse_generation},
      Statement{"break", &Parser::parse_break},
      Statement{"continue", &Parser::parse_continue},
      Statement{"block", &Parser::parse_block},
      Statement{"print", &Parser::parse_print},
      Statement{"autoescape", &Parser::parse_autoescape},
  };
  for (const Statement& statement : kStatements) {
    if (statement.name == name) return &statement;
  }
  return nullptr;
}

}  // namespace

Body parse_template(std::string_view source) { return Parser(tokenize(source)).parse_all(); }

}  // namespace lathe::engine::jinja
