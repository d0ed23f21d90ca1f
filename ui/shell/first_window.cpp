// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/first_window.h"

#include <fmt/format.h>

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalSocket>
#include <QStandardPaths>
#include <optional>

namespace lathe::ui {
namespace {

constexpr qsizetype kLongestSocketName = 100;  // of 107 bytes
constexpr qint64 kMostRequestBytes = 1 << 20;
constexpr int kConnectMs = 3'000, kAnswerMs = 10'000;
const QByteArray kTaken = "ok\n";

QString folder_of(const std::string& data_folder) {
  const QString folder = QDir::cleanPath(QDir(QString::fromStdString(data_folder)).absolutePath());
  QDir().mkpath(folder);
  return folder;
}

/// Path of the socket: in the profile, or, if that path is too long for a socket, in the user's folder of the session.
QString socket_in(const QString& folder) {
  const QString path = folder + QStringLiteral("/window.socket");
  if (path.toLocal8Bit().size() <= kLongestSocketName) return path;
  const QByteArray hash = QCryptographicHash::hash(folder.toUtf8(), QCryptographicHash::Sha1).toHex().left(16);
  return QStandardPaths::writableLocation(QStandardPaths::RuntimeLocation) + QStringLiteral("/lathe-") +
         QString::fromLatin1(hash);
}

QByteArray request_line(const OpenRequest& request) {
  QJsonArray options;
  for (const auto& [name, value] : request.options)
    options.append(QJsonArray{QString::fromStdString(name), QString::fromStdString(value)});
  const QJsonObject object{{QStringLiteral("model"), QString::fromStdString(request.model)},
                           {QStringLiteral("options"), options}};
  return QJsonDocument(object).toJson(QJsonDocument::Compact) + '\n';
}

std::optional<OpenRequest> parse_request(const QByteArray& line) {
  const QJsonDocument document = QJsonDocument::fromJson(line);
  if (!document.isObject()) return std::nullopt;
  OpenRequest request;
  request.model = document[QStringLiteral("model")].toString().toStdString();
  for (const QJsonValue& pair : document[QStringLiteral("options")].toArray())
    request.options.emplace_back(pair[0].toString().toStdString(), pair[1].toString().toStdString());
  return request;
}

}  // namespace

FirstWindow::FirstWindow(const std::string& data_folder)
    : socket_name_(socket_in(folder_of(data_folder))), lock_(folder_of(data_folder) + QStringLiteral("/window.lock")) {
  lock_.setStaleLockTime(0);  // only the end of its process makes a lock stale
}

bool FirstWindow::claim() {
  if (!lock_.tryLock(0) && lock_.error() == QLockFile::LockFailedError) return false;
  QLocalServer::removeServer(socket_name_);  // a killed process left it
  server_ = std::make_unique<QLocalServer>();
  server_->setSocketOptions(QLocalServer::UserAccessOption);
  connect(server_.get(), &QLocalServer::newConnection, this, [this] {
    while (QLocalSocket* socket = server_->nextPendingConnection()) {
      connect(socket, &QLocalSocket::readyRead, this, [this, socket] { answer(socket); });
      connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
      answer(socket);
    }
  });
  server_->listen(socket_name_);
  return true;
}

void FirstWindow::answer(QLocalSocket* socket) {
  if (!socket->canReadLine()) {
    if (socket->bytesAvailable() > kMostRequestBytes) socket->abort();
    return;
  }
  const std::optional<OpenRequest> request = parse_request(socket->readLine(kMostRequestBytes));
  if (!request) return socket->abort();
  socket->write(kTaken);
  socket->flush();
  Q_EMIT asked(*request);
}

engine::Result<void> FirstWindow::hand_over(OpenRequest request) {
  const QFileInfo file(QString::fromStdString(request.model));
  if (!request.model.empty() && file.exists()) request.model = file.absoluteFilePath().toStdString();
  QLocalSocket socket;
  socket.connectToServer(socket_name_);
  if (socket.waitForConnected(kConnectMs)) {
    socket.write(request_line(request));
    socket.waitForBytesWritten(kConnectMs);
    if (socket.waitForReadyRead(kAnswerMs) && socket.readAll() == kTaken) return {};
  }
  qint64 pid = 0;
  QString host, program;
  lock_.getLockInfo(&pid, &host, &program);
  return engine::fail(
      engine::ErrorCode::unavailable,
      fmt::format("a window with this profile is open already (process {}), and it does not answer; end that "
                  "process, or open another profile with --profile-dir FOLDER",
                  pid));
}

}  // namespace lathe::ui
