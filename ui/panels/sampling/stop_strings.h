// SPDX-License-Identifier: GPL-3.0-or-later
// StopStrings: the strings that end a reply, as chips that can be added and removed.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>

#include "ui/panels/sampling/sampling_item.h"

namespace lathe::ui {

class StopStrings : public SamplingItem {
  Q_OBJECT
 public:
  /// Requires: a field whose member is a list of texts.
  StopStrings(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent);
  void refresh() override;

 private:
  QHBoxLayout* make_head(const QString& label);
  void add(const QString& text);
  void remove(std::size_t index);

  const Theme& theme_;
  const engine::TextsMember member_;
  const QString name_;  ///< object name; the parts are "<name>.field" and so on
  SamplingChoice& choice_;
  QWidget* chips_;
  QLabel* none_;
  QLineEdit* field_;
};

/// escaped_stop() writes a new line as "\n"; unescaped_stop() reads "\n" in the field as a new line.
QString escaped_stop(const std::string& text);
std::string unescaped_stop(const QString& text);

}  // namespace lathe::ui
