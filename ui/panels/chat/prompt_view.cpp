// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/prompt_view.h"

#include <QLocale>
#include <QTextCursor>
#include <QVBoxLayout>

#include "app/api/chat_session.h"
#include "ui/models/conversation.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

struct Piece {
  QString text;
  bool special;
};

struct Rendered {
  std::vector<Piece> pieces;
  std::size_t n_tokens = 0;
};

/// Joins consecutive plain tokens to one piece, because a character may span two tokens.
engine::Result<Rendered> render_prompt(app::ModelSlot& slot, const std::vector<engine::ChatMessage>& messages) {
  const app::EngineLease lease = slot.lease();
  if (!lease)
    return engine::fail(engine::ErrorCode::unavailable, "No model is loaded; the chat template comes with a model.");
  const engine::Tokenizer& tokenizer = lease->tokenizer();
  app::ChatTurn turn;
  turn.messages = messages;
  turn.completes = lease->chat_template() == nullptr;
  LATHE_TRY(const std::vector<std::int32_t> ids, app::prompt_ids(*lease, turn));
  Rendered rendered;
  rendered.n_tokens = ids.size();
  std::vector<std::int32_t> plain;
  const auto flush = [&] {
    if (!plain.empty()) rendered.pieces.push_back({QString::fromStdString(tokenizer.decode(plain, false)), false});
    plain.clear();
  };
  for (const std::int32_t id : ids) {
    if (!tokenizer.is_special(id)) {
      plain.push_back(id);
      continue;
    }
    flush();
    rendered.pieces.push_back({QString::fromStdString(tokenizer.piece(id)), true});
  }
  flush();
  return rendered;
}

}  // namespace

PromptView::PromptView(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("prompt_view"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, theme.px(12), 0, theme.px(8));
  facts_ = make_label(theme, QStringLiteral("prompt_view.facts"), QString(), this, 12, QFont::Normal, TextTone::text3);
  facts_->setWordWrap(true);
  text_ = new QTextEdit(this);
  text_->setObjectName(QStringLiteral("prompt_view.text"));
  text_->setAccessibleName(tr("The prompt as the model receives it"));
  text_->setReadOnly(true);
  text_->setStyleSheet(QStringLiteral("QTextEdit { background: transparent; border: none; }"));
  column->addWidget(facts_);
  column->addWidget(text_, 1);
  for (const auto signal : {&Conversation::path_changed, &Conversation::changed})
    connect(&context.conversation, signal, this, [this] { refresh(); });
  connect(&context.conversation, &Conversation::reset, this, [this] { refresh(); });
  connect(&context.theme, &Theme::changed, this, [this] { refresh(); });
}

void PromptView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void PromptView::refresh() {
  if (!isVisible()) return;
  const std::uint64_t number = ++rendering_;
  context_.background.run(
      this,
      [&slot = context_.workbench.models(), messages = context_.conversation.turns()] {
        return render_prompt(slot, messages);
      },
      [this, number](engine::Result<Rendered> rendered) {
        if (number != rendering_) return;
        const Theme& theme = context_.theme;
        text_->clear();
        if (!rendered) return facts_->setText(QString::fromStdString(rendered.error().message));
        facts_->setText(tr("%1 tokens. Special tokens are marked.")
                            .arg(QLocale().toString(static_cast<qulonglong>(rendered->n_tokens))));
        QTextCursor cursor(text_->document());
        QTextCharFormat plain, special;
        plain.setFont(theme.code_font(12));
        plain.setForeground(theme.tokens().text);
        special.setFont(theme.code_font(12, QFont::Medium));
        special.setForeground(theme.tokens().accent_text);
        special.setBackground(theme.tokens().tint);
        for (const Piece& piece : rendered->pieces) cursor.insertText(piece.text, piece.special ? special : plain);
      });
}

}  // namespace lathe::ui
