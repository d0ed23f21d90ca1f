// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/inline_message.h"

#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/flow_layout.h"

namespace lathe::ui {
namespace {

constexpr qsizetype kLongNumbers = 320, kShortNumbers = 180;  // characters
constexpr int kMessagePadding = 10, kMessageIcon = 16, kTextLeft = 34;

}  // namespace

InlineMessage::InlineMessage(const Theme& theme, const QString& name, QWidget* parent) : QFrame(parent), theme_(theme) {
  setObjectName(name);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(kMessagePadding), theme.px(8), theme.px(kMessagePadding), theme.px(kMessagePadding));
  column->setSpacing(theme.px(2));
  what_ = make_label(theme, name + QStringLiteral(".what"), QString(), this, 13, QFont::DemiBold, TextTone::text);
  numbers_ = make_label(theme, name + QStringLiteral(".numbers"), QString(), this, 12);
  for (ToneLabel* label : {what_, numbers_}) {
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setIndent(0);
    label->setContentsMargins(theme.px(kTextLeft - kMessagePadding), 0, 0, 0);
    column->addWidget(label);
  }
  row_ = new QWidget(this);
  new FlowLayout(row_, theme.px(6));
  column->addSpacing(theme.px(6));
  column->addWidget(row_);
}

void InlineMessage::set(MessageTone tone, const QString& what, const QString& numbers, std::vector<Button> buttons) {
  tone_ = tone;
  what_->setText(what);
  if (numbers != all_numbers_) is_expanded_ = false;
  all_numbers_ = numbers;
  show_numbers();
  setAccessibleName(what);
  setAccessibleDescription(numbers);
  while (QLayoutItem* item = row_->layout()->takeAt(0)) {
    // Deletes the button later: this call may come from its click.
    item->widget()->hide();
    item->widget()->deleteLater();
    delete item;
  }
  if (numbers.size() > kLongNumbers && !is_expanded_) {
    const auto expand = [this] {
      is_expanded_ = true;
      show_numbers();
      if (auto* details = findChild<QWidget*>(objectName() + QStringLiteral(".details"))) details->hide();
      updateGeometry();
    };
    buttons.push_back({QStringLiteral("details"), tr("Details"), expand, true});
  }
  for (Button& button : buttons) add_button(std::move(button));
  row_->setVisible(!buttons.empty());
  updateGeometry();
  update();
}

void InlineMessage::add_button(Button button) {
  QPushButton* made = make_button(theme_, objectName() + QLatin1Char('.') + button.name, button.text, row_,
                                  button.ghost ? ButtonLook::ghost : ButtonLook::plain, true);
  connect(made, &QPushButton::clicked, this, [act = std::move(button.act)] { act(); });
  row_->layout()->addWidget(made);
  made->show();
}

/// Shows the text, or its beginning. Errors of the engine begin in lower case; here they are sentences.
void InlineMessage::show_numbers() {
  QString shown = all_numbers_;
  if (shown.size() > kLongNumbers && !is_expanded_) shown = shown.left(kShortNumbers).trimmed() + QStringLiteral("…");
  const QString first = shown.section(QLatin1Char(' '), 0, 0);
  const bool is_word = std::all_of(first.begin(), first.end(), [](QChar c) { return c.isLetter(); });
  if (!first.isEmpty() && is_word) shown[0] = shown[0].toUpper();  // names of files and options stay as they are
  numbers_->setText(shown);
  numbers_->setVisible(!shown.isEmpty());
}

void InlineMessage::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QColor ground = t.tint, border = t.tint_border;
  QString icon = QStringLiteral("info");
  IconTone icon_tone = IconTone::accent;
  if (tone_ == MessageTone::error)
    ground = t.error.tint, border = t.error.border, icon = QStringLiteral("error"), icon_tone = IconTone::error;
  if (tone_ == MessageTone::warning)
    ground = t.warning.tint, border = t.warning.border, icon = QStringLiteral("warning"), icon_tone = IconTone::warning;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(border, 1));
  painter.setBrush(ground);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(8), theme_.px(8));
  const int side = theme_.px(kMessageIcon);
  theme_.icon(icon, icon_tone).paint(&painter, QRect(theme_.px(kMessagePadding), theme_.px(9), side, side));
}

}  // namespace lathe::ui
