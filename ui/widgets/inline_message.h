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

/// A long text, such as a list of everything that is supported, ends in dots until its button Details is pressed.
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
  /// The whole text, also while its end is behind the button Details.
  QString numbers() const { return all_numbers_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void add_button(Button button);
  void show_numbers();

  const Theme& theme_;
  MessageTone tone_ = MessageTone::info;
  ToneLabel* what_;
  ToneLabel* numbers_;
  QString all_numbers_;
  bool is_expanded_ = false;
  QWidget* row_;
};

}  // namespace lathe::ui
