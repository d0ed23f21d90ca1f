// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/dialect_rows.h"

#include <QLocale>
#include <QRegularExpression>

namespace lathe::ui {
namespace {

constexpr int kDialectRowHeight = 29;
enum Column {
  on_column,
  name_column,
  address_column,
  state_column,
  fix_column,
  spring_column,
  requests_column,
  curl_column
};

/// Shortens an error to "Port used by python (4121)": the address shows the port, and the button next to it offers a free
/// one.
QString short_error(const QString& error) {
  static const QRegularExpression port(QStringLiteral("^Port \\d+ is used"));
  return error.section(QLatin1Char(';'), 0, 0).replace(port, QStringLiteral("Port used"));
}

}  // namespace

DialectRows::DialectRows(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("serve.dialects"));
  grid_ = new QGridLayout(this);
  grid_->setContentsMargins(theme.px(16), theme.px(8), theme.px(14), theme.px(8));
  grid_->setHorizontalSpacing(theme.px(12));
  grid_->setVerticalSpacing(0);
  grid_->setColumnMinimumWidth(name_column, theme.px(174));
  grid_->setColumnMinimumWidth(address_column, theme.px(256));
  grid_->setColumnStretch(spring_column, 1);
  add_headings();
}

void DialectRows::add_headings() {
  const std::pair<int, QString> headings[] = {{name_column, tr("Protocol")},
                                              {address_column, tr("Address")},
                                              {state_column, tr("State")},
                                              {requests_column, tr("Requests")}};
  for (const auto& [column, text] : headings) {
    QLabel* label =
        make_label(theme_, QStringLiteral("serve.heading.%1").arg(column), text, this, 11, QFont::Medium, TextTone::text2);
    grid_->addWidget(label, 0, column, column == requests_column ? Qt::AlignRight : Qt::AlignLeft);
  }
  grid_->setRowMinimumHeight(0, theme_.px(26));
}

DialectRows::Row& DialectRows::row_for(std::size_t index, const QString& name) {
  if (index < rows_.size()) return rows_[index];
  const QString id = QStringLiteral("serve.dialect.%1").arg(name.toLower().replace(QLatin1Char(' '), QLatin1Char('_')));
  Row row{};
  row.on = new Switch(theme_, SwitchSize::compact, this);
  row.on->setObjectName(id + ".on");
  row.on->setCheckable(true);
  row.on->setAccessibleName(tr("%1 protocol").arg(name));
  row.name = make_label(theme_, id + ".name", name, this, 13, QFont::DemiBold, TextTone::text);
  row.address = make_label(theme_, id + ".address", {}, this, 12);
  row.address->setFont(theme_.code_font(12));
  row.address->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row.state = make_label(theme_, id + ".state", {}, this, 12);
  row.state->setTextFormat(Qt::RichText);
  row.failed = new QLabel(this);
  row.failed->setPixmap(theme_.icon(QStringLiteral("error"), IconTone::error).pixmap(theme_.px(16), theme_.px(16)));
  auto* state = new QHBoxLayout;
  state->setSpacing(theme_.px(6));
  state->addWidget(row.failed);
  state->addWidget(row.state, 1);
  row.fix = make_button(theme_, id + ".fix", {}, this, ButtonLook::plain, true);
  row.requests = make_label(theme_, id + ".requests", {}, this, 12);
  row.curl = make_button(theme_, id + ".curl", tr("Copy as cURL"), this, ButtonLook::ghost, true);
  row.curl->setIcon(theme_.icon(QStringLiteral("copy")));
  const int line = static_cast<int>(index) + 1;
  grid_->setRowMinimumHeight(line, theme_.px(kDialectRowHeight));
  grid_->addWidget(row.on, line, on_column);
  grid_->addWidget(row.name, line, name_column);
  grid_->addWidget(row.address, line, address_column);
  grid_->addLayout(state, line, state_column);
  grid_->addWidget(row.fix, line, fix_column);
  grid_->addWidget(row.requests, line, requests_column, Qt::AlignRight | Qt::AlignVCenter);
  grid_->addWidget(row.curl, line, curl_column);
  connect(row.on, &QAbstractButton::clicked, this, [this, name](bool on) { Q_EMIT switched(name, on); });
  connect(row.fix, &QPushButton::clicked, this,
          [this, fix = row.fix] { Q_EMIT port_wanted(fix->property("port").toInt()); });
  connect(row.curl, &QPushButton::clicked, this, [this, index] { Q_EMIT curl_wanted(rows_[index].curl_text); });
  rows_.push_back(row);
  return rows_.back();
}

void DialectRows::show_dialects(const std::vector<app::DialectState>& dialects, app::ServerState state, const QString& error,
                                int free_port, bool answers) {
  answers_ = answers;
  for (std::size_t i = 0; i < dialects.size(); ++i) {
    Row& row = row_for(i, QString::fromStdString(dialects[i].name));
    row.on->setChecked(dialects[i].on);
    row.address->setText(QString::fromStdString(dialects[i].base_url));
    row.requests->setText(QLocale().toString(static_cast<qulonglong>(dialects[i].n_requests)));
    row.curl_text = QString::fromStdString(dialects[i].curl);
    show_state(row, dialects[i], state, error, free_port);
  }
}

void DialectRows::show_state(Row& row, const app::DialectState& dialect, app::ServerState state, const QString& error,
                             int free_port) {
  const Tokens& tokens = theme_.tokens();
  const bool failed = dialect.on && state == app::ServerState::failed;
  const bool live = dialect.on && state == app::ServerState::running;
  const QString mark = live && !answers_
                           ? QStringLiteral("<span style='color:%1'>●</span>&nbsp; ").arg(tokens.error.fill.name())
                       : live ? QStringLiteral("<span style='color:%1'>●</span>&nbsp; ").arg(tokens.success.fill.name())
                              : QStringLiteral("<span style='color:%1'>○</span>&nbsp; ").arg(tokens.text3.name());
  const QString word = failed                                         ? short_error(error).toHtmlEscaped()
                       : live && !answers_                            ? tr("Answers 503")
                       : live                                         ? tr("On")
                       : dialect.on && state != app::ServerState::off ? tr("Starting")
                                                                      : tr("Off");
  row.state->setText(failed ? QStringLiteral("<b style='color:%1'>%2</b>").arg(tokens.error.text.name(), word)
                            : mark + word);
  row.failed->setVisible(failed);
  row.state->setToolTip(failed ? error : QString());
  row.fix->setVisible(failed && free_port != 0);
  row.fix->setText(tr("Use %1").arg(free_port));
  row.fix->setProperty("port", free_port);
}

}  // namespace lathe::ui
