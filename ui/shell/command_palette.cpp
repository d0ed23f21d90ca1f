// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/command_palette.h"

#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kPaletteWidth = 560, kTop = 96, kField = 46, kPaletteRow = 34, kRows = 9;
constexpr int kActionRole = Qt::UserRole, kMenuRole = Qt::UserRole + 1, kKeysRole = Qt::UserRole + 2;

QString plain(QString text) {
  text.remove(QLatin1Char('&'));
  while (text.endsWith(QChar(0x2026))) text.chop(1);
  return text;
}

class CommandRowDelegate final : public QStyledItemDelegate {
 public:
  CommandRowDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {theme_.px(kPaletteWidth), theme_.px(kPaletteRow)};
  }
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Tokens& t = theme_.tokens();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect box = option.rect;
    if (option.state.testFlag(QStyle::State_Selected)) {
      painter->setPen(Qt::NoPen);
      painter->setBrush(t.tint);
      painter->drawRoundedRect(box.adjusted(theme_.px(6), 0, -theme_.px(6), 0), theme_.px(6), theme_.px(6));
    }
    int x = box.left() + theme_.px(18);
    const int side = theme_.px(16);
    const QIcon icon = index.data(Qt::DecorationRole).value<QIcon>();
    icon.paint(painter, QRect(x, box.center().y() - side / 2 + 1, side, side));
    x += side + theme_.px(12);
    painter->setFont(theme_.font(13, QFont::Medium));
    painter->setPen(t.text);
    const QString text = index.data(Qt::DisplayRole).toString();
    painter->drawText(QRect(x, box.top(), box.width(), box.height()), Qt::AlignVCenter | Qt::AlignLeft, text);
    x += painter->fontMetrics().horizontalAdvance(text) + theme_.px(10);
    painter->setFont(theme_.font(12));
    painter->setPen(t.text3);
    painter->drawText(QRect(x, box.top(), box.width(), box.height()), Qt::AlignVCenter | Qt::AlignLeft,
                      index.data(kMenuRole).toString());
    painter->drawText(box.adjusted(0, 0, -theme_.px(20), 0), Qt::AlignVCenter | Qt::AlignRight,
                      index.data(kKeysRole).toString());
    painter->restore();
  }

 private:
  const Theme& theme_;
};

}  // namespace

int palette_score(const QString& words, const QString& text) {
  int score = 1;
  for (const QString& word : words.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    const qsizetype at = text.indexOf(word, 0, Qt::CaseInsensitive);
    if (at < 0) return 0;
    const bool begins = at == 0 || !text[at - 1].isLetterOrNumber();
    score += (begins ? 20 : 5) + (at == 0 ? 10 : 0);
  }
  return score;
}

CommandPalette::CommandPalette(const Theme& theme, Actions& actions, QWidget* window)
    : QFrame(window), theme_(theme), actions_(actions) {
  setObjectName(QStringLiteral("palette"));
  setAccessibleName(tr("Command palette"));
  setFixedWidth(theme.px(kPaletteWidth));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(1, 1, 1, theme.px(6));
  column->setSpacing(theme.px(4));
  field_ = new QLineEdit(this);
  field_->setObjectName(QStringLiteral("palette.field"));
  field_->setAccessibleName(tr("Search actions"));
  field_->setPlaceholderText(tr("Search actions"));
  field_->setFont(theme.font(15));
  field_->setFixedHeight(theme.px(kField));
  field_->setFrame(false);
  field_->setStyleSheet(
      QStringLiteral("QLineEdit { border: none; background: transparent; padding: 0 %1px; }").arg(theme.px(16)));
  list_ = new QListWidget(this);
  list_->setObjectName(QStringLiteral("palette.list"));
  list_->setAccessibleName(tr("Actions found"));
  list_->setItemDelegate(new CommandRowDelegate(theme, list_));
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setStyleSheet(QStringLiteral("QListView { background: transparent; }"));
  column->addWidget(field_);
  column->addWidget(list_);
  field_->installEventFilter(this);
  connect(field_, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_current);
  hide();
}

void CommandPalette::open() {
  field_->clear();
  fill();
  move((parentWidget()->width() - width()) / 2, theme_.px(kTop));
  show();
  raise();
  field_->setFocus();
}

void CommandPalette::fill() {
  struct Found {
    int score;
    QAction* action;
  };
  std::vector<Found> found;
  for (QAction* action : actions_.all()) {
    if (!action->isVisible() || !action->isEnabled()) continue;
    const QString words = plain(action->text()) + QLatin1Char(' ') + Actions::menu_name(actions_.menu_of(action));
    if (const int score = palette_score(field_->text(), words); score > 0) found.push_back({score, action});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });
  list_->clear();
  for (const Found& one : found) {
    auto* item = new QListWidgetItem(one.action->icon(), plain(one.action->text()), list_);
    item->setData(kActionRole, QVariant::fromValue<QObject*>(one.action));
    item->setData(kMenuRole, Actions::menu_name(actions_.menu_of(one.action)));
    item->setData(kKeysRole, one.action->shortcut().toString(QKeySequence::NativeText));
  }
  list_->setCurrentRow(0);
  const int rows = std::clamp(static_cast<int>(found.size()), 1, kRows);
  list_->setFixedHeight(theme_.px(kPaletteRow) * rows + 2);
  adjustSize();
}

void CommandPalette::run_current() {
  QListWidgetItem* item = list_->currentItem();
  hide();
  if (item == nullptr) return;
  auto* action = qobject_cast<QAction*>(item->data(kActionRole).value<QObject*>());
  if (action != nullptr) action->trigger();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::FocusOut) hide();
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) event->accept();
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down       ? 1
                     : key == Qt::Key_Up       ? -1
                     : key == Qt::Key_PageDown ? kRows
                     : key == Qt::Key_PageUp   ? -kRows
                                               : 0;
    if (step != 0) {
      list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(0, list_->count() - 1)));
      return true;
    }
    if (key == Qt::Key_Escape) return hide(), true;
    if (key == Qt::Key_Return || key == Qt::Key_Enter) return run_current(), true;
  }
  return QFrame::eventFilter(object, event);
}

void CommandPalette::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.strong, 1));
  painter.setBrush(t.raised);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(12), theme_.px(12));
  painter.fillRect(QRect(1, theme_.px(kField) + 1, width() - 2, 1), t.border);
}

}  // namespace lathe::ui
