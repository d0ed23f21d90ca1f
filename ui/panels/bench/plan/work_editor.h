// SPDX-License-Identifier: GPL-3.0-or-later
// WorkEditor: the control of one setting of a sweep's workload. The setting's option selects its kind.
#pragma once

#include <QWidget>

#include "app/api/workload_field.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class WorkEditor : public QObject {
  Q_OBJECT
 public:
  explicit WorkEditor(const app::WorkloadField& field, QObject* parent) : QObject(parent), field_(field) {}
  const app::WorkloadField& field() const { return field_; }
  virtual QWidget* control() = 0;
  virtual void show(const app::SweepWorkload& work) = 0;
  virtual void read_into(app::SweepWorkload& work) const = 0;
  /// Adapts the range of the control to the other settings; does not emit changed().
  virtual void fit(const app::SweepWorkload&) {}

 Q_SIGNALS:
  void changed();  ///< emitted for changes by show() too

 private:
  const app::WorkloadField& field_;
};

/// Makes a control named "bench.<setting>". Requires: `field` outlives it. Owner: `parent`.
WorkEditor* make_work_editor(const Theme& theme, const app::WorkloadField& field, QWidget* parent);

/// A text of the table in the language of the window.
QString work_text(std::string_view text);

}  // namespace lathe::ui
