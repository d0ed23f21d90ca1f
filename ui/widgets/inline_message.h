// SPDX-License-Identifier: GPL-3.0-or-later
// InlineMessage: a problem, its figures, and buttons that solve it, at the place where it happened.
#pragma once

#include <QFrame>
#include <QLabel>
#include <functional>
#include <vector>

#include "ui/theme/theme.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

enum class MessageTone { info, warning, error };

/// Requires: every button is a fix that works.
class InlineMessage : public QFrame {
  Q_OBJECT
 public:
  struct Button {
    QString name;  ///< suffix of the object name "<name of this>.<name>"
    QString text;
    std::function<void()> act;
    bool ghost = false;
  };
  InlineMessage(const Theme& theme, const QString& name, QWidget* parent);
  void set(MessageTone tone, const QString& what, const QString& numbers, std::vector<Button> buttons);
  QString what() const { return what_->text(); }
  QString numbers() const { return numbers_->text(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  MessageTone tone_ = MessageTone::info;
  ToneLabel* what_;
  ToneLabel* numbers_;
  QWidget* row_;
};

}  // namespace lathe::ui
