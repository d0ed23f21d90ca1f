// SPDX-License-Identifier: GPL-3.0-or-later
// WorkRows: the rows of a section of the workload's settings: a control for each setting of the table.
#pragma once

#include <QLabel>
#include <QVBoxLayout>
#include <QWidget>
#include <span>
#include <vector>

#include "ui/panels/bench/plan/work_editor.h"
#include "ui/widgets/form_row.h"

namespace lathe::ui {

class WorkRows : public QWidget {
  Q_OBJECT
 public:
  /// Requires: `table` outlives this object.
  WorkRows(const Theme& theme, app::WorkloadSection section, int label_width, QWidget* parent,
           app::WorkloadTable table = app::workload_fields());
  void set_work(const app::SweepWorkload& work);
  /// Writes the settings of the rows into `work`.
  void read_into(app::SweepWorkload& work) const;
  /// Shows the controls that apply. A setting that varies has none, or a disabled one.
  void show_rows(const app::WorkloadUse& use);

 Q_SIGNALS:
  void changed();

 private:
  struct Part {
    WorkEditor* editor;
    QLabel* unit;  ///< null: none
  };
  struct Row {
    FormRow* widget;
    std::vector<Part> parts;
  };

  void add_row(std::span<const app::WorkloadField* const> fields, int label_width);
  Part make_part(const app::WorkloadField& field);

  const Theme& theme_;
  QVBoxLayout* column_;
  std::vector<Row> rows_;
};

}  // namespace lathe::ui
