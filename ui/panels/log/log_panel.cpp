// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/log/log_panel.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "ui/models/diagnostics.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr std::array kLevels{"debug", "info", "warning", "error"};  // in the order of app::LogLevel

/// Paints a line in the code font, coloured by its level; the line also names its level.
class LogDelegate : public QStyledItemDelegate {
 public:
  LogDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Tokens& tokens = theme_.tokens();
    painter->fillRect(option.rect, option.state.testFlag(QStyle::State_Selected) ? tokens.tint : tokens.page);
    painter->setFont(theme_.code_font(12));
    const auto level = static_cast<app::LogLevel>(index.data(LogModel::level_role).toInt());
    painter->setPen(level == app::LogLevel::error     ? tokens.error.text
                    : level == app::LogLevel::warning ? tokens.warning.text
                                                      : tokens.text2);
    painter->drawText(option.rect.adjusted(theme_.px(14), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                      index.data().toString());
  }
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    const QFontMetrics metrics(theme_.code_font(12));
    return {metrics.horizontalAdvance(index.data().toString()) + theme_.px(28), theme_.px(19)};
  }

 private:
  const Theme& theme_;
};

Panel* make_log(const PanelContext& context, QWidget* parent) { return new LogPanel(context, parent); }

}  // namespace

extern constexpr PanelDescriptor kLogPanel{.id = "log",
                                           .title = QT_TRANSLATE_NOOP("Panels", "Log"),
                                           .icon = "log",
                                           .area = PanelArea::bottom,
                                           .at_first = false,
                                           .make = make_log};

LogPanel::LogPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  setObjectName(QStringLiteral("log"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  list_ = new QListView(this);
  list_->setObjectName(QStringLiteral("log.list"));
  list_->setAccessibleName(tr("Log"));
  list_->setFrameShape(QFrame::NoFrame);
  list_->setModel(&model_);
  list_->setItemDelegate(new LogDelegate(context.theme, list_));
  list_->setUniformItemSizes(true);
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  column->addWidget(list_);
  connect(&context.bridge, &Bridge::log_changed, this, &LogPanel::take_lines);
  context.actions.on("log.copy_diagnostics", this,
                     [this] { QGuiApplication::clipboard()->setText(diagnostics(context_.workbench, context_.bridge)); });
  context.bridge.watch(this, Interest::log);
  take_lines();
}

QWidget* LogPanel::title_tools() {
  auto* tools = new QWidget;
  auto* row = new QHBoxLayout(tools);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(context_.theme.px(4));
  level_ = new Quiet<QComboBox>(tools);
  level_->setObjectName(QStringLiteral("log.level"));
  level_->setAccessibleName(tr("Lowest level shown"));
  level_->addItems({tr("Debug"), tr("Info"), tr("Warnings"), tr("Errors")});
  const std::string kept = context_.workbench.settings().get("log/level").get<std::string>();
  const auto level = std::find(kLevels.begin(), kLevels.end(), kept);
  level_->setCurrentIndex(level == kLevels.end() ? 1 : static_cast<int>(level - kLevels.begin()));
  level_->setFixedHeight(context_.theme.px(24));
  row->addWidget(level_);
  find_ = new QLineEdit(tools);
  find_->setObjectName(QStringLiteral("log.find"));
  find_->setAccessibleName(tr("Show lines with these words"));
  find_->setPlaceholderText(tr("Filter"));
  find_->setFixedSize(context_.theme.px(180), context_.theme.px(24));
  row->addWidget(find_);
  auto* copy = make_icon_button(context_.theme, "log.copy", "copy", tr("Copy the shown lines"), tools, 24, IconTone::quiet);
  row->addWidget(copy);
  auto* clear = make_icon_button(context_.theme, "log.clear", "delete", tr("Clear this view; the log file keeps everything"),
                                 tools, 24, IconTone::quiet);
  row->addWidget(clear);
  connect(level_, &QComboBox::currentIndexChanged, this, [this](int index) {
    context_.workbench.settings().set("log/level", kLevels[static_cast<std::size_t>(index)]);
    apply_filter();
  });
  connect(find_, &QLineEdit::textChanged, this, &LogPanel::apply_filter);
  connect(copy, &QToolButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(model_.text()); });
  connect(clear, &QToolButton::clicked, &model_, &LogModel::clear);
  apply_filter();
  return tools;
}

void LogPanel::apply_filter() { model_.set_filter(static_cast<app::LogLevel>(level_->currentIndex()), find_->text()); }

void LogPanel::take_lines() {
  const QScrollBar* bar = list_->verticalScrollBar();
  const bool at_end = bar->value() >= bar->maximum() - 4;
  model_.append(context_.workbench.log().lines_since(cursor_));
  if (at_end) list_->scrollToBottom();
}

}  // namespace lathe::ui
