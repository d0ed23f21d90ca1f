// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/conversation.h"

#include <algorithm>
#include <utility>

#include "ui/models/reply_writer.h"

namespace lathe::ui {
namespace {

constexpr int kWriteEveryMs = 500;
constexpr int kTitleLength = 60;

}  // namespace

QString title_from(const QString& text) {
  QString line = text.trimmed().section(QLatin1Char('\n'), 0, 0).simplified();
  if (line.size() <= kTitleLength) return line;
  const qsizetype space = line.lastIndexOf(QLatin1Char(' '), kTitleLength);
  return line.left(space > kTitleLength / 2 ? space : kTitleLength) + QStringLiteral("…");
}

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

std::int64_t Conversation::last_of(const std::string& role) const {
  for (std::size_t i = messages().size(); i-- > 0;)
    if (messages()[i].role == role) return messages()[i].id;
  return 0;
}

bool Conversation::is_blank(const app::StoredMessage& message) const {
  return message.text.empty() && footer_of(message.footer_json).reasoning.isEmpty();
}

std::vector<engine::ChatMessage> Conversation::turns(int end) const {
  std::vector<engine::ChatMessage> turns;
  const std::size_t n = end < 0 ? messages().size() : std::min(messages().size(), static_cast<std::size_t>(end));
  for (std::size_t i = 0; i < n; ++i) {
    const app::StoredMessage& message = messages()[i];
    if (message.role == "assistant" && is_blank(message)) continue;
    // Whether earlier reasoning belongs into the prompt is the chat template's choice.
    turns.push_back({.role = message.role,
                     .content = message.text,
                     .reasoning = footer_of(message.footer_json).reasoning.toStdString()});
  }
  return turns;
}

void Conversation::start_new() {
  flush();
  if (id_ == 0 && empty()) return;
  id_ = 0;
  title_.clear();
  tree_ = {};
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
  tree_ = app::MessageTree(std::move(*messages));
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

void Conversation::name_by(const std::string& role, const QString& text) {
  if (!title_.isEmpty() || role != "user") return;
  title_ = title_from(text);
  if (id_ != 0) static_cast<void>(history_.rename_chat(id_, title_.toStdString()));
  Q_EMIT title_changed();
}

/// Changes the tree and reports from where on the path is another; `all`: also where it is the same.
void Conversation::change_tree(const std::function<void()>& change, bool all) {
  std::vector<std::int64_t> before;
  for (const app::StoredMessage& message : messages()) before.push_back(message.id);
  change();
  std::size_t from = 0;
  while (from < before.size() && from < messages().size() && before[from] == messages()[from].id) ++from;
  if (all) from = 0;
  if (all || from < before.size() || from < messages().size()) Q_EMIT path_changed(static_cast<int>(from));
}

std::int64_t Conversation::added(const engine::Result<std::int64_t>& id, const std::function<void(std::int64_t)>& add) {
  if (!id) {
    report(id.error());
    return 0;
  }
  note_success();
  change_tree([&] { add(*id); });
  Q_EMIT list_changed();
  return *id;
}

std::int64_t Conversation::insert(const std::string& role, const QString& text) {
  return insert_after(tree_.tail(), role, text);
}

std::int64_t Conversation::insert_first(const std::string& role, const QString& text) {
  name_by(role, text);
  if (!create()) return 0;
  app::StoredMessage message = app::new_message(role, text.toStdString(), 0);
  return added(history_.insert_first(id_, message), [&](std::int64_t id) {
    message.id = id;
    tree_.add_first(message);
  });
}

std::int64_t Conversation::insert_after(std::int64_t parent, const std::string& role, const QString& text) {
  name_by(role, text);
  if (!create()) return 0;
  app::StoredMessage message = app::new_message(role, text.toStdString(), parent);
  // Marks an empty reply as partial: it is about to be written, and a kill before its first word leaves the mark.
  message.partial = role == "assistant" && text.isEmpty();
  return added(history_.add_message(id_, message), [&](std::int64_t id) {
    message.id = id;
    tree_.add(message);
  });
}

std::int64_t Conversation::add_version(std::int64_t message) {
  const app::StoredMessage* stored = find(message);
  return stored == nullptr ? 0 : insert_after(stored->parent, stored->role, QString());
}

std::int64_t Conversation::edit(std::int64_t message, const QString& text) {
  const int index = index_of(message);
  if (index < 0) return 0;
  const app::StoredMessage& stored = messages()[static_cast<std::size_t>(index)];
  if (stored.text == text.toStdString()) return message;
  std::vector<app::StoredMessage> chain = {app::new_message(stored.role, text.toStdString(), stored.parent)};
  if (stored.role == "system")
    for (std::size_t i = static_cast<std::size_t>(index) + 1; i < messages().size(); ++i) chain.push_back(messages()[i]);
  const engine::Result<std::vector<std::int64_t>> ids = history_.add_messages(id_, stored.parent, chain);
  if (!ids) {
    report(ids.error());
    return 0;
  }
  note_success();
  change_tree([&] {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      chain[i].id = (*ids)[i];
      if (i > 0) chain[i].parent = (*ids)[i - 1];
      tree_.add(std::move(chain[i]));
    }
  });
  Q_EMIT list_changed();
  return ids->front();
}

void Conversation::show_version(std::int64_t message, int version) {
  const std::vector<std::int64_t> all = versions(message);
  if (version < 0 || version >= static_cast<int>(all.size())) return;
  const std::int64_t chosen = all[static_cast<std::size_t>(version)];
  if (index_of(chosen) >= 0) return;
  const engine::Result<std::int64_t> rank = history_.show_message(id_, chosen);
  if (!rank) return report(rank.error());
  note_success();
  change_tree([&] { tree_.set_rank(chosen, *rank); });
}

bool Conversation::set_deleted(std::int64_t chat, const std::vector<std::int64_t>& messages, bool deleted) {
  // A text that is written after the mark would be found by the search again.
  flush();
  if (const auto done = history_.delete_messages(chat, messages, deleted); !done) {
    report(done.error());
    return false;
  }
  note_success();
  if (chat == id_)
    change_tree(
        [&] {
          for (const std::int64_t message : messages) tree_.set_deleted(message, deleted);
        },
        true);
  Q_EMIT list_changed();
  return true;
}

bool Conversation::set_chat_deleted(std::int64_t chat, bool deleted) {
  flush();
  if (const auto done = history_.delete_chat(chat, deleted); !done) {
    report(done.error());
    return false;
  }
  note_success();
  if (deleted && chat == id_) start_new();
  Q_EMIT list_changed();
  return true;
}

void Conversation::set_text(std::int64_t chat, app::StoredMessage message) {
  if (chat == id_) tree_.set_text(message.id, message.text, message.footer_json, message.partial);
  const std::int64_t id = message.id;
  unwritten_.insert_or_assign(id, Write{chat, std::move(message)});
}

void Conversation::grow(std::int64_t chat, std::int64_t message, const QString& text) {
  app::StoredMessage stored = app::new_message({}, text.toStdString(), 0);
  stored.id = message;
  stored.partial = true;
  set_text(chat, std::move(stored));
  if (!write_timer_->isActive()) write_timer_->start();
}

void Conversation::finish(std::int64_t chat, std::int64_t message, const QString& text, const std::string& footer_json,
                          bool partial) {
  app::StoredMessage stored = app::new_message({}, text.toStdString(), 0);
  stored.id = message;
  stored.footer_json = footer_json;
  stored.partial = partial;
  list_stale_ = true;
  set_text(chat, std::move(stored));
  write_queued();
  if (const int index = index_of(message); chat == id_ && index >= 0) Q_EMIT changed(index);
}

bool Conversation::discard(std::int64_t chat, std::int64_t message) {
  flush();
  if (const auto done = history_.erase_message(chat, message); !done) return false;
  if (chat == id_) change_tree([&] { tree_.erase(message); });
  Q_EMIT list_changed();
  return true;
}

void Conversation::write_queued() {
  if (!in_flight_.empty() || unwritten_.empty()) return;
  write_timer_->stop();
  in_flight_ = std::exchange(unwritten_, {});
  background_.run(
      this,
      [&history = history_, writes = in_flight_]() -> engine::Result<void> {
        for (const auto& [id, write] : writes) LATHE_TRY_VOID(history.update_message(write.chat, write.message));
        return {};
      },
      [this, number = ++write_number_](const engine::Result<void>& done) {
        if (number == write_number_) take_outcome(done);
      });
}

/// Queues again the texts that could not be saved, for the next write, unless there is a newer one.
void Conversation::take_outcome(const engine::Result<void>& done) {
  std::map<std::int64_t, Write> written = std::exchange(in_flight_, {});
  if (!done) {
    unwritten_.merge(std::move(written));
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

void Conversation::flush() {
  write_timer_->stop();
  if (!in_flight_.empty()) background_.wait();
  unwritten_.merge(std::exchange(in_flight_, {}));  // the outcome of these writes is not known yet
  ++write_number_;
  std::map<std::int64_t, Write> failed;
  const bool any = !unwritten_.empty();
  for (auto& [id, write] : std::exchange(unwritten_, {})) {
    const auto done = history_.update_message(write.chat, write.message);
    if (!done) failed.emplace(id, std::move(write)), report(done.error());
  }
  unwritten_ = std::move(failed);
  if (any && unwritten_.empty()) set_problem({});
  if (any && std::exchange(list_stale_, false)) Q_EMIT list_changed();
}

void Conversation::branch(std::int64_t message) {
  const int index = index_of(message);
  if (index < 0) return;
  std::vector<app::StoredMessage> copies;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(index); ++i) copies.push_back(messages()[i]);
  background_.run(
      this,
      [&history = history_, title = tr("%1 (branch)").arg(title_).toStdString(),
       copies = std::move(copies)]() -> engine::Result<std::int64_t> {
        LATHE_TRY(const std::int64_t id, history.create_chat(title));
        LATHE_TRY([[maybe_unused]] const std::vector<std::int64_t> ids, history.add_messages(id, 0, copies));
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
