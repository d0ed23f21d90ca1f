// SPDX-License-Identifier: GPL-3.0-or-later
// Transcript: the messages of the open chat, one below the other; only messages near the viewport have widgets.
#pragma once

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <vector>

#include "ui/panels/chat/message_widget.h"

namespace lathe::ui {

/// Heights of messages that were never near the viewport are estimated from their length. If an estimate turns out wrong,
/// the message at the top of the view keeps its position; the end stays in view while the reader is there.
class Transcript : public QAbstractScrollArea {
  Q_OBJECT
 public:
  Transcript(const PanelContext& context, QWidget* parent);

  MessageWidget* widget(std::int64_t message) const;  ///< null if the message has no widget
  /// Scrolls to the message and gives it the focus, unless the focus is to stay where it is.
  void show_message(std::int64_t message, bool take_focus = true);
  /// The messages and their buttons follow this widget when Tab is pressed, in the order in which they are shown.
  void set_focus_after(QWidget* widget) { focus_after_ = widget; }
  /// The message with the focus; 0: none.
  std::int64_t focused_message() const;
  void scroll_to_end();
  void start_editing(std::int64_t message);
  void rebuild();  ///< makes all rows again: another chat, other settings
  /// Width of the text column in a page of this width.
  static int column_width(const Theme& theme, int page_width);

 Q_SIGNALS:
  void tool_used(qint64 message, lathe::ui::MessageTool tool);
  void edited(qint64 message, const QString& text, bool and_send);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  struct Row {
    std::int64_t message = 0;
    MessageWidget* widget = nullptr;
    int height = 0, y = 0;
  };
  void follow_path(int from);
  void changed(int index);
  void move_focus(const QString& part, int row);
  Row* row_of(std::int64_t message);
  bool is_row(int index) const;
  int estimate(const app::StoredMessage& message) const;
  void make_widget(Row& row);
  void relayout();
  bool measure_visible(int top);
  void queue_layout();
  void order_focus();
  void make_end_button();

  const PanelContext& context_;
  std::vector<Row> rows_;
  QWidget* fade_;
  QWidget* focus_after_ = nullptr;
  QAbstractButton* to_end_ = nullptr;
  bool follow_ = true, in_layout_ = false, layout_queued_ = false, has_new_widgets_ = false;
};

}  // namespace lathe::ui
