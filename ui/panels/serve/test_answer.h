// SPDX-License-Identifier: GPL-3.0-or-later
// TestAnswer: the answer to a test request as the server sent it. Hidden until a request is sent.
#pragma once

#include <QPlainTextEdit>

#include "ui/panels/serve/test_request.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class TestAnswer : public QWidget {
  Q_OBJECT
 public:
  TestAnswer(const Theme& theme, QWidget* parent);
  /// Shows the answer of a running server to `question`.
  void ask(const app::ServerStatus& server, const std::string& api_key, const QString& question);

 Q_SIGNALS:
  void ended();

 private:
  TestRequest request_;
  QPlainTextEdit* text_;
};

}  // namespace lathe::ui
