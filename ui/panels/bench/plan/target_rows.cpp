// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/plan/target_rows.h"

#include <QVBoxLayout>

namespace lathe::ui {

TargetRows::TargetRows(const Theme& theme, int label_width, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("bench.target"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(theme.px(6));
  choice_ = new Segmented(theme, {tr("This engine"), tr("HTTP")}, this);
  choice_->setObjectName(QStringLiteral("bench.target.choice"));
  connect(choice_, &Segmented::chosen, this, [this] {
    show_rows();
    Q_EMIT changed();
  });
  const auto add = [&](const char* name, const QString& label, const QString& tip, QWidget* control) {
    auto* row =
        new FormRow(theme, QStringLiteral("bench.target.") + QLatin1String(name), label, tip, control, label_width, this);
    column->addWidget(row);
    return row;
  };
  add("row", tr("Target"), tr("An engine of this program, or a server of the OpenAI protocol that is measured from outside"),
      choice_);
  url_ = make_edit("url", QStringLiteral("http://127.0.0.1:8000"));
  key_ = make_edit("key", tr("none"));
  key_->setEchoMode(QLineEdit::Password);
  model_ = make_edit("model", tr("the first one listed"));
  server_rows_ = {add("url_row", tr("URL"), tr("Address of the server, without /v1"), url_),
                  add("key_row", tr("API key"), tr("Key that the server asks for; it is stored nowhere"), key_),
                  add("model_row", tr("Model"), tr("Name of the model on the server"), model_)};
  show_rows();
}

QLineEdit* TargetRows::make_edit(const char* name, const QString& hint) {
  auto* edit = new QLineEdit(this);
  edit->setObjectName(QStringLiteral("bench.target.") + QLatin1String(name));
  edit->setPlaceholderText(hint);
  connect(edit, &QLineEdit::textChanged, this, &TargetRows::changed);
  return edit;
}

void TargetRows::show_rows() {
  for (FormRow* row : server_rows_) row->setVisible(is_server());
}

void TargetRows::set_target(const app::SweepTarget& target) {
  choice_->set_current(target.url.empty() ? 0 : 1);
  url_->setText(QString::fromStdString(target.url));
  model_->setText(QString::fromStdString(target.model));
  // Saved plans have no key: the key that was typed for this server still holds.
  if (!target.api_key.empty()) key_->setText(QString::fromStdString(target.api_key));
  show_rows();
}

app::SweepTarget TargetRows::target() const {
  if (!is_server()) return {};
  return {.url = url_->text().trimmed().toStdString(),
          .model = model_->text().trimmed().toStdString(),
          .api_key = key_->text().trimmed().toStdString()};
}

QString TargetRows::problem() const {
  return is_server() && url_->text().trimmed().isEmpty() ? tr("Type the URL of the server") : QString();
}

}  // namespace lathe::ui
