// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/model_info.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QRegularExpression>

#include "ui/models/counted.h"
#include "ui/models/load_choice.h"
#include "ui/panels/fold_memory.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kNames = 104;  // width of the label column of the dock

/// Inserts break positions into long words such as paths and digests, because nothing may be wider than the dock.
QString breakable(QString text) {
  static const QRegularExpression kLongWord(QStringLiteral("(\\S{16})"));
  return text.replace(kLongWord, QStringLiteral("\\1\u200b"));
}

}  // namespace

ModelInfoSection::ModelInfoSection(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("model.info"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  section_ = new Section(context.theme, QStringLiteral("model.section.info"), tr("Info"), this);
  section_->set_open(false);
  remember_fold(*section_, context.state);
  copy_ = make_button(context.theme, QStringLiteral("model.info.copy"), tr("Copy"), this, ButtonLook::ghost, true);
  copy_->setIcon(context.theme.icon(QStringLiteral("copy")));
  copy_->setToolTip(tr("Copy these lines"));
  connect(copy_, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(info_text(rows_)); });
  section_->rows()->addWidget(copy_, 0, Qt::AlignRight);
  column->addWidget(section_);
}

void ModelInfoSection::refresh() {
  const std::optional<engine::ModelInfo>& info = context_.load.info();
  setVisible(info.has_value());
  if (!info) return;
  InfoRows rows = info_rows(*info);
  if (rows == rows_) return;
  show_rows(rows);
  rows_ = std::move(rows);
  const int n_warnings = static_cast<int>(info->warnings.size());
  section_->set_fact(n_warnings > 0 ? counted(static_cast<quint64>(n_warnings), tr("warning"), tr("warnings")) : QString());
}

void ModelInfoSection::show_rows(const InfoRows& rows) {
  const Theme& theme = context_.theme;
  delete table_;
  table_ = new QWidget(this);
  auto* grid = new QGridLayout(table_);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(theme.px(4));
  grid->setVerticalSpacing(theme.px(3));
  grid->setColumnMinimumWidth(0, theme.px(kNames));
  grid->setColumnStretch(1, 1);
  int line = 0;
  for (const auto& [name, value] : rows) {
    QLabel* words = make_label(theme, QStringLiteral("model.info.%1.name").arg(line), name, table_, 12);
    const QString shown = breakable(value);
    auto* what =
        make_label(theme, QStringLiteral("model.info.%1").arg(line), shown, table_, 12, QFont::Normal, TextTone::text);
    what->setAccessibleName(name);
    what->setWordWrap(true);
    what->setTextFormat(Qt::PlainText);
    // Only unchanged text can be selected: with break positions, a copied path would be another one. Copy gives the text
    // without them.
    if (shown == value) what->setTextInteractionFlags(Qt::TextSelectableByMouse);
    what->setMinimumWidth(1);  // the default is the width of the longest word
    grid->addWidget(words, line, 0, Qt::AlignTop);
    grid->addWidget(what, line++, 1);
  }
  section_->rows()->insertWidget(0, table_);
}

}  // namespace lathe::ui
