// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/sampling_item.h"

#include <QCoreApplication>

#include "ui/panels/sampling/output_format_item.h"
#include "ui/panels/sampling/sampling_row.h"
#include "ui/panels/sampling/seed_row.h"
#include "ui/panels/sampling/stop_strings.h"

namespace lathe::ui {

QString label_of(const engine::SamplingField& field) {
  return QCoreApplication::translate("Sampling", std::string(field.control.label).c_str());
}

QString tip_of(const engine::SamplingField& field) {
  const QString help = QCoreApplication::translate("Sampling", std::string(field.option.help).c_str());
  return QStringLiteral("%1: %2").arg(name_of(field), help);
}

SamplingItem* make_sampling_item(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice,
                                 Background& background, QWidget* parent) {
  if (std::holds_alternative<engine::TextsMember>(field.member)) return new StopStrings(theme, field, choice, parent);
  if (std::holds_alternative<engine::SeedMember>(field.member)) return new SeedRow(theme, field, choice, parent);
  if (std::holds_alternative<engine::TextMember>(field.member))
    return new OutputFormatItem(theme, field, choice, background, parent);
  return new SamplingRow(theme, field, choice, parent);
}

}  // namespace lathe::ui
