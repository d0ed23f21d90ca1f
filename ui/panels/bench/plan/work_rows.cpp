// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/work_rows.h"

#include <QHBoxLayout>
#include <algorithm>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

using app::WorkloadField;

/// The fields of a section in the order of their controls.
std::vector<const WorkloadField*> fields_of(app::WorkloadTable table, app::WorkloadSection section) {
  std::vector<const WorkloadField*> fields;
  for (const WorkloadField& field : table)
    if (field.control.section == section) fields.push_back(&field);
  std::stable_sort(fields.begin(), fields.end(),
                   [](const WorkloadField* a, const WorkloadField* b) { return a->control.order < b->control.order; });
  return fields;
}

/// True for fields that are as wide as the form: texts and choices, which have names of any length.
bool stretches(const WorkloadField& field) {
  return field.option.kind == engine::OptionKind::text || !field.control.choices.empty();
}

}  // namespace

WorkRows::WorkRows(const Theme& theme, app::WorkloadSection section, int label_width, QWidget* parent,
                   app::WorkloadTable table)
    : QWidget(parent), theme_(theme) {
  setObjectName(section == app::WorkloadSection::work ? QStringLiteral("bench.work_rows")
                                                      : QStringLiteral("bench.limit_rows"));
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(theme.px(6));
  const std::vector<const WorkloadField*> fields = fields_of(table, section);
  for (std::size_t i = 0, end = 0; i < fields.size(); i = end) {
    end = i + 1;
    while (end < fields.size() && fields[end]->control.joins) ++end;
    add_row(std::span(fields).subspan(i, end - i), label_width);
  }
}

void WorkRows::add_row(std::span<const WorkloadField* const> fields, int label_width) {
  Row row{.widget = nullptr, .parts = {}};
  for (const WorkloadField* field : fields) row.parts.push_back(make_part(*field));
  QWidget* control = row.parts.front().editor->control();
  if (row.parts.size() > 1 || row.parts.front().unit != nullptr) {
    auto* box = new QWidget(this);
    auto* layout = new QHBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(theme_.px(6));
    for (const Part& part : row.parts) {
      layout->addWidget(part.editor->control());
      if (part.unit != nullptr) layout->addWidget(part.unit);
    }
    box->setFocusProxy(control);
    control = box;
  }
  const WorkloadField& first = *fields.front();
  const std::string_view label = first.control.row.empty() ? first.control.label : first.control.row;
  row.widget = new FormRow(theme_, row.parts.front().editor->control()->objectName(), work_text(label),
                           work_text(first.option.help), control, label_width, this);
  if (fields.size() > 1 || !stretches(first)) static_cast<QHBoxLayout*>(row.widget->layout())->addStretch(1);
  column_->addWidget(row.widget);
  rows_.push_back(std::move(row));
}

WorkRows::Part WorkRows::make_part(const WorkloadField& field) {
  Part part{.editor = make_work_editor(theme_, field, this), .unit = nullptr};
  connect(part.editor, &WorkEditor::changed, this, &WorkRows::changed);
  if (!field.control.unit.empty()) {
    part.unit = make_label(theme_, part.editor->control()->objectName() + ".unit", work_text(field.control.unit), this);
  }
  return part;
}

void WorkRows::set_work(const app::SweepWorkload& work) {
  for (const Row& row : rows_) {
    for (const Part& part : row.parts) {
      part.editor->fit(work);
      part.editor->show(work);
    }
  }
}

void WorkRows::read_into(app::SweepWorkload& work) const {
  for (const Row& row : rows_)
    for (const Part& part : row.parts) part.editor->read_into(work);
  // A range may depend on what was just read, and change the value.
  for (const Row& row : rows_) {
    for (const Part& part : row.parts) {
      part.editor->fit(work);
      part.editor->read_into(work);
    }
  }
}

void WorkRows::show_rows(const app::WorkloadUse& use) {
  for (const Row& row : rows_) {
    bool any = false;
    for (const Part& part : row.parts) {
      const app::WorkloadControl& control = part.editor->field().control;
      const bool varies = use.varies(part.editor->field().option.name);
      const bool shown = (control.applies == nullptr || control.applies(use)) && !(varies && control.hides_if_varied);
      part.editor->control()->setVisible(shown);
      part.editor->control()->setEnabled(!varies);
      if (part.unit != nullptr) part.unit->setVisible(shown);
      any |= shown;
    }
    row.widget->setVisible(any);
  }
}

}  // namespace lathe::ui
