// SPDX-License-Identifier: GPL-3.0-or-later
// PromptView: the chat as the model gets it: the rendered template, with special tokens marked.
#pragma once

#include <QLabel>
#include <QTextEdit>
#include <QWidget>

#include "ui/panels/panel.h"

namespace lathe::ui {

/// Renders and tokenizes in the background, and only while the view can be seen.
class PromptView : public QWidget {
  Q_OBJECT
 public:
  PromptView(const PanelContext& context, QWidget* parent);
  void refresh();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  const PanelContext& context_;
  QLabel* facts_;
  QTextEdit* text_;
  std::uint64_t rendering_ = 0;
};

}  // namespace lathe::ui
