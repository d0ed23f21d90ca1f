// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/chat_list_model.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>
#include <utility>

#include "ui/models/counted.h"

namespace lathe::ui {

QString chat_facts(const app::ChatSummary& chat) {
  const QDateTime time = QDateTime::fromMSecsSinceEpoch(chat.updated_unix_ms);
  const qint64 days = time.date().daysTo(QDate::currentDate());
  const QLocale locale;
  QString when = locale.toString(time.date(), QLocale::ShortFormat);
  if (days == 0) when = ChatListModel::tr("today %1").arg(time.time().toString(QStringLiteral("HH:mm")));
  if (days == 1) when = ChatListModel::tr("yesterday %1").arg(time.time().toString(QStringLiteral("HH:mm")));
  return ChatListModel::tr("%1 · %2").arg(
      counted(static_cast<quint64>(chat.n_messages), ChatListModel::tr("message"), ChatListModel::tr("messages")), when);
}

ChatListModel::ChatListModel(app::History& history, Background& background, QObject* parent)
    : QAbstractListModel(parent), history_(history), background_(background) {}

int ChatListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(chats_.size());
}

QVariant ChatListModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const app::ChatSummary& chat = chats_[static_cast<std::size_t>(index.row())];
  const QString title = QString::fromStdString(chat.title);
  if (role == Qt::DisplayRole) return title.isEmpty() ? tr("Untitled") : title;
  if (role == Qt::EditRole) return title;
  if (role == kIdRole) return QVariant::fromValue<qint64>(chat.id);
  const bool is_writing = std::find(writing_.begin(), writing_.end(), chat.id) != writing_.end();
  if (role == kPinnedRole) return chat.pinned;
  if (role == kWritingRole) return is_writing;
  if (role == kFactsRole || role == Qt::AccessibleDescriptionRole || role == Qt::ToolTipRole) {
    const QString facts = is_writing ? tr("Writing a reply") : chat_facts(chat);
    return chat.pinned && role != kFactsRole ? tr("%1 · pinned").arg(facts) : facts;
  }
  return {};
}

Qt::ItemFlags ChatListModel::flags(const QModelIndex& index) const {
  return index.isValid() ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable : Qt::NoItemFlags;
}

bool ChatListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::EditRole || !index.isValid()) return false;
  const QString title = value.toString().simplified();
  app::ChatSummary& chat = chats_[static_cast<std::size_t>(index.row())];
  if (title.isEmpty() || title == QString::fromStdString(chat.title)) return false;
  if (const auto done = history_.rename_chat(chat.id, title.toStdString()); !done) {
    Q_EMIT failed(QString::fromStdString(done.error().message));
    return false;
  }
  chat.title = title.toStdString();
  Q_EMIT dataChanged(index, index);
  Q_EMIT renamed(chat.id, title);
  return true;
}

void ChatListModel::set_search(const QString& words) {
  if (words == search_) return;
  search_ = words;
  reload();
}

void ChatListModel::reload() {
  const std::uint64_t number = ++loading_;
  background_.run(
      this,
      [&history = history_, words = search_.trimmed().toStdString()] {
        return words.empty() ? history.chats() : history.search(words);
      },
      [this, number](std::vector<app::ChatSummary> chats) {
        if (number != loading_) return;
        beginResetModel();
        chats_ = std::move(chats);
        endResetModel();
        Q_EMIT loaded();
      });
}

void ChatListModel::set_writing(std::vector<std::int64_t> chats) {
  if (chats == writing_) return;
  writing_ = std::move(chats);
  if (rowCount() > 0) Q_EMIT dataChanged(index(0), index(rowCount() - 1));
}

void ChatListModel::set_pinned(const QModelIndex& index, bool pinned) {
  if (!index.isValid()) return;
  const auto done = history_.pin_chat(chats_[static_cast<std::size_t>(index.row())].id, pinned);
  if (!done) return Q_EMIT failed(QString::fromStdString(done.error().message));
  reload();
}

void ChatListModel::duplicate(const QModelIndex& index) {
  if (!index.isValid()) return;
  const app::ChatSummary& chat = chats_[static_cast<std::size_t>(index.row())];
  background_.run(
      this,
      [&history = history_, id = chat.id, title = tr("%1 (copy)").arg(QString::fromStdString(chat.title)).toStdString()] {
        return history.copy_chat(id, title);
      },
      [this](const engine::Result<std::int64_t>& copy) {
        if (!copy) return Q_EMIT failed(QString::fromStdString(copy.error().message));
        reload();
        Q_EMIT duplicated(*copy);
      });
}

QModelIndex ChatListModel::index_of(std::int64_t chat) const {
  for (std::size_t i = 0; i < chats_.size(); ++i)
    if (chats_[i].id == chat) return index(static_cast<int>(i));
  return {};
}

}  // namespace lathe::ui
