// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/test_answer.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "ui/widgets/controls.h"

namespace lathe::ui {

TestAnswer::TestAnswer(const Theme& theme, QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(16), 0, theme.px(14), theme.px(14));
  auto* head = new QHBoxLayout;
  head->addWidget(make_label(theme, "serve.answer.title", tr("Answer to the test request, as the server sent it"), this, 12,
                             QFont::DemiBold));
  head->addStretch();
  auto* close = make_icon_button(theme, "serve.answer.close", "close", tr("Close"), this, 24, IconTone::quiet);
  head->addWidget(close);
  column->addLayout(head);
  text_ = new QPlainTextEdit(this);
  text_->setObjectName(QStringLiteral("serve.answer"));
  text_->setAccessibleName(tr("Answer to the test request"));
  text_->setReadOnly(true);
  text_->setFont(theme.code_font(12));
  text_->setMaximumBlockCount(2000);
  text_->setMinimumHeight(theme.px(120));
  column->addWidget(text_, 1);
  hide();
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  connect(&request_, &TestRequest::received, this, [this](const QString& text) {
    text_->moveCursor(QTextCursor::End);
    text_->insertPlainText(QString(text).remove(QLatin1Char('\r')));
    text_->ensureCursorVisible();
  });
  connect(&request_, &TestRequest::ended, this, [this](const QString& error) {
    if (!error.isEmpty()) text_->appendPlainText(tr("Failed: %1").arg(error));
    Q_EMIT ended();
  });
}

void TestAnswer::ask(const app::ServerStatus& server, const std::string& api_key, const QString& question) {
  text_->clear();
  show();
  request_.send(server, api_key, question);
}

}  // namespace lathe::ui
