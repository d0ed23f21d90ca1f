// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/manual/manual_list.h"

#include <QPainter>
#include <QStyledItemDelegate>

#include "app/api/manual.h"

namespace lathe::ui {
namespace {

constexpr int kPageRole = Qt::UserRole, kAnchorRole = Qt::UserRole + 1, kWhereRole = Qt::UserRole + 2,
              kExcerptRole = Qt::UserRole + 3, kDepthRole = Qt::UserRole + 4;
constexpr int kListRow = 28, kHitRow = 56, kIndent = 14;

QString list_text(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

class ManualRowDelegate final : public QStyledItemDelegate {
 public:
  ManualRowDelegate(const Theme& theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    return {theme_.px(120), theme_.px(index.data(kWhereRole).toString().isEmpty() ? kListRow : kHitRow)};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Tokens& t = theme_.tokens();
    const bool selected = option.state.testFlag(QStyle::State_Selected);
    painter->save();
    if (selected) {
      painter->fillRect(option.rect, t.tint);
      painter->fillRect(QRect(option.rect.left(), option.rect.top(), theme_.px(3), option.rect.height()), t.accent);
    } else if (option.state.testFlag(QStyle::State_MouseOver)) {
      painter->fillRect(option.rect, t.hover);
    }
    const int depth = index.data(kDepthRole).toInt();
    const QRect box = option.rect.adjusted(theme_.px(14 + depth * kIndent), 0, -theme_.px(10), 0);
    const QString title = index.data(Qt::DisplayRole).toString(), where = index.data(kWhereRole).toString();
    if (where.isEmpty()) {
      draw(*painter, box, title, theme_.font(depth > 0 ? 12 : 13, depth > 0 ? QFont::Normal : QFont::Medium),
           depth > 0 ? t.text2 : t.text);
    } else {
      const QRect line(box.left(), box.top() + theme_.px(4), box.width(), theme_.px(16));
      draw(*painter, line, title, theme_.font(13, QFont::Medium), t.text);
      draw(*painter, line.translated(0, theme_.px(16)), where, theme_.font(11), t.text3);
      draw(*painter, line.translated(0, theme_.px(32)), index.data(kExcerptRole).toString(), theme_.font(12), t.text2);
    }
    painter->restore();
  }

 private:
  static void draw(QPainter& painter, const QRect& box, const QString& text, const QFont& font, const QColor& color) {
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(text, Qt::ElideRight, box.width()));
  }

  const Theme& theme_;
};

}  // namespace

ManualList::ManualList(const Theme& theme, QWidget* parent) : QListWidget(parent) {
  setObjectName(QStringLiteral("manual.list"));
  setAccessibleName(tr("Pages of the manual"));
  setItemDelegate(new ManualRowDelegate(theme, this));
  setMouseTracking(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setStyleSheet(QStringLiteral("QListView { background: transparent; }"));
  const auto choose = [this](const QListWidgetItem* item) {
    if (item != nullptr) Q_EMIT chosen(item->data(kPageRole).toString(), item->data(kAnchorRole).toString());
  };
  connect(this, &QListWidget::itemClicked, this, choose);
  connect(this, &QListWidget::itemActivated, this, choose);
}

void ManualList::add(const QString& page, const QString& anchor, const QString& title, const QString& where,
                     const QString& excerpt, int depth) {
  auto* const item = new QListWidgetItem(title, this);
  item->setData(kPageRole, page);
  item->setData(kAnchorRole, anchor);
  item->setData(kWhereRole, where);
  item->setData(kExcerptRole, excerpt);
  item->setData(kDepthRole, depth);
  if (!where.isEmpty()) item->setToolTip(title + QLatin1Char('\n') + excerpt);
}

void ManualList::show_pages(const QString& open) {
  clear();
  for (const app::ManualPage& page : app::manual_pages()) {
    const QString name = list_text(page.name);
    add(name, {}, list_text(page.title()), {}, {}, 0);
    if (name != open) continue;
    setCurrentRow(count() - 1);
    for (const app::ManualSection& section : app::sections_of(page)) {
      if (section.text.starts_with("## "))
        add(name, QLatin1Char('#') + QString::fromStdString(section.slug),
            list_text(section.heading).remove(QLatin1Char('`')), {}, {}, 1);
    }
  }
}

int ManualList::show_hits(const QString& words) {
  clear();
  for (const app::ManualHit& hit : app::search_manual(words.toStdString())) {
    const app::ManualSection& section = hit.section;
    add(list_text(section.page->name), QLatin1Char('#') + QString::fromStdString(section.slug),
        list_text(section.heading).remove(QLatin1Char('`')), list_text(section.page->title()),
        QString::fromStdString(hit.excerpt), 0);
  }
  return count();
}

}  // namespace lathe::ui
