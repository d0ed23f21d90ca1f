// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/chat_export.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QSaveFile>

#include "ui/models/conversation.h"
#include "ui/panels/chat/message_widget.h"

namespace lathe::ui {
namespace {

void warn(QWidget* parent, const QString& title, const QString& words) {
  auto* box = new QMessageBox(QMessageBox::Warning, title, words, QMessageBox::Ok, parent);
  box->setObjectName(QStringLiteral("chat_file_problem"));
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

/// The chats of a file as chats of the history; returns the id of the last.
engine::Result<std::int64_t> add_chats(app::History& history, const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return engine::fail(engine::ErrorCode::internal, file.errorString().toStdString());
  const QByteArray bytes = file.read(static_cast<qint64>(app::kMaxChatFileBytes) + 1);
  LATHE_TRY(const std::vector<app::ReadChat> chats, app::read_chats({bytes.data(), static_cast<std::size_t>(bytes.size())}));
  std::int64_t last = 0;
  for (const app::ReadChat& chat : chats) {
    QString title = title_from(QString::fromStdString(chat.title));
    for (const app::StoredMessage& message : chat.messages)
      if (title.isEmpty() && message.role == "user") title = title_from(QString::fromStdString(message.text));
    if (title.isEmpty()) title = QFileInfo(path).completeBaseName();
    LATHE_TRY(last, history.create_chat(title.toStdString()));
    LATHE_TRY([[maybe_unused]] const std::vector<std::int64_t> ids, history.add_messages(last, 0, chat.messages));
  }
  return last;
}

void import_file(QWidget* parent, const PanelContext& context, const QString& path) {
  context.background.run(
      parent, [&history = context.workbench.history(), path] { return add_chats(history, path); },
      [parent, &context, path](const engine::Result<std::int64_t>& last) {
        Q_EMIT context.conversation.list_changed();
        if (last && *last != 0) return Q_EMIT context.navigator.open_chat(*last);
        warn(parent, MessageWidget::tr("Import chats"),
             MessageWidget::tr("%1 was not imported: %2")
                 .arg(QFileInfo(path).fileName(),
                      last ? MessageWidget::tr("it has no chat") : QString::fromStdString(last.error().message)));
      });
}

}  // namespace

void save_chat(QWidget* parent, const PanelContext& context, const app::ChatFileFormat& format) {
  const Conversation& conversation = context.conversation;
  auto* dialog = new QFileDialog(parent, MessageWidget::tr("Export chat"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("export_dialog"));
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  QString name = conversation.title().isEmpty() ? QStringLiteral("chat") : conversation.title();
  name.replace(QLatin1Char('/'), QLatin1Char('-'));
  dialog->selectFile(name + QLatin1String(format.suffix));
  const QByteArray bytes =
      QByteArray::fromStdString(format.write(conversation.title().toStdString(), conversation.messages()));
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, [parent, bytes](const QString& path) {
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return;
    warn(parent, MessageWidget::tr("Export chat"),
         MessageWidget::tr("%1 was not written: %2").arg(path, file.errorString()));
  });
  dialog->open();
}

void import_chats(QWidget* parent, const PanelContext& context) {
  auto* dialog = new QFileDialog(parent, MessageWidget::tr("Import chats"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("import_dialog"));
  dialog->setFileMode(QFileDialog::ExistingFiles);
  dialog->setNameFilter(MessageWidget::tr("Chats (*.json *.jsonl)"));
  QObject::connect(dialog, &QFileDialog::filesSelected, parent, [parent, &context](const QStringList& files) {
    for (const QString& file : files) import_file(parent, context, file);
  });
  dialog->open();
}

}  // namespace lathe::ui
