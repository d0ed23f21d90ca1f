// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/conversation.h"

#include <algorithm>

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
  connect(write_timer_, &QTimer::timeout, this, &Conversation::write_growing);
}

void Conversation::note(const engine::Error& error) { problem_ = QString::fromStdString(error.message); }

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

std::vector<engine::ChatMessage> Conversation::turns(int end) const {
  std::vector<engine::ChatMessage> turns;
  const std::size_t n = end < 0 ? messages_.size() : std::min(messages_.size(), static_cast<std::size_t>(end));
  for (std::size_t i = 0; i < n; ++i) {
    const app::MessageVersion& shown = messages_[i].versions[static_cast<std::size_t>(messages_[i].current)];
    if (messages_[i].role == "assistant" && shown.text.empty()) continue;
    turns.push_back({messages_[i].role, shown.text});
  }
  return turns;
}

void Conversation::start_new() {
  flush();
  if (id_ == 0 && messages_.empty()) return;
  id_ = 0;
  title_.clear();
  messages_.clear();
  Q_EMIT reset();
  Q_EMIT title_changed();
}

bool Conversation::open(std::int64_t id) {
  flush();
  engine::Result<std::vector<app::StoredMessage>> messages = history_.messages(id);
  if (!messages) {
    note(messages.error());
    return false;
  }
  const std::vector<app::ChatSummary> chats = history_.chats();
  const auto found = std::find_if(chats.begin(), chats.end(), [id](const app::ChatSummary& chat) { return chat.id == id; });
  if (found == chats.end()) return false;
  id_ = id;
  title_ = QString::fromStdString(found->title);
  messages_ = std::move(*messages);
  Q_EMIT reset();
  Q_EMIT title_changed();
  return true;
}

void Conversation::rename(const QString& title) {
  const QString word = title.simplified();
  if (id_ == 0 || word.isEmpty() || word == title_) return;
  if (const auto done = history_.rename_chat(id_, word.toStdString()); !done) return note(done.error());
  title_ = word;
  Q_EMIT title_changed();
  Q_EMIT list_changed();
}

bool Conversation::create() {
  if (id_ != 0) return true;
  const engine::Result<std::int64_t> id = history_.create_chat(title_.toStdString());
  if (!id) {
    note(id.error());
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
  // An empty reply is about to be written: a kill before its first word leaves it marked.
  message.versions.push_back({text.toStdString(), {}, role == "assistant" && text.isEmpty()});
  const std::int64_t after = at == messages_.size() ? -1 : at == 0 ? 0 : messages_[at - 1].id;
  const engine::Result<std::int64_t> id = history_.add_message(id_, message, after);
  if (!id) {
    note(id.error());
    return 0;
  }
  message.id = *id;
  messages_.insert(messages_.begin() + static_cast<std::ptrdiff_t>(at), std::move(message));
  Q_EMIT inserted(static_cast<int>(at));
  Q_EMIT list_changed();
  return *id;
}

void Conversation::write(const app::StoredMessage& message) {
  if (const auto done = history_.update_message(id_, message); !done) note(done.error());
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
  write(stored);
  Q_EMIT changed(index);
}

void Conversation::remove(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  if (growing_ == message) flush();
  if (const auto done = history_.delete_message(id_, message); !done) return note(done.error());
  messages_.erase(messages_.begin() + index);
  Q_EMIT removed(index);
  Q_EMIT list_changed();
}

void Conversation::show_version(std::int64_t message, int version) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  if (version < 0 || version >= static_cast<int>(stored.versions.size()) || version == stored.current) return;
  stored.current = version;
  write(stored);
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

void Conversation::drop_empty_version(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  const auto shown = stored.versions.begin() + stored.current;
  if (!shown->text.empty() || stored.versions.size() < 2) return;
  stored.versions.erase(shown);
  stored.current = static_cast<int>(stored.versions.size()) - 1;
  write(stored);
  Q_EMIT changed(index);
}

void Conversation::grow(std::int64_t message, const QString& text) {
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  app::MessageVersion& shown = stored.versions[static_cast<std::size_t>(stored.current)];
  shown.text = text.toStdString();
  shown.partial = true;
  growing_ = message;
  if (!write_timer_->isActive()) write_timer_->start();
}

void Conversation::write_growing() {
  const app::StoredMessage* message = find(growing_);
  if (message == nullptr) return;
  if (writing_) return write_timer_->start();
  writing_ = true;
  background_.run(
      this, [&history = history_, id = id_, copy = *message] { return history.update_message(id, copy); },
      [this](engine::Result<void> done) {
        writing_ = false;
        if (!done) note(done.error());
      });
}

void Conversation::finish(std::int64_t message, const QString& text, const std::string& footer_json, bool partial) {
  grow(message, text);
  const int index = index_of(message);
  if (index < 0) return;
  app::StoredMessage& stored = messages_[static_cast<std::size_t>(index)];
  app::MessageVersion& shown = stored.versions[static_cast<std::size_t>(stored.current)];
  shown.footer_json = footer_json;
  shown.partial = partial;
  flush();
  Q_EMIT changed(index);
  Q_EMIT list_changed();
}

void Conversation::flush() {
  write_timer_->stop();
  const app::StoredMessage* message = find(growing_);
  growing_ = 0;
  if (message == nullptr) return;
  if (writing_) background_.wait();  // an older text must not be written after this one
  write(*message);
}

std::int64_t Conversation::branch(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return 0;
  const engine::Result<std::int64_t> id = history_.create_chat(tr("%1 (branch)").arg(title_).toStdString());
  if (!id) {
    note(id.error());
    return 0;
  }
  for (int i = 0; i <= index; ++i) {
    app::StoredMessage copy = messages_[static_cast<std::size_t>(i)];
    copy.id = 0;
    if (const auto done = history_.add_message(*id, copy, -1); !done) note(done.error());
  }
  Q_EMIT list_changed();
  return *id;
}

}  // namespace lathe::ui
