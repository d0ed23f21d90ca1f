// SPDX-License-Identifier: GPL-3.0-or-later
// StopStrings: the strings that end a reply, as chips that can be added and removed.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QWidget>

#include "ui/models/sampling_choice.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class StopStrings : public QWidget {
  Q_OBJECT
 public:
  StopStrings(const Theme& theme, SamplingChoice& choice, QWidget* parent);
  void refresh();

 private:
  void add(const QString& text);
  void remove(std::size_t index);

  const Theme& theme_;
  SamplingChoice& choice_;
  QWidget* chips_;
  QLabel* none_;
  QLineEdit* field_;
};

/// escaped_stop() writes a new line as "\n"; unescaped_stop() reads "\n" in the field as a new line.
QString escaped_stop(const std::string& text);
std::string unescaped_stop(const QString& text);

}  // namespace lathe::ui
