// SPDX-License-Identifier: GPL-3.0-or-later
// ChatPanel: the Chat page: header, system prompt, transcript, composer, context meter.
#pragma once

#include <QScrollArea>
#include <QStackedWidget>
#include <QTimer>

#include "ui/models/conversation.h"
#include "ui/models/reply_writer.h"
#include "ui/panels/chat/composer.h"
#include "ui/panels/chat/find_bar.h"
#include "ui/panels/chat/prompt_view.h"
#include "ui/panels/chat/system_card.h"
#include "ui/panels/chat/transcript.h"
#include "ui/panels/chat/welcome.h"
#include "ui/panels/panel.h"
#include "ui/widgets/context_meter.h"
#include "ui/widgets/page_header.h"
#include "ui/widgets/segmented.h"
#include "ui/widgets/undo_line.h"

namespace lathe::ui {

class ChatPanel : public Panel {
  Q_OBJECT
 public:
  ChatPanel(const PanelContext& context, QWidget* parent);
  void came_into_view() override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_header();
  void make_column();
  UndoLine* make_undo_line(QWidget* parent);
  void connect_actions();
  void connect_message_actions();
  void connect_conversation();
  void send();
  void insert();
  void use_tool(std::int64_t message, MessageTool tool);
  void take_edit(std::int64_t message, const QString& text, bool and_send);
  /// The message that an action of the menu applies to.
  std::int64_t chosen_message(bool replies_only) const;
  void step_version(std::int64_t message, int step);
  std::int64_t message_of_versions() const;
  void open_chat(std::int64_t id);
  void refresh();
  void refresh_meter();
  void refresh_overflow();
  std::vector<InlineMessage::Button> overflow_fixes();
  int n_to_drop(qint64 excess) const;
  void drop_oldest(int n);
  std::size_t first_to_drop() const { return system_->message() != 0 ? 1 : 0; }
  void remove(std::vector<std::int64_t> messages);
  void queue_count();
  void count();

  const PanelContext& context_;
  PageHeader* header_ = nullptr;
  Segmented* view_ = nullptr;
  QWidget* column_ = nullptr;
  QStackedWidget* middle_ = nullptr;
  SystemCard* system_ = nullptr;
  FindBar* find_ = nullptr;
  Transcript* transcript_ = nullptr;
  Welcome* welcome_ = nullptr;
  QScrollArea* welcome_page_ = nullptr;
  PromptView* prompt_ = nullptr;
  UndoLine* undo_ = nullptr;
  InlineMessage* overflow_ = nullptr;
  Composer* composer_ = nullptr;
  ContextMeter* meter_ = nullptr;
  QTimer count_timer_;
  std::uint64_t counting_ = 0;
  qint64 used_tokens_ = 0, draft_tokens_ = 0;
};

}  // namespace lathe::ui
