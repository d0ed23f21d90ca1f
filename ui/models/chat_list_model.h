// SPDX-License-Identifier: GPL-3.0-or-later
// ChatListModel: the chats of the history, newest first, or the chats that a search finds.
#pragma once

#include <QAbstractListModel>
#include <vector>

#include "app/api/history.h"
#include "ui/bridge/background.h"

namespace lathe::ui {

/// Thread: GUI; the history is read in the background.
class ChatListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Roles { kIdRole = Qt::UserRole, kFactsRole, kPinnedRole, kWritingRole };
  ChatListModel(app::History& history, Background& background, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;  ///< renames the chat
  Qt::ItemFlags flags(const QModelIndex& index) const override;

  void set_search(const QString& words);
  void reload();
  /// Sets the chats that replies are written into.
  void set_writing(std::vector<std::int64_t> chats);
  void set_pinned(const QModelIndex& index, bool pinned);
  void duplicate(const QModelIndex& index);
  QModelIndex index_of(std::int64_t chat) const;

 Q_SIGNALS:
  void loaded();
  void renamed(qint64 chat, const QString& title);
  void duplicated(qint64 copy);
  void failed(const QString& problem);

 private:
  app::History& history_;
  Background& background_;
  std::vector<app::ChatSummary> chats_;
  std::vector<std::int64_t> writing_;
  QString search_;
  std::uint64_t loading_ = 0;
};

/// "3 messages · today 14:02"
QString chat_facts(const app::ChatSummary& chat);

}  // namespace lathe::ui
