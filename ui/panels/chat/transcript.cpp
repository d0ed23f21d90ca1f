// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/transcript.h"

#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kTranscriptColumn = 720, kTranscriptMargin = 17, kTranscriptGap = 10, kFade = 16, kTranscriptEnd = 14;
constexpr int kMostRounds = 4;  // a measured height can bring another row near the viewport

/// A gradient from the colour of the page to transparent, under the pinned system prompt.
class Fade final : public QWidget {
 public:
  Fade(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QColor clear = theme_.tokens().page;
    clear.setAlpha(0);
    QLinearGradient shade(0, 0, 0, height());
    shade.setColorAt(0, theme_.tokens().page);
    shade.setColorAt(1, clear);
    QPainter(this).fillRect(rect(), shade);
  }

 private:
  const Theme& theme_;
};

}  // namespace

Transcript::Transcript(const PanelContext& context, QWidget* parent) : QAbstractScrollArea(parent), context_(context) {
  setObjectName(QStringLiteral("transcript"));
  setAccessibleName(tr("Messages"));
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
  viewport()->setObjectName(QStringLiteral("page"));
  viewport()->setAutoFillBackground(false);
  fade_ = new Fade(context.theme, viewport());
  verticalScrollBar()->setSingleStep(context.theme.px(40));
  const Conversation& conversation = context.conversation;
  connect(&conversation, &Conversation::reset, this, &Transcript::rebuild);
  connect(&conversation, &Conversation::path_changed, this, &Transcript::follow_path);
  connect(&conversation, &Conversation::changed, this, &Transcript::changed);
  const ReplyWriter& writer = context.writer;
  const auto refresh = [this](qint64 message) { changed(context_.conversation.index_of(message)); };
  connect(&writer, &ReplyWriter::started, this, [this, refresh](qint64 message) {
    refresh(message);
    if (!rows_.empty() && rows_.back().message == message) scroll_to_end();
  });
  connect(&writer, &ReplyWriter::ended, this, refresh);
  connect(&writer, &ReplyWriter::advanced, this, [this](const QString& delta) {
    if (MessageWidget* running = widget(context_.writer.message())) running->append(delta);
  });
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this, [this](int value) {
    if (!in_layout_) follow_ = value >= verticalScrollBar()->maximum() - 2;
  });
  make_end_button();
  rebuild();
}

/// Over the messages while their end is out of view.
void Transcript::make_end_button() {
  const Theme& theme = context_.theme;
  to_end_ = make_button(theme, QStringLiteral("transcript.to_end"), tr("To the end"), viewport(), ButtonLook::plain, true);
  to_end_->setIcon(theme.icon(QStringLiteral("chevron-down")));
  to_end_->setToolTip(tr("Go to the last message and follow the reply"));
  connect(to_end_, &QAbstractButton::clicked, this, &Transcript::scroll_to_end);
  to_end_->hide();
}

/// Widgets are made when they come near the view, in any order; Tab goes through them as they are shown.
void Transcript::order_focus() {
  QWidget* last = focus_after_;
  for (const Row& row : rows_) {
    if (row.widget == nullptr) continue;
    for (QWidget* part : row.widget->focus_parts()) {
      if (last != nullptr) setTabOrder(last, part);
      last = part;
    }
  }
}

int Transcript::column_width(const Theme& theme, int page_width) {
  return std::min(theme.px(kTranscriptColumn), page_width - 2 * theme.px(kTranscriptMargin));
}

/// True for messages with a row; a system prompt at the front is shown by the SystemCard.
bool Transcript::is_row(int index) const {
  return index > 0 || context_.conversation.messages()[static_cast<std::size_t>(index)].role != "system";
}

Transcript::Row* Transcript::row_of(std::int64_t message) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [message](const Row& row) { return row.message == message; });
  return found == rows_.end() ? nullptr : &*found;
}

MessageWidget* Transcript::widget(std::int64_t message) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [message](const Row& row) { return row.message == message; });
  return found == rows_.end() ? nullptr : found->widget;
}

int Transcript::estimate(const app::StoredMessage& message) const {
  const std::string& text = message.text;
  const auto lines = static_cast<int>(text.size() / 85) + 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  return context_.theme.px(70 + 21 * std::min(lines, 2000));
}

void Transcript::rebuild() {
  for (const Row& row : rows_) delete row.widget;
  rows_.clear();
  const app::MessagePath& messages = context_.conversation.messages();
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (is_row(static_cast<int>(i))) rows_.push_back({messages[i].id, nullptr, estimate(messages[i]), 0});
  follow_ = true;
  relayout();
}

/// Keeps the rows of messages that are still shown. What is above the first other message does not move.
void Transcript::follow_path(int from) {
  const app::MessagePath& messages = context_.conversation.messages();
  const std::int64_t focused = focused_message();
  const QWidget* focus = focused != 0 ? window()->focusWidget() : nullptr;
  const QString part = focus != nullptr && focus != widget(focused) ? focus->objectName() : QString();
  std::vector<Row> old = std::exchange(rows_, {});
  std::unordered_map<std::int64_t, std::size_t> old_rows;
  for (std::size_t i = 0; i < old.size(); ++i) old_rows.emplace(old[i].message, i);
  int focused_row = -1, y = context_.theme.px(kTranscriptGap);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!is_row(static_cast<int>(i))) continue;
    const auto kept = old_rows.find(messages[i].id);
    Row row{messages[i].id, nullptr, 0, 0};
    if (kept == old_rows.end()) row.height = estimate(messages[i]);
    else row = std::exchange(old[kept->second], Row{});
    row.y = y;
    y += row.height + context_.theme.px(kTranscriptGap);
    rows_.push_back(row);
  }
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].widget == nullptr) continue;
    if (old[i].message == focused) focused_row = static_cast<int>(i);
    old[i].widget->hide();
    old[i].widget->deleteLater();  // this call may come from its own button
  }
  for (const Row& row : rows_)
    if (row.widget != nullptr && context_.conversation.index_of(row.message) >= from) row.widget->refresh();
  if (!messages.empty() && static_cast<std::size_t>(from) + 1 == messages.size() && old.size() < rows_.size())
    follow_ = true;
  else if (static_cast<std::size_t>(from) < messages.size()) follow_ = false;
  relayout();
  if (focused_row >= 0) move_focus(part, focused_row);
}

/// Gives the focus to the same part of the message that took the place of the focused one.
void Transcript::move_focus(const QString& part, int row) {
  if (rows_.empty()) return;
  MessageWidget* next = rows_[std::min(static_cast<std::size_t>(row), rows_.size() - 1)].widget;
  if (next == nullptr) return;
  next->setFocus();
  auto* same = part.isEmpty() ? nullptr : next->findChild<QWidget*>(part);
  if (same != nullptr && same->isVisible()) same->setFocus();
}

void Transcript::changed(int index) {
  if (index < 0 || !is_row(index)) return;
  Row* row = row_of(context_.conversation.messages()[static_cast<std::size_t>(index)].id);
  if (row == nullptr) return;
  if (row->widget != nullptr) row->widget->refresh();
  relayout();
}

void Transcript::make_widget(Row& row) {
  auto* widget = new MessageWidget(context_, row.message, viewport());
  connect(widget, &MessageWidget::height_changed, this, &Transcript::queue_layout);
  connect(widget, &MessageWidget::parts_changed, this, &Transcript::order_focus);
  connect(widget, &MessageWidget::tool_used, this, &Transcript::tool_used);
  connect(widget, &MessageWidget::edited, this, &Transcript::edited);
  row.widget = widget;
  has_new_widgets_ = true;
  widget->show();
  fade_->raise();
  to_end_->raise();
}

void Transcript::queue_layout() {
  if (layout_queued_ || in_layout_) return;
  layout_queued_ = true;
  QMetaObject::invokeMethod(
      this,
      [this] {
        layout_queued_ = false;
        relayout();
      },
      Qt::QueuedConnection);
}

/// Makes and measures the widgets near a view that begins at `top`. Returns true if a height changed.
bool Transcript::measure_visible(int top) {
  const int reach = viewport()->height();
  const int column = column_width(context_.theme, viewport()->width());
  bool any = false;
  for (Row& row : rows_) {
    const bool near = row.y + row.height >= top - reach && row.y <= top + 2 * reach;
    const bool held = row.widget != nullptr && (row.widget->is_editing() || row.message == context_.writer.message() ||
                                                row.message == focused_message());
    if (!near && !held && row.widget != nullptr) {
      row.widget->hide();
      row.widget->deleteLater();
      row.widget = nullptr;
    }
    if (near && row.widget == nullptr) make_widget(row);
    if (row.widget == nullptr) continue;
    const int height = row.widget->height_for(column);
    any |= height != row.height;
    row.height = height;
  }
  return any;
}

void Transcript::relayout() {
  if (in_layout_ || viewport()->width() < 50) return;
  in_layout_ = true;
  const Theme& theme = context_.theme;
  int top = verticalScrollBar()->value();
  const auto anchor = std::find_if(rows_.begin(), rows_.end(), [top](const Row& row) { return row.y + row.height > top; });
  const int anchor_offset = anchor != rows_.end() ? top - anchor->y : 0;
  for (int round = 0; round < kMostRounds; ++round) {
    int y = theme.px(kTranscriptGap);
    for (Row& row : rows_) {
      row.y = y;
      y += row.height + theme.px(kTranscriptGap);
    }
    const int most = std::max(0, y + theme.px(kTranscriptEnd - kTranscriptGap) - viewport()->height());
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setRange(0, most);
    top = std::clamp(follow_ ? most : anchor != rows_.end() ? anchor->y + anchor_offset : top, 0, most);
    if (!measure_visible(top)) break;
  }
  verticalScrollBar()->setValue(top);
  const int column = column_width(theme, viewport()->width());
  const int x = (viewport()->width() + verticalScrollBar()->isVisible() * verticalScrollBar()->width() - column) / 2;
  for (const Row& row : rows_)
    if (row.widget != nullptr) row.widget->setGeometry(x, row.y - top, column, row.height);
  fade_->setGeometry(0, 0, viewport()->width(), theme.px(kFade));
  fade_->setVisible(top > 0);
  const QSize size = to_end_->sizeHint();
  to_end_->setGeometry((viewport()->width() - size.width()) / 2, viewport()->height() - size.height() - theme.px(8),
                       size.width(), size.height());
  to_end_->setVisible(verticalScrollBar()->maximum() - top > viewport()->height() / 3);
  if (std::exchange(has_new_widgets_, false)) order_focus();
  in_layout_ = false;
}

void Transcript::resizeEvent(QResizeEvent*) { relayout(); }

void Transcript::showEvent(QShowEvent* event) {
  QAbstractScrollArea::showEvent(event);
  queue_layout();
}

void Transcript::scrollContentsBy(int, int) {
  if (!in_layout_) relayout();
}

void Transcript::scroll_to_end() {
  follow_ = true;
  relayout();
}

std::int64_t Transcript::focused_message() const {
  const QWidget* focus = window()->focusWidget();
  if (focus == nullptr) return 0;
  for (const Row& row : rows_)
    if (row.widget != nullptr && (row.widget == focus || row.widget->isAncestorOf(focus))) return row.message;
  return 0;
}

void Transcript::show_message(std::int64_t message, bool take_focus) {
  if (row_of(message) == nullptr) return;
  // Rows that come into view are measured, which can move the message.
  for (int round = 0; round < kMostRounds; ++round) {
    follow_ = false;
    const int top = row_of(message)->y - context_.theme.px(24);
    verticalScrollBar()->setValue(top);
    relayout();
    if (row_of(message)->y - context_.theme.px(24) == top) break;
  }
  if (MessageWidget* found = widget(message); found != nullptr && take_focus) found->setFocus();
}

void Transcript::start_editing(std::int64_t message) {
  if (widget(message) == nullptr) show_message(message);
  if (MessageWidget* found = widget(message)) found->start_editing();
}

}  // namespace lathe::ui
