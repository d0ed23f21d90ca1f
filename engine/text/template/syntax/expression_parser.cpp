// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/syntax/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "engine/base/utf8.h"
#include "engine/text/template/runtime/whole_number.h"

namespace lathe::engine::jinja {
namespace {

constexpr int kMaxOpen = 100;   // brackets inside brackets
constexpr int kMaxDepth = 400;  // levels of one expression's tree: each term of "a + b + c..." adds one

/// A binary operator of the language; a higher level binds tighter.
struct KnownOperator {
  std::string_view name;
  int level;
  ExprKind kind;
};
constexpr int kNotLevel = 2, kCompareLevel = 3;
constexpr std::array kSymbolOperators = {
    KnownOperator{"==", kCompareLevel, ExprKind::compare}, KnownOperator{"!=", kCompareLevel, ExprKind::compare},
    KnownOperator{"<", kCompareLevel, ExprKind::compare},  KnownOperator{"<=", kCompareLevel, ExprKind::compare},
    KnownOperator{">", kCompareLevel, ExprKind::compare},  KnownOperator{">=", kCompareLevel, ExprKind::compare},
    KnownOperator{"+", 4, ExprKind::arithmetic},           KnownOperator{"-", 4, ExprKind::arithmetic},
    KnownOperator{"~", 5, ExprKind::concatenate},          KnownOperator{"*", 6, ExprKind::arithmetic},
    KnownOperator{"/", 6, ExprKind::arithmetic},           KnownOperator{"//", 6, ExprKind::arithmetic},
    KnownOperator{"%", 6, ExprKind::arithmetic},           KnownOperator{"**", 7, ExprKind::arithmetic},
};
constexpr std::array kNameOperators = {
    KnownOperator{"or", 0, ExprKind::logical_or},
    KnownOperator{"and", 1, ExprKind::logical_and},
    KnownOperator{"in", kCompareLevel, ExprKind::compare},
};

}  // namespace

const Token& ExpressionParser::peek(std::size_t ahead) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }

Token ExpressionParser::take() {
  Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::take_symbol(std::string_view symbol) {
  if (!at_symbol(symbol)) return false;
  take();
  return true;
}

bool ExpressionParser::take_name(std::string_view name) {
  if (!at_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::expect_symbol(std::string_view symbol) {
  if (!take_symbol(symbol)) refuse(fmt::format("\"{}\"", symbol));
}

std::string ExpressionParser::expect_name(std::string_view what) {
  if (peek().kind != TokenKind::name) refuse(what);
  return take().text;
}

void ExpressionParser::refuse(std::string_view wanted) const {
  std::string found;
  switch (peek().kind) {
    case TokenKind::end: found = "the end of the template"; break;
    case TokenKind::variable_end:
    case TokenKind::block_end: found = "the end of the tag"; break;
    default: found = fmt::format("\"{}\"", printable_excerpt(peek().text)); break;
  }
  throw Failure(fmt::format("expected {}, got {}", wanted, found), peek().at);
}

ExprPtr ExpressionParser::make(ExprKind kind, Position at, std::string text) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  expr->text = std::move(text);
  return expr;
}

void ExpressionParser::add_part(Expr& expr, ExprPtr part) {
  if (part) expr.depth = std::max(expr.depth, part->depth + 1);
  if (expr.depth > kMaxDepth) throw Failure(fmt::format("an expression has more than {} levels", kMaxDepth), expr.at);
  expr.parts.push_back(std::move(part));
}

void ExpressionParser::open() {
  guard_.check();
  if (++n_open_ > kMaxOpen) throw Failure(fmt::format("nested deeper than {} levels", kMaxOpen), peek().at);
}

ExprPtr ExpressionParser::parse_expression(bool with_conditional) {
  open();
  ExprPtr expr = parse_operators(0);
  while (with_conditional && at_name("if")) {
    ExprPtr choice = make(ExprKind::conditional, take().at);
    add_part(*choice, parse_operators(0));
    add_part(*choice, std::move(expr));
    if (take_name("else")) add_part(*choice, parse_expression());
    expr = std::move(choice);
  }
  --n_open_;
  return expr;
}

ExprPtr ExpressionParser::parse_tuple(bool with_conditional) {
  ExprPtr first = parse_expression(with_conditional);
  if (!at_symbol(",")) return first;
  ExprPtr tuple = make(ExprKind::tuple, first->at);
  add_part(*tuple, std::move(first));
  while (take_symbol(",")) {
    const TokenKind next = peek().kind;
    if (next == TokenKind::block_end || next == TokenKind::variable_end || at_symbol(")")) break;
    add_part(*tuple, parse_expression(with_conditional));
  }
  return tuple;
}

ExpressionParser::Operator ExpressionParser::peek_operator() const {
  const Token& token = peek();
  const auto find = [&](const auto& known) {
    for (const KnownOperator& op : known) {
      if (op.name == token.text) return Operator{op.level, op.kind, op.name};
    }
    return Operator{};
  };
  if (token.kind == TokenKind::symbol) return find(kSymbolOperators);
  if (token.kind != TokenKind::name) return {};
  if (token.text == "not" && peek(1).kind == TokenKind::name && peek(1).text == "in") {
    return {kCompareLevel, ExprKind::compare, "not in"};
  }
  return find(kNameOperators);
}

/// Parses operators of `min_level` and tighter ones, from left to right.
ExprPtr ExpressionParser::parse_operators(int min_level) {
  ExprPtr left = min_level <= kNotLevel && at_name("not") ? parse_not() : parse_unary(true);
  while (true) {
    const Operator op = peek_operator();
    if (op.level < min_level) return left;
    const Position at = take().at;
    if (op.name == "not in") take();
    left = combine(op, at, std::move(left));
  }
}

/// Parses the right side of `left op right`; a chain of `~` or of comparisons becomes one node.
ExprPtr ExpressionParser::combine(const Operator& op, Position at, ExprPtr left) {
  // A bracketed comparison is a value of its own: (a < b) < c is not a chain.
  const bool chains =
      (op.kind == ExprKind::concatenate || op.kind == ExprKind::compare) && left->kind == op.kind && !left->closed;
  ExprPtr both = chains ? std::move(left) : make(op.kind, at, std::string(op.name));
  if (!chains) add_part(*both, std::move(left));
  if (op.kind == ExprKind::compare) both->names.emplace_back(op.name);
  add_part(*both, parse_operators(op.level + 1));
  return both;
}

ExprPtr ExpressionParser::parse_not() {
  open();
  ExprPtr negation = make(ExprKind::logical_not, take().at);
  add_part(*negation, at_name("not") ? parse_not() : parse_operators(kNotLevel + 1));
  --n_open_;
  return negation;
}

ExprPtr ExpressionParser::parse_unary(bool with_filters) {
  if (at_symbol("-") || at_symbol("+")) {
    open();
    ExprPtr sign = make(at_symbol("-") ? ExprKind::negate : ExprKind::plus, peek().at);
    take();
    add_part(*sign, parse_unary(false));
    --n_open_;
    return with_filters ? parse_filters(std::move(sign)) : std::move(sign);
  }
  ExprPtr expr = parse_postfix(parse_primary());
  return with_filters ? parse_filters(std::move(expr)) : std::move(expr);
}

namespace {

/// Returns infinity for a number that is too large, as Python does.
double number_of(std::string_view text) {
  double value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  const bool is_small = text.find("e-") != text.npos || text.find("E-") != text.npos;
  return error == std::errc::result_out_of_range && !is_small ? std::numeric_limits<double>::infinity() : value;
}

}  // namespace

ExprPtr ExpressionParser::parse_primary() {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::name: return parse_name();
    case TokenKind::integer: return parse_integer();
    case TokenKind::number: {
      ExprPtr literal = make(ExprKind::literal, token.at);
      literal->value = Value(number_of(token.text));
      take();
      return literal;
    }
    case TokenKind::text: {
      ExprPtr literal = make(ExprKind::literal, token.at);
      std::string text;
      while (peek().kind == TokenKind::text) text += take().text;  // adjacent texts are one text
      literal->value = Value::text(text);
      return literal;
    }
    default: break;
  }
  if (at_symbol("(")) return parse_parentheses();
  if (at_symbol("[")) return parse_list();
  if (at_symbol("{")) return parse_dict();
  refuse("an expression");
}

void ExpressionParser::note_name(std::string_view name) {
  if (name == "loop") ++seen_.loop;
  if (name == "varargs") ++seen_.varargs;
  if (name == "kwargs") ++seen_.kwargs;
  if (name == "caller") ++seen_.caller;
}

ExprPtr ExpressionParser::parse_name() {
  const Token token = take();
  ExprPtr literal = make(ExprKind::literal, token.at);
  note_name(token.text);
  if (token.text == "true" || token.text == "True") {
    literal->value = Value(true);
  } else if (token.text == "false" || token.text == "False") {
    literal->value = Value(false);
  } else if (token.text == "none" || token.text == "None") {
    literal->value = Value::none();
  } else {
    return make(ExprKind::name, token.at, token.text);
  }
  return literal;
}

ExprPtr ExpressionParser::parse_integer() {
  const Token token = take();
  ExprPtr literal = make(ExprKind::literal, token.at);
  std::int64_t value = 0;
  const char kind = token.text.size() > 1 ? token.text[1] : ' ';  // kind of 0x1f, 0o17 and 0b11
  const int base = kind == 'x' || kind == 'X' ? 16 : kind == 'o' || kind == 'O' ? 8 : kind == 'b' || kind == 'B' ? 2 : 10;
  const char* begin = token.text.data() + (base == 10 ? 0 : 2);
  const auto error = std::from_chars(begin, token.text.data() + token.text.size(), value, base).ec;
  if (error != std::errc() && base != 10) throw Failure("a number that is not decimal does not fit into 64 bits", token.at);
  if (token.text.size() > kMaxWholeDigits)
    throw Failure(fmt::format("the number has more than {} digits", kMaxWholeDigits), token.at);
  literal->value = error == std::errc() ? Value(value) : Value::whole(whole_digits(token.text).value_or("0"));
  return literal;
}

ExprPtr ExpressionParser::parse_parentheses() {
  const Position at = take().at;
  if (take_symbol(")")) return make(ExprKind::tuple, at);
  ExprPtr expr = parse_tuple();
  expr->closed = true;
  expect_symbol(")");
  return expr;
}

ExprPtr ExpressionParser::parse_list() {
  ExprPtr list = make(ExprKind::list, take().at);
  while (!take_symbol("]")) {
    if (!list->parts.empty()) {
      expect_symbol(",");
      if (take_symbol("]")) break;
    }
    add_part(*list, parse_expression());
  }
  return list;
}

ExprPtr ExpressionParser::parse_dict() {
  ExprPtr dict = make(ExprKind::dict, take().at);
  while (!take_symbol("}")) {
    if (!dict->parts.empty()) {
      expect_symbol(",");
      if (take_symbol("}")) break;
    }
    add_part(*dict, parse_expression());
    expect_symbol(":");
    add_part(*dict, parse_expression());
  }
  return dict;
}

ExprPtr ExpressionParser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (at_symbol(".")) {
      ExprPtr attribute = make(ExprKind::attribute, take().at);
      if (peek().kind == TokenKind::integer) {  // "a.0" is a[0]
        attribute->kind = ExprKind::subscript;
        add_part(*attribute, std::move(expr));
        add_part(*attribute, parse_integer());
      } else {
        attribute->text = expect_name("a name after \".\"");
        add_part(*attribute, std::move(expr));
      }
      expr = std::move(attribute);
    } else if (at_symbol("[")) {
      expr = parse_subscript(std::move(expr));
    } else if (at_symbol("(")) {
      ExprPtr call = make(ExprKind::call, peek().at);
      add_part(*call, std::move(expr));
      parse_arguments(*call);
      expr = std::move(call);
    } else {
      return expr;
    }
  }
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr object) {
  const Position at = take().at;
  std::vector<ExprPtr> parts;
  bool is_slice = false;
  parts.push_back(at_symbol(":") ? nullptr : parse_tuple());
  while (parts.size() < 3 && take_symbol(":")) {
    is_slice = true;
    parts.push_back(at_symbol(":") || at_symbol("]") ? nullptr : parse_expression());
  }
  expect_symbol("]");
  ExprPtr out = make(is_slice ? ExprKind::slice : ExprKind::subscript, at);
  add_part(*out, std::move(object));
  for (ExprPtr& part : parts) add_part(*out, std::move(part));
  while (is_slice && out->parts.size() < 4) out->parts.push_back(nullptr);
  return out;
}

void ExpressionParser::parse_arguments(Expr& call) {
  expect_symbol("(");
  bool first = true;
  while (!take_symbol(")")) {
    if (!first) {
      expect_symbol(",");
      if (take_symbol(")")) break;
    }
    first = false;
    at_symbol("*") || at_symbol("**") ? parse_spread(call) : parse_argument(call);
  }
}

namespace {
bool is_spread(const ExprPtr& part) { return part && part->kind == ExprKind::spread; }
bool has_named_spread(const Expr& call) { return !call.named.empty() && call.named.back().first == "**"; }
}  // namespace

void ExpressionParser::parse_argument(Expr& call) {
  if (has_named_spread(call)) refuse("the end of the arguments after **");
  if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::symbol && peek(1).text == "=") {
    std::string name = take().text;
    take();
    ExprPtr value = parse_expression();
    call.depth = std::max(call.depth, value->depth + 1);
    call.named.emplace_back(std::move(name), std::move(value));
  } else if (!call.named.empty() || is_spread(call.parts.back())) {
    refuse("a named argument, as those before");
  } else {
    add_part(call, parse_expression());
  }
}

/// Parses `*list` and `**dict`: at most one of each, and nothing after the dict.
void ExpressionParser::parse_spread(Expr& call) {
  const bool is_named = at_symbol("**");
  if (has_named_spread(call) || (!is_named && is_spread(call.parts.back()))) refuse("the end of the arguments");
  const Position at = take().at;
  ExprPtr value = parse_expression();
  if (is_named) {
    call.depth = std::max(call.depth, value->depth + 1);
    call.named.emplace_back("**", std::move(value));
    return;
  }
  ExprPtr spread = make(ExprKind::spread, at);
  add_part(*spread, std::move(value));
  add_part(call, std::move(spread));
}

ExprPtr ExpressionParser::parse_filters(ExprPtr expr) {
  while (true) {
    if (at_symbol("|")) {
      take();
      expr = parse_filter(std::move(expr));
    } else if (at_name("is")) {
      expr = parse_test(std::move(expr));
    } else if (at_symbol("(")) {  // the value that a filter returned may be called
      ExprPtr call = make(ExprKind::call, peek().at);
      add_part(*call, std::move(expr));
      parse_arguments(*call);
      expr = std::move(call);
    } else {
      return expr;
    }
  }
}

ExprPtr ExpressionParser::parse_filter(ExprPtr input) {
  ExprPtr filter = make(ExprKind::filter, peek().at);
  filter->text = expect_name("the name of a filter");
  while (take_symbol(".")) filter->text += "." + expect_name("the name of a filter");
  add_part(*filter, std::move(input));
  if (at_symbol("(")) parse_arguments(*filter);
  return filter;
}

bool ExpressionParser::starts_test_argument() const {
  const Token& token = peek();
  if (token.kind == TokenKind::symbol) return token.text == "[" || token.text == "{";
  if (token.kind != TokenKind::name)
    return token.kind == TokenKind::integer || token.kind == TokenKind::number || token.kind == TokenKind::text;
  constexpr std::array<std::string_view, 7> kNoArgument = {"else", "or", "and", "if", "is", "in", "not"};
  return std::find(kNoArgument.begin(), kNoArgument.end(), token.text) == kNoArgument.end();
}

/// Parses `is name`, `is not name`, `is name argument` and `is name(arguments)`.
ExprPtr ExpressionParser::parse_test(ExprPtr input) {
  const Position at = take().at;
  const bool negated = take_name("not");
  ExprPtr test = make(ExprKind::test, at);
  test->text = expect_name("the name of a test");
  while (take_symbol(".")) test->text += "." + expect_name("the name of a test");
  add_part(*test, std::move(input));
  if (at_symbol("(")) {
    parse_arguments(*test);
  } else if (starts_test_argument()) {
    add_part(*test, parse_postfix(parse_primary()));
  }
  if (!negated) return test;
  ExprPtr negation = make(ExprKind::logical_not, at);
  add_part(*negation, std::move(test));
  return negation;
}

}  // namespace lathe::engine::jinja
