// SPDX-License-Identifier: GPL-3.0-or-later
// ChatListPanel: the Chats dock: search, open, rename (F2), pin, duplicate, delete (Del) with Undo.
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTimer>
#include <QVBoxLayout>

#include "ui/models/chat_list_model.h"
#include "ui/models/conversation.h"
#include "ui/models/deletions.h"
#include "ui/models/reply_writer.h"
#include "ui/panels/panel.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/undo_line.h"

namespace lathe::ui {
namespace {

constexpr int kChatRow = 46, kSearchAfterMs = 150;

class ChatRowDelegate final : public QStyledItemDelegate {
 public:
  ChatRowDelegate(const PanelContext& context, QObject* parent) : QStyledItemDelegate(parent), context_(context) {}
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override {
    return {100, context_.theme.px(kChatRow)};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = context_.theme;
    const Tokens& t = theme.tokens();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const bool open = index.data(ChatListModel::kIdRole).toLongLong() == context_.conversation.id();
    const QRect box = option.rect.adjusted(theme.px(6), 1, -theme.px(6), -1);
    if (open || option.state.testFlag(QStyle::State_MouseOver) || option.state.testFlag(QStyle::State_HasFocus)) {
      painter->setPen(option.state.testFlag(QStyle::State_HasFocus) ? QPen(t.focus, 1) : QPen(Qt::NoPen));
      painter->setBrush(open ? t.tint : t.hover);
      painter->drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(6), theme.px(6));
    }
    if (open)
      painter->fillRect(QRect(box.left(), box.top() + theme.px(10), theme.px(3), box.height() - theme.px(20)), t.accent);
    QRect text = box.adjusted(theme.px(10), theme.px(4), -theme.px(8), -theme.px(4));
    if (index.data(ChatListModel::kPinnedRole).toBool()) {
      const int side = theme.px(14);
      theme.icon(QStringLiteral("pin"), IconTone::quiet)
          .paint(painter, QRect(text.right() - side, text.top() + 2, side, side));
      text.setRight(text.right() - side - theme.px(4));
    }
    const bool writing = index.data(ChatListModel::kWritingRole).toBool();
    painter->setFont(theme.font(13, QFont::Medium));
    painter->setPen(t.text);
    painter->drawText(text, Qt::AlignTop | Qt::AlignLeft,
                      painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, text.width()));
    painter->setFont(theme.font(11));
    if (writing) {
      const qreal side = theme.px(7);
      painter->setPen(Qt::NoPen);
      painter->setBrush(t.accent);
      painter->drawEllipse(QRectF(text.left(), text.bottom() - theme.px(10), side, side));
      text.setLeft(text.left() + theme.px(13));
    }
    painter->setPen(writing ? t.accent_text : t.text3);
    painter->drawText(text, Qt::AlignBottom | Qt::AlignLeft, index.data(ChatListModel::kFactsRole).toString());
    painter->restore();
  }

 private:
  const PanelContext& context_;
};

class ChatListPanel final : public Panel {
 public:
  ChatListPanel(const PanelContext& context, QWidget* parent)
      : Panel(parent), context_(context), model_(context.workbench.history(), context.background) {
    const Theme& theme = context.theme;
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, theme.px(12), 0, theme.px(8));
    column->setSpacing(theme.px(8));
    auto* head = new QHBoxLayout;
    head->setContentsMargins(theme.px(14), 0, theme.px(14), 0);
    head->setSpacing(theme.px(6));
    search_ = new QLineEdit(this);
    search_->setObjectName(QStringLiteral("chats.search"));
    search_->setAccessibleName(tr("Search chats"));
    search_->setPlaceholderText(tr("Search chats"));
    search_->setClearButtonEnabled(true);
    search_->installEventFilter(this);
    auto* add = make_icon_button(theme, QStringLiteral("chats.new"), QStringLiteral("plus"),
                                 context.actions[QStringLiteral("chats.new")]->toolTip(), this);
    connect(add, &QToolButton::clicked, context.actions[QStringLiteral("chats.new")], &QAction::trigger);
    head->addWidget(search_, 1);
    head->addWidget(add);
    column->addLayout(head);
    make_list();
    column->addWidget(list_, 1);
    empty_ = make_label(theme, QStringLiteral("chats.empty"), QString(), this, 12, QFont::Normal, TextTone::text3);
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    empty_->setContentsMargins(theme.px(20), 0, theme.px(20), theme.px(20));
    column->addWidget(empty_, 1);
    auto* below = new QVBoxLayout;
    below->setContentsMargins(theme.px(8), 0, theme.px(8), 0);
    below->addWidget(make_undo_line());
    column->addLayout(below);
    connect_all();
  }

  void came_into_view() override { reload(); }

 protected:
  void showEvent(QShowEvent* event) override {
    Panel::showEvent(event);
    reload();
  }

  bool eventFilter(QObject* object, QEvent* event) override {
    if (object == list_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
      remove(list_->currentIndex());
      return true;
    }
    if (object == search_ && event->type() == QEvent::ShortcutOverride) {
      // Ctrl+Z undoes what was typed; after that, what was deleted.
      const auto* key = static_cast<QKeyEvent*>(event);
      if (key->matches(QKeySequence::Undo) && !search_->isUndoAvailable()) return event->ignore(), true;
      if (key->matches(QKeySequence::Redo) && !search_->isRedoAvailable()) return event->ignore(), true;
    }
    return Panel::eventFilter(object, event);
  }

 private:
  void make_list() {
    list_ = new QListView(this);
    list_->setObjectName(QStringLiteral("dock"));
    list_->setProperty("test_id", QStringLiteral("chats.list"));
    list_->setAccessibleName(tr("Chats"));
    list_->setModel(&model_);
    list_->setItemDelegate(new ChatRowDelegate(context_, list_));
    list_->setUniformItemSizes(true);
    list_->setMouseTracking(true);
    list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setContextMenuPolicy(Qt::CustomContextMenu);
    list_->installEventFilter(this);
    // After a click F2 and Del are those of the list; Enter goes on to the composer.
    connect(list_, &QListView::clicked, this, [this](const QModelIndex& index) { open(index), list_->setFocus(); });
    connect(list_, &QListView::activated, this, [this](const QModelIndex& index) { open(index); });
    connect(list_, &QListView::customContextMenuRequested, this, [this](const QPoint& at) {
      const QPersistentModelIndex index = list_->indexAt(at);
      if (!index.isValid()) return;
      auto* menu = new QMenu(list_);
      menu->setAttribute(Qt::WA_DeleteOnClose);
      menu->setObjectName(QStringLiteral("chats.menu"));
      const bool pinned = index.data(ChatListModel::kPinnedRole).toBool();
      connect(menu->addAction(pinned ? tr("Unpin") : tr("Pin")), &QAction::triggered, this,
              [this, index, pinned] { model_.set_pinned(index, !pinned); });
      connect(menu->addAction(tr("Duplicate")), &QAction::triggered, this, [this, index] { model_.duplicate(index); });
      connect(menu->addAction(tr("Rename (F2)")), &QAction::triggered, this, [this, index] { list_->edit(index); });
      connect(menu->addAction(tr("Delete (Del)")), &QAction::triggered, this, [this, index] { remove(index); });
      menu->popup(list_->viewport()->mapToGlobal(at));
    });
  }

  UndoLine* make_undo_line() {
    auto* line = new UndoLine(
        context_.theme, QStringLiteral("chats.undo"), context_.undo,
        [](const QUndoCommand& command) {
          const auto* deletion = dynamic_cast<const ChatDeletion*>(&command);
          return deletion != nullptr ? deletion->done() : QString();
        },
        this);
    line->setFocusProxy(search_);
    return line;
  }

  void connect_all() {
    search_timer_.setSingleShot(true);
    search_timer_.setInterval(kSearchAfterMs);
    connect(search_, &QLineEdit::textChanged, &search_timer_, qOverload<>(&QTimer::start));
    connect(search_, &QLineEdit::returnPressed, this, [this] { open(model_.index(0)); });
    connect(&search_timer_, &QTimer::timeout, this, [this] { model_.set_search(search_->text()); });
    connect(&model_, &ChatListModel::loaded, this, [this] { refresh(); });
    connect(&model_, &ChatListModel::duplicated, &context_.navigator, &Navigator::open_chat);
    connect(&context_.writer, &ReplyWriter::chats_changed, this, [this] { model_.set_writing(context_.writer.chats()); });
    connect(&model_, &ChatListModel::renamed, this, [this](qint64 chat, const QString& title) {
      if (chat == context_.conversation.id()) context_.conversation.rename(title);
    });
    connect(&model_, &ChatListModel::failed, this, [this](const QString& problem) {
      empty_->setText(problem);
      empty_->show();
    });
    connect(&context_.conversation, &Conversation::list_changed, this, [this] { reload(); });
    connect(&context_.conversation, &Conversation::title_changed, this, [this] { reload(); });
  }

  void reload() {
    if (isVisible()) model_.reload();
  }

  void open(const QModelIndex& index) {
    if (index.isValid()) Q_EMIT context_.navigator.open_chat(index.data(ChatListModel::kIdRole).toLongLong());
    list_->viewport()->update();
  }

  void remove(const QModelIndex& index) {
    if (!index.isValid()) return;
    const std::int64_t chat = index.data(ChatListModel::kIdRole).toLongLong();
    list_->setCurrentIndex({});  // a second Del deletes nothing
    context_.undo.push(new ChatDeletion(context_.conversation, context_.writer, chat));
  }

  void refresh() {
    const bool any = model_.rowCount() > 0;
    if (!any && list_->hasFocus()) search_->setFocus();  // or Qt gives the focus to a button somewhere else
    list_->setVisible(any);
    empty_->setVisible(!any);
    empty_->setText(search_->text().isEmpty() ? tr("No chats yet. Your chats are kept here, on this computer.")
                                              : tr("No chat contains these words."));
    list_->viewport()->update();
  }

  const PanelContext& context_;
  ChatListModel model_;
  QLineEdit* search_ = nullptr;
  QListView* list_ = nullptr;
  QLabel* empty_ = nullptr;
  QTimer search_timer_;
};

}  // namespace

extern constexpr PanelDescriptor kChatListPanel{
    .id = "chat_list",
    .title = QT_TRANSLATE_NOOP("Panels", "Chats"),
    .icon = "chat-small",
    .area = PanelArea::left,
    .at_first = false,
    .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ChatListPanel(context, parent); }};

}  // namespace lathe::ui
