// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/sampling_sections.h"

#include <algorithm>

#include "ui/panels/fold_memory.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

using engine::SamplingField;
using engine::SamplingSection;

SamplingSections::SamplingSections(const Theme& theme, SamplingChoice& choice, UiState& state, Background& background,
                                   QWidget* parent)
    : QWidget(parent), choice_(choice), background_(background) {
  setObjectName(QStringLiteral("sampling.sections"));
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(theme.px(10));
  add_section(theme, SamplingSection::randomness, "randomness", tr("Randomness"), state);
  add_section(theme, SamplingSection::repetition, "repetition", tr("Repetition"), state);
  add_section(theme, SamplingSection::length, "length", tr("Length and output"), state);
}

void SamplingSections::add_section(const Theme& theme, SamplingSection section, const char* name, const QString& title,
                                   UiState& state) {
  auto* made = new Section(theme, QStringLiteral("sampling.section.") + QLatin1String(name), title, this);
  made->rows()->setSpacing(theme.px(4));
  remember_fold(*made, state);
  column_->addWidget(made);
  std::vector<const SamplingField*> fields;
  for (const SamplingField& field : choice_.table())
    if (field.control.section == section) fields.push_back(&field);
  std::stable_sort(fields.begin(), fields.end(),
                   [](const SamplingField* a, const SamplingField* b) { return a->control.order < b->control.order; });
  for (const SamplingField* field : fields) {
    items_.push_back(make_sampling_item(theme, *field, choice_, background_, made));
    made->rows()->addWidget(items_.back());
  }
}

void SamplingSections::refresh() {
  for (SamplingItem* item : items_) item->refresh();
}

}  // namespace lathe::ui
