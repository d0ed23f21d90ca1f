// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_window.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QScrollBar>
#include <QShortcut>
#include <QVBoxLayout>

#include "ui/models/counted.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kWindowWidth = 1080, kWindowHeight = 760, kWindowSide = 268;

}  // namespace

ManualWindow::ManualWindow(Theme& theme, QWidget* main_window) : QWidget(main_window, Qt::Window), theme_(theme) {
  setObjectName(QStringLiteral("manual"));
  setWindowTitle(tr("Manual – Lathe"));
  resize(theme.px(kWindowWidth), theme.px(kWindowHeight));
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(make_side());
  row->addWidget(make_column(this));
  row->addWidget(make_page(), 1);
  add_keys();
  connect(list_, &ManualList::chosen, this, [this](const QString& page, const QString& anchor) { visit({page, anchor}); });
  connect(view_, &ManualView::link_followed, this, [this](const QString& page, const QString& anchor) {
    visit({page, anchor});
  });
  connect(field_, &QLineEdit::textChanged, this, &ManualWindow::search);
  connect(field_, &QLineEdit::returnPressed, this, [this] {
    if (list_->count() > 0) Q_EMIT list_->itemActivated(list_->item(0));
  });
  connect(&theme_, &Theme::changed, view_, &ManualView::restyle);
}

QWidget* ManualWindow::make_side() {
  auto* const side = new QWidget(this);
  side->setObjectName(QStringLiteral("manual.side"));
  side->setProperty("plane", QStringLiteral("dock"));
  side->setAttribute(Qt::WA_StyledBackground);
  side->setFixedWidth(theme_.px(kWindowSide));
  auto* const column = new QVBoxLayout(side);
  column->setContentsMargins(0, theme_.px(10), 0, 0);
  column->setSpacing(theme_.px(6));
  auto* const top = new QHBoxLayout;
  top->setContentsMargins(theme_.px(14), 0, theme_.px(14), 0);
  field_ = new QLineEdit(side);
  field_->setObjectName(QStringLiteral("manual.search"));
  field_->setAccessibleName(tr("Search the manual"));
  field_->setPlaceholderText(tr("Search all pages"));
  field_->setClearButtonEnabled(true);
  field_->addAction(theme_.icon(QStringLiteral("search")), QLineEdit::LeadingPosition);
  top->addWidget(field_);
  count_ = make_label(theme_, QStringLiteral("manual.count"), {}, side, 11, QFont::Normal, TextTone::text3);
  count_->setContentsMargins(theme_.px(14), 0, theme_.px(14), 0);
  count_->hide();
  list_ = new ManualList(theme_, side);
  column->addLayout(top);
  column->addWidget(count_);
  column->addWidget(list_, 1);
  return side;
}

QWidget* ManualWindow::make_page() {
  auto* const page = new QWidget(this);
  page->setObjectName(QStringLiteral("manual.page"));
  page->setProperty("plane", QStringLiteral("page"));
  page->setAttribute(Qt::WA_StyledBackground);
  auto* const column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  header_ = new PageHeader(theme_, {}, page);
  back_ =
      make_icon_button(theme_, QStringLiteral("manual.back"), QStringLiteral("chevron-left"), tr("Back (Alt+Left)"), page);
  forward_ = make_icon_button(theme_, QStringLiteral("manual.forward"), QStringLiteral("chevron-right"),
                              tr("Forward (Alt+Right)"), page);
  header_->add_right(back_);
  header_->add_right(forward_);
  view_ = new ManualView(theme_, page);
  view_->setObjectName(QStringLiteral("manual.view"));
  view_->setAccessibleName(tr("Page of the manual"));
  column->addWidget(header_);
  column->addWidget(view_, 1);
  connect(back_, &QToolButton::clicked, this, &ManualWindow::back);
  connect(forward_, &QToolButton::clicked, this, &ManualWindow::forward);
  return page;
}

void ManualWindow::add_keys() {
  const auto add = [this](const QKeySequence& keys, auto action) {
    connect(new QShortcut(keys, this), &QShortcut::activated, this, action);
  };
  add(QKeySequence(Qt::ALT | Qt::Key_Left), [this] { back(); });
  add(QKeySequence(Qt::ALT | Qt::Key_Right), [this] { forward(); });
  add(QKeySequence(QKeySequence::Find), [this] {
    field_->setFocus();
    field_->selectAll();
  });
}

void ManualWindow::open_at(const ManualTarget& target) {
  field_->clear();
  show();
  raise();
  activateWindow();
  visit(target);
}

ManualTarget ManualWindow::target() const { return visits_.empty() ? ManualTarget() : visits_[current_].target; }

void ManualWindow::visit(const ManualTarget& target) {
  if (app::find_manual_page(target.page.toStdString()) == nullptr) return;
  const ManualTarget here = this->target();
  if (here.page == target.page && here.anchor == target.anchor) return show_visit(current_, false);
  if (!visits_.empty()) {
    visits_[current_].scroll = view_->verticalScrollBar()->value();
    visits_.resize(current_ + 1);
  }
  visits_.push_back({target, 0});
  show_visit(visits_.size() - 1, false);
}

void ManualWindow::back() {
  if (current_ == 0) return;
  visits_[current_].scroll = view_->verticalScrollBar()->value();
  show_visit(current_ - 1, true);
}

void ManualWindow::forward() {
  if (current_ + 1 >= visits_.size()) return;
  visits_[current_].scroll = view_->verticalScrollBar()->value();
  show_visit(current_ + 1, true);
}

void ManualWindow::show_visit(std::size_t index, bool keeps_scroll) {
  current_ = index;
  const Visit& shown = visits_[index];
  const app::ManualPage& page = *app::find_manual_page(shown.target.page.toStdString());
  const std::string_view title = page.title();
  header_->set_title(QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size())));
  view_->show_page(page);
  view_->go_to(shown.target.anchor);
  if (keeps_scroll) view_->verticalScrollBar()->setValue(shown.scroll);
  if (field_->text().trimmed().isEmpty()) list_->show_pages(shown.target.page);
  back_->setEnabled(index > 0);
  forward_->setEnabled(index + 1 < visits_.size());
}

void ManualWindow::search() {
  const QString words = field_->text().trimmed();
  count_->setVisible(!words.isEmpty());
  view_->highlight(words.split(QLatin1Char(' '), Qt::SkipEmptyParts));
  if (words.isEmpty()) return list_->show_pages(target().page);
  const int n = list_->show_hits(words);
  count_->setText(n == 0 ? tr("No section contains all of these words")
                         : counted(static_cast<quint64>(n), tr("section"), tr("sections")));
}

void ManualWindow::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Escape) return QWidget::keyPressEvent(event);
  if (field_->text().isEmpty()) close();
  else field_->clear();
}

}  // namespace lathe::ui
