// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/sampling/stop_strings.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "ui/widgets/controls.h"
#include "ui/widgets/flow_layout.h"

namespace lathe::ui {

QString escaped_stop(const std::string& text) {
  QString shown = QString::fromStdString(text);
  shown.replace(QLatin1Char('\\'), QStringLiteral("\\\\"))
      .replace(QLatin1Char('\n'), QStringLiteral("\\n"))
      .replace(QLatin1Char('\t'), QStringLiteral("\\t"));
  return shown;
}

std::string unescaped_stop(const QString& text) {
  QString plain;
  for (qsizetype i = 0; i < text.size(); ++i) {
    const QChar next = i + 1 < text.size() ? text[i + 1] : QChar();
    if (text[i] != QLatin1Char('\\') || next.isNull()) plain += text[i];
    else if (next == QLatin1Char('n')) plain += QLatin1Char('\n'), ++i;
    else if (next == QLatin1Char('t')) plain += QLatin1Char('\t'), ++i;
    else if (next == QLatin1Char('\\')) plain += QLatin1Char('\\'), ++i;
    else plain += text[i];
  }
  return plain.toStdString();
}

StopStrings::StopStrings(const Theme& theme, const engine::SamplingField& field, SamplingChoice& choice, QWidget* parent)
    : SamplingItem(parent),
      theme_(theme),
      member_(std::get<engine::TextsMember>(field.member)),
      name_(QStringLiteral("sampling.") + name_of(field)),
      choice_(choice) {
  setObjectName(name_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(4));
  column->addLayout(make_head(label_of(field)));
  chips_ = new QWidget(this);
  new FlowLayout(chips_, theme.px(4));
  column->addWidget(chips_);
  field_ = new QLineEdit(this);
  field_->setObjectName(name_ + QStringLiteral(".field"));
  field_->setAccessibleName(tr("New stop string"));
  field_->setPlaceholderText(tr("Text that ends the reply; \\n is a new line"));
  field_->setFont(theme.code_font(12));
  field_->hide();
  column->addWidget(field_);
  connect(field_, &QLineEdit::returnPressed, this, [this] { add(field_->text()); });
  connect(field_, &QLineEdit::editingFinished, this, [this] {
    if (field_->text().isEmpty()) field_->hide();
  });
  refresh();
}

QHBoxLayout* StopStrings::make_head(const QString& label) {
  auto* head = new QHBoxLayout;
  head->setSpacing(theme_.px(4));
  QLabel* title = make_label(theme_, name_ + QStringLiteral(".label"), label, this);
  title->setFixedWidth(theme_.px(kSamplingLabel + 4));
  none_ = make_label(theme_, name_ + QStringLiteral(".none"), tr("None"), this, 12);
  auto* add_button =
      make_icon_button(theme_, name_ + QStringLiteral(".add"), QStringLiteral("plus"), tr("Add a stop string"), this, 24);
  head->addWidget(title);
  head->addWidget(none_);
  head->addWidget(add_button);
  head->addStretch(1);
  connect(add_button, &QToolButton::clicked, this, [this] {
    field_->show();
    field_->setFocus();
  });
  return head;
}

void StopStrings::add(const QString& text) {
  const std::string stop = unescaped_stop(text);
  field_->clear();
  field_->hide();
  SamplingValues values = choice_.values();
  std::vector<std::string>& stops = values.params.*member_;
  const bool known = std::find(stops.begin(), stops.end(), stop) != stops.end();
  if (stop.empty() || stop.size() > engine::kMaxStopBytes || known || stops.size() >= engine::kMaxStopStrings) return;
  stops.push_back(stop);
  choice_.set_values(values);
}

void StopStrings::remove(std::size_t index) {
  SamplingValues values = choice_.values();
  std::vector<std::string>& stops = values.params.*member_;
  if (index >= stops.size()) return;
  stops.erase(stops.begin() + static_cast<std::ptrdiff_t>(index));
  choice_.set_values(values);
}

void StopStrings::refresh() {
  while (QLayoutItem* item = chips_->layout()->takeAt(0)) {
    item->widget()->hide();
    item->widget()->deleteLater();
    delete item;
  }
  const std::vector<std::string>& stops = choice_.values().params.*member_;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    QPushButton* chip = make_button(theme_, QStringLiteral("%1.%2").arg(name_).arg(i), escaped_stop(stops[i]), chips_,
                                    ButtonLook::plain, true);
    chip->setFont(theme_.code_font(11));
    chip->setIcon(theme_.icon(QStringLiteral("close"), IconTone::quiet));
    chip->setIconSize({theme_.px(10), theme_.px(10)});
    chip->setLayoutDirection(Qt::RightToLeft);
    chip->setToolTip(tr("Remove"));
    chip->setAccessibleName(tr("Stop string %1, press to remove it").arg(escaped_stop(stops[i])));
    connect(chip, &QPushButton::clicked, this, [this, i] { remove(i); });
    chips_->layout()->addWidget(chip);
    chip->show();
  }
  chips_->setVisible(!stops.empty());
  none_->setVisible(stops.empty());
}

}  // namespace lathe::ui
