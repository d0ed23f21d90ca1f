// SPDX-License-Identifier: GPL-3.0-or-later
// OptionForm: the settings that a model is loaded with: Basic, Serving, and the rest folded.
#pragma once

#include <QComboBox>
#include <QSpinBox>
#include <QWidget>
#include <functional>
#include <vector>

#include "ui/models/load_choice.h"
#include "ui/panels/panel.h"
#include "ui/widgets/form_row.h"
#include "ui/widgets/section.h"
#include "ui/widgets/segmented.h"
#include "ui/widgets/slider_spin.h"

namespace lathe::ui {

/// Each control writes one option of EngineOptions by its name and reads it back in refresh().
class OptionForm : public QWidget {
  Q_OBJECT
 public:
  OptionForm(const PanelContext& context, QWidget* parent);
  void refresh();
  /// Asks which devices there are, in the background, and shows them.
  void list_devices();

 private:
  void make_basic();
  void make_context(Section& section);
  void make_weights(Section& section);
  void make_quantization(Section& section);
  void make_compute(Section& section);
  void make_device(Section& section);
  void show_devices(const std::vector<engine::DeviceInfo>& devices);
  void select_device();
  void make_serving();
  void make_policy(Section& section);
  void make_snapshot_memory(Section& section);
  void make_kv_memory(Section& section);
  void make_rest();
  FormRow* add_row(Section& section, const char* option, const QString& label, QWidget* control);
  FormRow* add_spin(Section& section, const char* option, const QString& label, const QString& special);
  void add_parser(Section& section, const char* option, const QString& label);
  /// Adds a row for a number between `least` and 1.
  FormRow* add_share(Section& section, const char* option, const QString& label, double least = 0);
  FormRow* add_switch(Section& section, const char* option, const QString& label);
  FormRow* add_combo(Section& section, const char* option, const QString& label, const QStringList& words,
                     const QStringList& values);
  QString value(const char* option) const;
  void write(const char* option, const QString& value);
  std::int64_t trained_context() const;

  const PanelContext& context_;
  std::vector<FormRow*> rows_;
  std::vector<std::function<void()>> readers_;
  Section* rest_ = nullptr;
  QComboBox* device_ = nullptr;
};

}  // namespace lathe::ui
