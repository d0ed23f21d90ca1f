// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/chat_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QInputDialog>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/deletions.h"
#include "ui/models/load_choice.h"
#include "ui/models/sampling_choice.h"
#include "ui/panels/chat/chat_export.h"
#include "ui/widgets/page_stack.h"

namespace lathe::ui {
namespace {

constexpr int kCountAfterMs = 300;
constexpr qint64 kMostReserve = 512, kShortReply = 64;

/// Tokens that the meter keeps free for a reply of at most `most` tokens (0: until the context is full). A reply may be
/// longer where there is room; a small context is not called full because of a large limit.
qint64 reply_reserve(qint64 most, qint64 limit) {
  return std::min({most > 0 ? most : kMostReserve, kMostReserve, limit / 2});
}

}  // namespace

ChatPanel::ChatPanel(const PanelContext& context, QWidget* parent) : Panel(parent), context_(context) {
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->setSpacing(0);
  setAutoFillBackground(true);
  make_header();
  outer->addWidget(header_);
  make_column();
  count_timer_.setSingleShot(true);
  count_timer_.setInterval(kCountAfterMs);
  connect(&count_timer_, &QTimer::timeout, this, &ChatPanel::count);
  connect_actions();
  connect_message_actions();
  connect_conversation();
  context.bridge.watch(this, Interest::model);
  const engine::Json last = context.workbench.settings().get("chat/current");
  if (last.is_number_integer() && last.get<std::int64_t>() > 0) open_chat(last.get<std::int64_t>());
  refresh();
}

void ChatPanel::make_header() {
  const Theme& theme = context_.theme;
  header_ = new PageHeader(theme, tr("New chat"), this);
  header_->setObjectName(QStringLiteral("chat.header"));
  auto* menu_button =
      make_icon_button(theme, QStringLiteral("chat.menu"), QStringLiteral("chevron-down"), tr("This chat"), header_, 24);
  auto* menu = new QMenu(menu_button);
  menu->setObjectName(QStringLiteral("chat.menu.menu"));
  QAction* rename = menu->addAction(tr("Rename…"));
  rename->setObjectName(QStringLiteral("chat.menu.rename"));
  connect(rename, &QAction::triggered, this, [this] {
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("chat.rename_dialog"));
    dialog->setWindowTitle(tr("Rename chat"));
    dialog->setLabelText(tr("Name"));
    dialog->setTextValue(context_.conversation.title());
    connect(dialog, &QInputDialog::textValueSelected, &context_.conversation, &Conversation::rename);
    dialog->open();
  });
  QAction* system = menu->addAction(tr("Add a system prompt"));
  system->setObjectName(QStringLiteral("chat.menu.system"));
  connect(system, &QAction::triggered, this, [this] {
    if (system_->message() == 0)
      context_.conversation.insert_first("system", tr("You are a precise assistant. Answer briefly."));
    system_->set_open(true);
  });
  connect(menu_button, &QToolButton::clicked, menu,
          [menu, menu_button] { menu->popup(menu_button->mapToGlobal(QPoint(0, menu_button->height()))); });
  header_->add_left(menu_button);
  view_ = new Segmented(theme, {tr("Chat"), tr("Prompt")}, header_);
  view_->setObjectName(QStringLiteral("chat.view"));
  view_->setAccessibleName(tr("What the page shows"));
  connect(view_, &Segmented::chosen, this, [this] { refresh(); });
  header_->add_right(view_);
  const struct {
    const char* name;
    const char* icon;
    const char* action;
  } buttons[] = {{"chat.find", "search", "chat.find"}, {"chat.export", "export", "chat.export_markdown"}};
  for (const auto& button : buttons) {
    QAction* action = context_.actions[QLatin1String(button.action)];
    auto* made = make_icon_button(theme, QLatin1String(button.name), QLatin1String(button.icon), action->toolTip(), header_);
    connect(made, &QToolButton::clicked, action, &QAction::trigger);
    connect(action, &QAction::enabledChanged, made, &QWidget::setEnabled);
    made->setEnabled(action->isEnabled());
    header_->add_right(made);
  }
  auto* more = make_icon_button(theme, QStringLiteral("chat.more"), QStringLiteral("more"), tr("More"), header_);
  connect(more, &QToolButton::clicked, this, [this, more] {
    auto* popup = new QMenu(more);
    popup->setAttribute(Qt::WA_DeleteOnClose);
    for (const char* id : {"chats.new", "chat.copy_reply", "chat.export_markdown", "chat.export_json",
                           "chat.export_sharegpt", "chats.import", "chat.branch"})
      popup->addAction(context_.actions[QLatin1String(id)]);
    popup->popup(more->mapToGlobal(QPoint(0, more->height())));
  });
  header_->add_right(more);
}

void ChatPanel::make_column() {
  const Theme& theme = context_.theme;
  auto* outer = static_cast<QVBoxLayout*>(layout());
  column_ = new QWidget(this);
  auto* top = new QVBoxLayout(column_);
  top->setContentsMargins(0, theme.px(12), 0, 0);
  top->setSpacing(0);
  system_ = new SystemCard(context_, column_);
  find_ = new FindBar(theme, context_.conversation, column_);
  top->addWidget(system_);
  top->addWidget(find_);
  outer->addWidget(column_);
  middle_ = new PageStack(this);
  middle_->setObjectName(QStringLiteral("chat.middle"));
  transcript_ = new Transcript(context_, middle_);
  welcome_ = new Welcome(context_, middle_);
  prompt_ = new PromptView(context_, middle_);
  middle_->addWidget(transcript_);
  // On a screen of small height the welcome page scrolls.
  welcome_page_ = new QScrollArea(middle_);
  welcome_page_->setObjectName(QStringLiteral("chat.welcome_page"));
  welcome_page_->setFrameShape(QFrame::NoFrame);
  welcome_page_->setFocusPolicy(Qt::NoFocus);
  welcome_page_->setWidgetResizable(true);
  welcome_page_->setWidget(welcome_);
  welcome_page_->viewport()->setAutoFillBackground(false);
  welcome_->setAutoFillBackground(false);
  middle_->addWidget(welcome_page_);
  middle_->addWidget(prompt_);
  outer->addWidget(middle_, 1);
  auto* bottom = new QWidget(this);
  bottom->setObjectName(QStringLiteral("chat.bottom"));
  auto* below = new QVBoxLayout(bottom);
  below->setContentsMargins(0, theme.px(6), 0, theme.px(8));
  below->setSpacing(theme.px(7));
  overflow_ = new InlineMessage(theme, QStringLiteral("chat.overflow"), bottom);
  overflow_->hide();
  composer_ = new Composer(context_, bottom);
  meter_ = new ContextMeter(theme, bottom);
  undo_ = make_undo_line(bottom);
  below->addWidget(undo_);
  below->addWidget(overflow_);
  below->addWidget(composer_);
  below->addWidget(meter_);
  outer->addWidget(bottom);
  connect(composer_, &Composer::send_asked, this, &ChatPanel::send);
  connect(composer_, &Composer::draft_changed, this, &ChatPanel::queue_count);
  connect(welcome_, &Welcome::prompt_chosen, this, [this](const QString& prompt) {
    composer_->set_text(prompt);
    if (context_.actions[QStringLiteral("chat.send")]->isEnabled()) send();
    else composer_->take_focus();
  });
  connect(find_, &FindBar::found, this, [this](qint64 message) { transcript_->show_message(message, false); });
  transcript_->set_focus_after(header_->findChild<QWidget*>(QStringLiteral("chat.more")));
}

UndoLine* ChatPanel::make_undo_line(QWidget* parent) {
  return new UndoLine(
      context_.theme, QStringLiteral("chat.undo"), context_.undo,
      [](const QUndoCommand& command) {
        const auto* deletion = dynamic_cast<const MessageDeletion*>(&command);
        return deletion != nullptr ? deletion->done() : QString();
      },
      parent);
}

void ChatPanel::connect_actions() {
  Actions& actions = context_.actions;
  actions.on(QStringLiteral("chats.new"), this, [this] { open_chat(0); });
  actions.on(QStringLiteral("chats.close"), this, [this] { open_chat(0); });
  actions.on(QStringLiteral("chat.send"), this, [this] { send(); });
  actions.on(QStringLiteral("chat.insert"), this, [this] { insert(); });
  actions.on(QStringLiteral("chat.stop"), this, [this] { context_.writer.stop(); });
  actions.on(QStringLiteral("chat.cycle_role"), this, [this] { composer_->cycle_role(); });
  actions.on(QStringLiteral("chat.find"), this, [this] { find_->open(); });
  actions.on(QStringLiteral("chat.find_next"), this, [this] { find_->go(1); });
  actions.on(QStringLiteral("chat.find_previous"), this, [this] { find_->go(-1); });
  for (const app::ChatFileFormat& format : app::chat_file_formats())
    actions.on(QStringLiteral("chat.export_") + QLatin1String(format.name), this,
               [this, &format] { save_chat(this, context_, format); });
  actions.on(QStringLiteral("chats.import"), this, [this] { import_chats(this, context_); });
  connect(&context_.navigator, &Navigator::open_chat, this, [this](qint64 id) {
    open_chat(id);
    Q_EMIT context_.navigator.show_panel(objectName());
  });
}

void ChatPanel::connect_message_actions() {
  const struct {
    const char* id;
    MessageTool tool;
    bool replies_only;
  } tools[] = {{"chat.copy_reply", MessageTool::copy, true},         {"chat.regenerate", MessageTool::regenerate, false},
               {"chat.continue", MessageTool::continue_reply, true}, {"chat.edit", MessageTool::edit, false},
               {"chat.delete", MessageTool::remove, false},          {"chat.branch", MessageTool::branch, false}};
  for (const auto& entry : tools) {
    context_.actions.on(QLatin1String(entry.id), this, [this, entry] {
      if (const std::int64_t message = chosen_message(entry.replies_only)) use_tool(message, entry.tool);
    });
  }
  context_.actions.on(QStringLiteral("chat.previous_version"), this, [this] { step_version(message_of_versions(), -1); });
  context_.actions.on(QStringLiteral("chat.next_version"), this, [this] { step_version(message_of_versions(), 1); });
  connect(transcript_, &Transcript::tool_used, this, &ChatPanel::use_tool);
  connect(transcript_, &Transcript::edited, this, &ChatPanel::take_edit);
}

void ChatPanel::connect_conversation() {
  for (const auto signal : {&Conversation::path_changed, &Conversation::changed})
    connect(&context_.conversation, signal, this, [this] { refresh(), queue_count(); });
  connect(&context_.conversation, &Conversation::reset, this, [this] { refresh(), queue_count(); });
  connect(&context_.conversation, &Conversation::title_changed, this, [this] {
    context_.workbench.settings().set("chat/current", context_.conversation.id());
    refresh();
  });
  connect(&context_.conversation, &Conversation::branched, this, [this](qint64 chat) { open_chat(chat); });
  connect(&context_.conversation, &Conversation::problem_changed, this, [this] { refresh_overflow(); });
  connect(&context_.writer, &ReplyWriter::started, this, [this] { refresh(); });
  connect(&context_.writer, &ReplyWriter::ended, this, [this] { refresh(), queue_count(); });
  connect(&context_.writer, &ReplyWriter::advanced, this, [this] { refresh_meter(); });
  connect(&context_.bridge, &Bridge::model_changed, this, [this] { refresh(), queue_count(); });
  connect(&context_.sampling, &SamplingChoice::changed, this, [this] { refresh_meter(); });
}

void ChatPanel::send() {
  if (composer_->role() != "user") return insert();
  if (context_.writer.running() || !context_.bridge.can_chat()) return;
  const QString text = composer_->text();
  if (!text.trimmed().isEmpty()) {
    if (context_.conversation.insert("user", text) == 0) return refresh();
    composer_->clear();
  } else if (!context_.conversation.awaits_answer()) {
    return;
  }
  context_.writer.reply();
}

void ChatPanel::insert() {
  const QString text = composer_->text();
  if (text.trimmed().isEmpty() || context_.writer.running()) return;
  const std::string role = composer_->role();
  if (context_.conversation.insert(role, text) == 0) return refresh();
  composer_->clear();
}

std::int64_t ChatPanel::chosen_message(bool replies_only) const {
  if (const std::int64_t focused = transcript_->focused_message()) {
    const app::StoredMessage* message = context_.conversation.find(focused);
    if (message != nullptr && (!replies_only || message->role == "assistant")) return focused;
  }
  if (replies_only) return context_.conversation.last_of("assistant");
  return context_.conversation.empty() ? 0 : context_.conversation.messages().back().id;
}

void ChatPanel::use_tool(std::int64_t message, MessageTool tool) {
  const app::StoredMessage* stored = context_.conversation.find(message);
  if (stored == nullptr || context_.conversation.index_of(message) < 0) return;
  switch (tool) {
    case MessageTool::copy: QApplication::clipboard()->setText(context_.conversation.shown_text(*stored)); break;
    case MessageTool::edit: transcript_->start_editing(message); break;
    case MessageTool::regenerate: context_.writer.regenerate(message); break;
    case MessageTool::continue_reply: context_.writer.continue_reply(message); break;
    case MessageTool::branch: context_.conversation.branch(message); break;
    case MessageTool::remove:
      if (context_.writer.message() != message) remove({message});
      break;
    case MessageTool::inspect: {
      const ReplyFooter footer = footer_of(stored->footer_json);
      if (footer.record != 0) Q_EMIT context_.navigator.inspect_request(footer.record);
      break;
    }
    case MessageTool::previous: step_version(message, -1); break;
    case MessageTool::next: step_version(message, 1); break;
  }
}

void ChatPanel::step_version(std::int64_t message, int step) {
  const std::vector<std::int64_t> all = context_.conversation.versions(message);
  const auto at = std::find(all.begin(), all.end(), message) - all.begin();
  context_.conversation.show_version(message, static_cast<int>(at) + step);
}

/// The message with the focus, else the last one with other versions; 0: no message has any.
std::int64_t ChatPanel::message_of_versions() const {
  const Conversation& conversation = context_.conversation;
  if (const std::int64_t focused = transcript_->focused_message(); conversation.versions(focused).size() > 1) return focused;
  for (std::size_t i = conversation.messages().size(); i-- > 0;)
    if (conversation.versions(conversation.messages()[i].id).size() > 1) return conversation.messages()[i].id;
  return 0;
}

void ChatPanel::remove(std::vector<std::int64_t> messages) {
  if (!messages.empty()) context_.undo.push(new MessageDeletion(context_.conversation, std::move(messages)));
}

void ChatPanel::take_edit(std::int64_t message, const QString& text, bool and_send) {
  const std::int64_t version = context_.conversation.edit(message, text);
  if (and_send && version != 0 && context_.bridge.can_chat()) context_.writer.regenerate(version);
}

void ChatPanel::open_chat(std::int64_t id) {
  if (id != 0 && id == context_.conversation.id()) return;
  if (id == 0 || !context_.conversation.open(id)) context_.conversation.start_new();
  composer_->take_focus();
}

void ChatPanel::came_into_view() {
  refresh();
  composer_->take_focus();
}

void ChatPanel::refresh() {
  const Conversation& conversation = context_.conversation;
  const QString title = !conversation.title().isEmpty() ? conversation.title()
                        : conversation.id() == 0        ? tr("New chat")
                                                        : tr("Untitled");
  header_->set_title(title);
  setWindowTitle(title);
  const bool running = context_.writer.running();
  const bool empty = conversation.empty() || (conversation.messages().size() == 1 && system_->message() != 0);
  middle_->setCurrentWidget(view_->current() == 1 ? static_cast<QWidget*>(prompt_)
                            : empty               ? static_cast<QWidget*>(welcome_page_)
                                                  : transcript_);
  composer_->set_running(running);
  context_.actions.set_fact(Fact::chat_running, running);
  context_.actions.set_fact(Fact::chat_idle, !running);
  context_.actions.set_fact(Fact::has_messages, !conversation.empty());
  context_.actions.set_fact(Fact::has_reply, conversation.last_of("assistant") != 0);
  refresh_meter();
}

void ChatPanel::refresh_meter() {
  const qint64 limit = context_.bridge.loaded() ? context_.bridge.loaded()->max_model_len : 0;
  const qint64 most = context_.sampling.values().params.max_tokens;
  qint64 used = used_tokens_, reserve = reply_reserve(most, limit);
  if (const ChatStream* stream = context_.writer.stream(); stream != nullptr && stream->usage().n_prompt_tokens > 0) {
    used = stream->usage().n_prompt_tokens + stream->usage().n_completion_tokens;
    reserve = std::max<qint64>(0, reserve - stream->usage().n_completion_tokens);
  }
  meter_->set(used, draft_tokens_, reserve, limit);
  refresh_overflow();
}

void ChatPanel::refresh_overflow() {
  const QString problem = context_.conversation.problem();
  if (!problem.isEmpty()) {
    overflow_->set(MessageTone::error, tr("The chat could not be saved"), problem, {});
  } else if (meter_->over() && !context_.writer.running() && !context_.conversation.empty()) {
    std::vector<InlineMessage::Button> buttons = overflow_fixes();
    const QString advice = buttons.empty() ? tr("Shorten the message, or start a new chat.") : QString();
    overflow_->set(MessageTone::warning, tr("The context is too small for this chat and its reply"),
                   QStringLiteral("%1. %2").arg(meter_->words(), advice).trimmed(), std::move(buttons));
  } else {
    return overflow_->hide();
  }
  overflow_->show();
}

/// The fewest oldest messages whose deletion makes room, up to the next question; 0: deleting them does not help. A
/// message's share of the tokens is taken to be its share of the text.
int ChatPanel::n_to_drop(qint64 excess) const {
  const app::MessagePath& messages = context_.conversation.messages();
  double characters = 0, freed = 0;
  for (const app::StoredMessage& message : messages) characters += static_cast<double>(message.text.size()) + 1;
  const double wanted = characters * static_cast<double>(excess) / static_cast<double>(std::max<qint64>(1, used_tokens_));
  const std::size_t first = first_to_drop();
  for (std::size_t i = first; i + 1 < messages.size(); ++i) {
    freed += static_cast<double>(messages[i].text.size()) + 1;
    if (freed >= wanted && messages[i + 1].role == "user") return static_cast<int>(i + 1 - first);
  }
  return 0;
}

std::vector<InlineMessage::Button> ChatPanel::overflow_fixes() {
  std::vector<InlineMessage::Button> buttons;
  const qint64 limit = context_.bridge.loaded()->max_model_len, text = used_tokens_ + draft_tokens_;
  const qint64 most = context_.sampling.values().params.max_tokens;
  const qint64 excess = text + reply_reserve(most, limit) - limit;
  if (const int n = n_to_drop(excess); n > 0)
    buttons.push_back({QStringLiteral("drop"),
                       n == 1 ? tr("Delete the oldest message") : tr("Delete the oldest %1 messages").arg(n),
                       [this, n] { drop_oldest(n); }});
  if (reply_reserve(most, limit) > kShortReply && text + kShortReply <= limit)
    buttons.push_back({QStringLiteral("shorter"), tr("Reply with at most %1 tokens").arg(kShortReply), [this] {
                         SamplingValues values = context_.sampling.values();
                         values.params.max_tokens = kShortReply;
                         context_.sampling.set_values(values);
                       }});
  if (context_.bridge.loaded()->info.max_position_embeddings >= limit + excess)
    buttons.push_back({QStringLiteral("raise"), tr("Raise the context…"),
                       [this] { Q_EMIT context_.navigator.show_panel(QStringLiteral("model")); }});
  return buttons;
}

void ChatPanel::drop_oldest(int n) {
  std::vector<std::int64_t> oldest;
  for (int i = 0; i < n; ++i)
    oldest.push_back(context_.conversation.messages()[first_to_drop() + static_cast<std::size_t>(i)].id);
  remove(std::move(oldest));
}

void ChatPanel::queue_count() {
  if (!count_timer_.isActive()) count_timer_.start();
}

void ChatPanel::count() {
  const std::uint64_t number = ++counting_;
  struct Counts {
    qint64 used = 0, all = 0, system = 0;
  };
  std::vector<engine::ChatMessage> messages = context_.conversation.turns();
  const QString draft = composer_->text();
  context_.background.run(
      this,
      [&slot = context_.workbench.models(), messages = std::move(messages), draft = draft.toStdString(),
       role = composer_->role(), completes = context_.bridge.completes()]() mutable {
        Counts counts;
        const auto tokens = [&slot, completes](const std::vector<engine::ChatMessage>& list) -> qint64 {
          const engine::Result<std::int64_t> n =
              list.empty() ? engine::Result<std::int64_t>(0) : app::count_tokens(slot, list, completes);
          return n ? *n : 0;
        };
        counts.used = tokens(messages);
        if (!messages.empty() && messages.front().role == "system") counts.system = tokens({messages.front()});
        messages.push_back({role, draft});
        counts.all = draft.empty() ? counts.used : tokens(messages);
        return counts;
      },
      [this, number](Counts counts) {
        if (number != counting_) return;
        used_tokens_ = counts.used;
        draft_tokens_ = std::max<qint64>(0, counts.all - counts.used);
        composer_->set_token_count(draft_tokens_);
        system_->set_token_count(counts.system);
        refresh_meter();
      });
}

void ChatPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  const int side = (width() - Transcript::column_width(context_.theme, width())) / 2;
  column_->setContentsMargins(side, 0, side, 0);
  findChild<QWidget*>(QStringLiteral("chat.bottom"))->setContentsMargins(side, 0, side, 0);
  prompt_->setContentsMargins(side, 0, side, 0);
}

extern constexpr PanelDescriptor kChatPanel{
    .id = "chat",
    .title = QT_TRANSLATE_NOOP("Panels", "Chat"),
    .icon = "chat",
    .area = PanelArea::page,
    .at_first = true,
    .make = [](const PanelContext& context, QWidget* parent) -> Panel* { return new ChatPanel(context, parent); }};

}  // namespace lathe::ui
