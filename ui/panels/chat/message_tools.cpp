// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/message_tools.h"

#include <QHBoxLayout>
#include <QPainter>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kToolSide = 24, kToolPadding = 2;

struct Tool {
  MessageTool tool;
  const char* name;
  const char* icon;
  const char* tip;
  bool replies_only;
};

constexpr Tool kTools[] = {
    {MessageTool::copy, "copy", "copy", QT_TRANSLATE_NOOP("MessageTools", "Copy"), false},
    {MessageTool::edit, "edit", "edit", QT_TRANSLATE_NOOP("MessageTools", "Edit (F2)"), false},
    {MessageTool::regenerate, "regenerate", "regenerate",
     QT_TRANSLATE_NOOP("MessageTools", "Generate the reply again; the old one stays as a version (Ctrl+R)"), false},
    {MessageTool::continue_reply, "continue", "continue",
     QT_TRANSLATE_NOOP("MessageTools", "Continue the reply (Alt+Enter)"), true},
    {MessageTool::branch, "branch", "branch",
     QT_TRANSLATE_NOOP("MessageTools", "Start a new chat with the messages up to here (Ctrl+Shift+B)"), false},
    {MessageTool::remove, "delete", "delete", QT_TRANSLATE_NOOP("MessageTools", "Delete (Del)"), false},
    {MessageTool::inspect, "inspect", "inspect", QT_TRANSLATE_NOOP("MessageTools", "Show the request of this reply"), true},
};

}  // namespace

MessageTools::MessageTools(const Theme& theme, const std::string& role, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("message.tools"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(theme.px(kToolPadding), theme.px(kToolPadding), theme.px(kToolPadding), theme.px(kToolPadding));
  row->setSpacing(0);
  for (const Tool& tool : kTools) {
    if (tool.replies_only && role != "assistant") continue;
    auto* button = make_icon_button(theme, QStringLiteral("message.") + QLatin1String(tool.name), QLatin1String(tool.icon),
                                    tr(tool.tip), this, kToolSide);
    button->setIconSize({theme.px(15), theme.px(15)});
    connect(button, &QToolButton::clicked, this, [this, what = tool.tool] { Q_EMIT used(what); });
    row->addWidget(button);
    ++n_buttons_;
  }
}

QSize MessageTools::sizeHint() const {
  return {theme_.px(n_buttons_ * kToolSide + 2 * kToolPadding), theme_.px(kToolSide + 2 * kToolPadding)};
}

void MessageTools::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.border, 1));
  painter.setBrush(t.raised);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(7), theme_.px(7));
}

}  // namespace lathe::ui
