// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/chat_export.h"

#include <QFileDialog>
#include <QMessageBox>
#include <QSaveFile>

#include "engine/api/json.h"
#include "ui/panels/chat/message_widget.h"

namespace lathe::ui {

QByteArray chat_as_markdown(const Conversation& conversation) {
  QString text = QStringLiteral("# %1\n").arg(conversation.title());
  for (const app::StoredMessage& message : conversation.messages())
    text += QStringLiteral("\n## %1\n\n%2\n").arg(role_word(message.role), conversation.shown_text(message));
  return text.toUtf8();
}

QByteArray chat_as_json(const Conversation& conversation) {
  engine::OrderedJson messages = engine::OrderedJson::array();
  for (const engine::ChatMessage& turn : conversation.turns())
    messages.push_back(engine::OrderedJson{{"role", turn.role}, {"content", turn.content}});
  return QByteArray::fromStdString(engine::dump_json(engine::OrderedJson{{"messages", messages}}, 2)) + '\n';
}

void save_chat(QWidget* parent, const Conversation& conversation, bool markdown) {
  auto* dialog = new QFileDialog(parent, MessageWidget::tr("Export chat"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setObjectName(QStringLiteral("export_dialog"));
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  QString name = conversation.title().isEmpty() ? QStringLiteral("chat") : conversation.title();
  name.replace(QLatin1Char('/'), QLatin1Char('-'));
  dialog->selectFile(name + (markdown ? QStringLiteral(".md") : QStringLiteral(".json")));
  const QByteArray bytes = markdown ? chat_as_markdown(conversation) : chat_as_json(conversation);
  QObject::connect(dialog, &QFileDialog::fileSelected, parent, [parent, bytes](const QString& path) {
    QSaveFile file(path);
    if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return;
    auto* box =
        new QMessageBox(QMessageBox::Warning, MessageWidget::tr("Export chat"),
                        MessageWidget::tr("%1 was not written: %2").arg(path, file.errorString()), QMessageBox::Ok, parent);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
  });
  dialog->open();
}

}  // namespace lathe::ui
