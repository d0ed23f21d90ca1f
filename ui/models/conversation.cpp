// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/conversation.h"

#include <algorithm>
#include <utility>

#include "ui/models/reply_writer.h"

namespace lathe::ui {
namespace {

constexpr int kWriteEveryMs = 500;
constexpr int kTitleLength = 60;

QString title_from(const QString& text) {
  QString line = text.trimmed().section(QLatin1Char('\n'), 0, 0).simplified();
  if (line.size() <= kTitleLength) return line;
  const qsizetype space = line.lastIndexOf(QLatin1Char(' '), kTitleLength);
  return line.left(space > kTitleLength / 2 ? space : kTitleLength) + QStringLiteral("…");
}

}  // namespace

Conversation::Conversation(app::History& history, Background& background, QObject* parent)
    : QObject(parent), history_(history), background_(background), write_timer_(new QTimer(this)) {
  write_timer_->setSingleShot(true);
  write_timer_->setInterval(kWriteEveryMs);
  connect(write_timer_, &QTimer::timeout, this, &Conversation::write_queued);
}

void Conversation::set_problem(const QString& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  Q_EMIT problem_changed();
}

int Conversation::index_of(std::int64_t message) const {
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (messages_[i].id == message) return static_cast<int>(i);
  return -1;
}

const app::StoredMessage* Conversation::find(std::int64_t message) const {
  const int index = index_of(message);
  return index < 0 ? nullptr : &messages_[static_cast<std::size_t>(index)];
}

std::int64_t Conversation::last_of(const std::string& role) const {
  for (auto it = messages_.rbegin(); it != messages_.rend(); ++it)
    if (it->role == role) return it->id;
  return 0;
}

QString Conversation::shown_text(const app::StoredMessage& message) const {
  return QString::fromStdString(message.versions[static_cast<std::size_t>(message.current)].text);
}

bool Conversation::is_blank(const app::StoredMessage& message) const {
  const app::MessageVersion& shown = message.versions[static_cast<std::size_t>(message.current)];
  return shown.text.empty() && footer_of(shown.footer_json).reasoning.isEmpty();
}

std::vector<engine::ChatMessage> Conversation::turns(int end) const {
  std::vector<engine::ChatMessage> turns;
  const std::size_t n = end < 0 ? messages_.size() : std::min(messages_.size(), static_cast<std::size_t>(end));
  for (std::size_t i = 0; i < n; ++i) {
    const app::MessageVersion& shown = messages_[i].versions[static_cast<std::size_t>(messages_[i].current)];
    if (messages_[i].role == "assistant" && is_blank(messages_[i])) continue;
    // Whether earlier reasoning belongs into the prompt is the chat template's choice.
    turns.push_back({.role = messages_[i].role,
                     .content = shown.text,
                     .reasoning = footer_of(shown.footer_json).reasoning.toStdString()});
  }
  return turns;
}

void Conversation::start_new() {
  flush();
  if (id_ == 0 && messages_.empty()) return;
  id_ = 0;
  title_.clear();
  messages_.clear();
  unwritten_.clear();
  Q_EMIT reset();
  Q_EMIT title_changed();
}

bool Conversation::open(std::int64_t id) {
  flush();
  engine::Result<std::vector<app::StoredMessage>> messages = history_.messages(id);
  if (!messages) {
    report(messages.error());
    return false;
  }
  const std::vector<app::ChatSummary> chats = history_.chats();
  const auto found = std::find_if(chats.begin(), chats.end(), [id](const app::ChatSummary& chat) { return chat.id == id; });
  if (found == chats.end()) return false;
  id_ = id;
  title_ = QString::fromStdString(found->title);
  messages_ = std::move(*messages);
  unwritten_.clear();
  Q_EMIT reset();
  Q_EMIT title_changed();
  return true;
}

void Conversation::rename(const QString& title) {
  const QString word = title.simplified();
  if (id_ == 0 || word.isEmpty() || word == title_) return;
  if (const auto done = history_.rename_chat(id_, word.toStdString()); !done) return report(done.error());
  note_success();
  title_ = word;
  Q_EMIT title_changed();
  Q_EMIT list_changed();
}

bool Conversation::create() {
  if (id_ != 0) return true;
  const engine::Result<std::int64_t> id = history_.create_chat(title_.toStdString());
  if (!id) {
    report(id.error());
    return false;
  }
  id_ = *id;
  Q_EMIT title_changed();
  return true;
}

std::int64_t Conversation::insert(const std::string& role, const QString& text, int index) {
  if (title_.isEmpty() && role == "user") {
    title_ = title_from(text);
    if (id_ != 0) static_cast<void>(history_.rename_chat(id_, title_.toStdString()));
    Q_EMIT title_changed();
  }
  if (!create()) return 0;
  const std::size_t at = index < 0 ? messages_.size() : std::min(messages_.size(), static_cast<std::size_t>(index));
  app::StoredMessage message;
  message.role = role;
  // Marks an empty reply as partial: it is about to be written, and a kill before its first word leaves the mark.
  message.versions.push_back({text.toStdString(), {}, role == "assistant" && text.isEmpty()});
  const std::int64_t after = at == messages_.size() ? -1 : at == 0 ? 0 : messages_[at - 1].id;
  const engine::Result<std::int64_t> id = history_.add_message(id_, message, after);
  if (!id) {
    report(id.error());
    return 0;
  }
  message.id = *id;
  messages_.insert(messages_.begin() + static_cast<std::ptrdiff_t>(at), std::move(message));
  note_success();
  Q_EMIT inserted(static_cast<int>(at));
  Q_EMIT list_changed();
  return *id;
}

void Conversation::queue_write(std::int64_t message) {
  unwritten_.insert(message);
  write_queued();
}

void Conversation::write_queued() {
  if (!in_flight_.empty() || unwritten_.empty()) return;
  write_timer_->stop();
  in_flight_ = std::exchange(unwritten_, {});
  std::vector<app::StoredMessage> copies;
  for (const std::int64_t message : in_flight_)
    if (const app::StoredMessage* stored = find(message)) copies.push_back(*stored);
  background_.run(
      this,
      [&history = history_, id = id_, copies = std::move(copies)]() -> engine::Result<void> {
        for (const app::StoredMessage& copy : copies) LATHE_TRY_VOID(history.update_message(id, copy));
        return {};
      },
      [this, number = ++write_number_](const engine::Result<void>& done) {
        if (number == write_number_) take_outcome(done);
      });
}

/// Queues again the messages that could not be saved, for the next write.
void Conversation::take_outcome(const engine::Result<void>& done) {
  const std::set<std::int64_t> written = std::exchange(in_flight_, {});
  if (!done) {
    unwritten_.insert(written.begin(), written.end());
    return report(done.error());
  }
  if (unwritten_.empty() && std::exchange(list_stale_, false)) Q_EMIT list_changed();
  note_success();
}

/// Clears the problem only when everything is saved.
void Conversation::note_success() {
  if (unwritten_.empty()) return set_problem({});
  if (!write_timer_->isActive()) write_queued();
}

void Conversation::edit(std::int64_t message, const QString& text) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  app::MessageVersion& shown = stored.versions[static_cast<std::size_t>(stored.current)];
  if (shown.text == text.toStdString()) return;
  shown.text = text.toStdString();
  shown.footer_json.clear();
  shown.partial = false;
  queue_write(message);
  Q_EMIT changed(index);
}

void Conversation::remove(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  if (in_flight_.contains(message)) flush();
  if (const auto done = history_.delete_message(id_, message); !done) return report(done.error());
  messages_.erase(messages_.begin() + index);
  unwritten_.erase(message);
  note_success();
  Q_EMIT removed(index);
  Q_EMIT list_changed();
}

void Conversation::show_version(std::int64_t message, int version) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  if (version < 0 || version >= static_cast<int>(stored.versions.size()) || version == stored.current) return;
  stored.current = version;
  queue_write(message);
  Q_EMIT changed(index);
}

void Conversation::add_version(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  stored.versions.push_back({{}, {}, true});
  stored.current = static_cast<int>(stored.versions.size()) - 1;
  Q_EMIT changed(index);
}

void Conversation::drop_empty_version(std::int64_t message, int shown) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  const auto empty = stored.versions.begin() + stored.current;
  if (!empty->text.empty() || stored.versions.size() < 2) return;
  stored.versions.erase(empty);
  stored.current = std::clamp(shown, 0, static_cast<int>(stored.versions.size()) - 1);
  queue_write(message);
  Q_EMIT changed(index);
}

void Conversation::grow(std::int64_t message, const QString& text) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  app::MessageVersion& shown = stored.versions[static_cast<std::size_t>(stored.current)];
  shown = {text.toStdString(), {}, true};
  unwritten_.insert(message);
  if (!write_timer_->isActive()) write_timer_->start();
}

void Conversation::finish(std::int64_t message, const QString& text, const std::string& footer_json, bool partial) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  app::MessageVersion& shown = stored.versions[static_cast<std::size_t>(stored.current)];
  shown = {text.toStdString(), footer_json, partial};
  list_stale_ = true;
  queue_write(message);
  Q_EMIT changed(index);
}

void Conversation::flush() {
  write_timer_->stop();
  if (!in_flight_.empty()) background_.wait();
  unwritten_.merge(std::exchange(in_flight_, {}));  // the outcome of these writes is not known yet
  ++write_number_;
  std::set<std::int64_t> failed;
  for (const std::int64_t message : unwritten_) {
    const app::StoredMessage* stored = find(message);
    const auto done = stored != nullptr ? history_.update_message(id_, *stored) : engine::Result<void>();
    if (!done) failed.insert(message), report(done.error());
  }
  const bool any = !unwritten_.empty();
  unwritten_ = std::move(failed);
  if (any && unwritten_.empty()) set_problem({});
  if (any && std::exchange(list_stale_, false)) Q_EMIT list_changed();
}

void Conversation::branch(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  std::vector<app::StoredMessage> copies(messages_.begin(), messages_.begin() + index + 1);
  background_.run(
      this,
      [&history = history_, title = tr("%1 (branch)").arg(title_).toStdString(),
       copies = std::move(copies)]() mutable -> engine::Result<std::int64_t> {
        LATHE_TRY(const std::int64_t id, history.create_chat(title));
        for (app::StoredMessage& copy : copies) {
          copy.id = 0;
          LATHE_TRY_VOID(history.add_message(id, copy, -1));
        }
        return id;
      },
      [this](const engine::Result<std::int64_t>& id) {
        if (!id) return report(id.error());
        note_success();
        Q_EMIT list_changed();
        Q_EMIT branched(*id);
      });
}

}  // namespace lathe::ui
