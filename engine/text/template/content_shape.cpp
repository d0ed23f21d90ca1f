// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/content_shape.h"

namespace lathe::engine::jinja {
namespace {

constexpr std::string_view kContent = "content";

/// Returns whether the expression is message.content or message['content'].
bool is_field_content(const Expr& expr) {
  if (expr.kind == ExprKind::attribute) return expr.text == kContent;
  if (expr.kind != ExprKind::subscript || expr.parts.size() < 2 || expr.parts[1] == nullptr) return false;
  const MarkedText* key = expr.parts[1]->kind == ExprKind::literal ? expr.parts[1]->value.as_text() : nullptr;
  return key != nullptr && key->text() == kContent;
}

/// Returns whether the expression is a content field, or the name `content`, which macros and assignments use for it.
bool is_content(const Expr& expr) {
  return is_field_content(expr) || (expr.kind == ExprKind::name && expr.text == kContent);
}

class ContentUse {
 public:
  void look(const Body& body) {
    for (const auto& statement : body) {
      if (statement->kind == StmtKind::for_ && !statement->exprs.empty() && statement->exprs[0] != nullptr) {
        walks_ = walks_ || is_content(*statement->exprs[0]);
        walks_field_ = walks_field_ || is_field_content(*statement->exprs[0]);
      }
      for (const ExprPtr& expr : statement->exprs) look(expr.get());
      for (const Body& inner : statement->bodies) look(inner);
    }
  }

  ContentShape shape() const {
    if (!walks_) return ContentShape::text;
    return walks_field_ && !asks_ ? ContentShape::parts : ContentShape::either;
  }

 private:
  void look(const Expr* expr) {
    if (expr == nullptr) return;
    const bool of_text = expr->kind == ExprKind::test && (expr->text == "string" || expr->text == "iterable");
    asks_ = asks_ || (of_text && !expr->parts.empty() && expr->parts[0] != nullptr && is_content(*expr->parts[0]));
    for (const ExprPtr& part : expr->parts) look(part.get());
    for (const auto& [name, value] : expr->named) look(value.get());
  }

  bool walks_ = false, walks_field_ = false, asks_ = false;
};

}  // namespace

ContentShape content_shape_of(const Body& body) {
  ContentUse use;
  use.look(body);
  return use.shape();
}

}  // namespace lathe::engine::jinja
