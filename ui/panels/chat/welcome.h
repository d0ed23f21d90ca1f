// SPDX-License-Identifier: GPL-3.0-or-later
// Welcome: the empty chat: state of the model, sample prompts, and a note that nothing leaves this computer.
#pragma once

#include <QAbstractButton>
#include <QLabel>
#include <QWidget>

#include "ui/panels/chat/loading_card.h"
#include "ui/panels/panel.h"
#include "ui/widgets/inline_message.h"

namespace lathe::ui {

/// A button with a prompt to try, and a line that says where it leads.
class SampleCard : public QAbstractButton {
  Q_OBJECT
 public:
  SampleCard(const Theme& theme, const QString& name, const QString& text, const QString& place, QWidget* parent);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  QString place_;
};

class Welcome : public QWidget {
  Q_OBJECT
 public:
  Welcome(const PanelContext& context, QWidget* parent);
  void refresh();

 Q_SIGNALS:
  void prompt_chosen(const QString& prompt);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void make_samples();
  void refresh_notice();

  const PanelContext& context_;
  QWidget* column_;
  LoadingCard* loading_;
  InlineMessage* notice_;
  QLabel* state_;
  QLabel* samples_title_;
};

}  // namespace lathe::ui
