// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/serve/test_request.h"

#include "engine/api/json.h"
#include "ui/panels/serve/server_settings.h"

namespace lathe::ui {
namespace {

constexpr int kTimeoutMs = 30'000;

QByteArray request_bytes(const app::ServerStatus& status, const std::string& api_key, const QString& question) {
  const engine::Json body{
      {"messages", {{{"role", "user"}, {"content", question.toStdString()}}}}, {"max_tokens", 64}, {"stream", true}};
  const QByteArray text = QByteArray::fromStdString(engine::dump_json(body));
  QByteArray request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: " + authority(status).toUtf8() +
      "\r\nUser-Agent: Lathe test\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
      QByteArray::number(text.size()) + "\r\n";
  if (!api_key.empty()) request += "Authorization: Bearer " + QByteArray::fromStdString(api_key) + "\r\n";
  return request + "\r\n" + text;
}

}  // namespace

TestRequest::TestRequest(QObject* parent) : QObject(parent) {
  timeout_.setSingleShot(true);
  timeout_.setInterval(kTimeoutMs);
  connect(&socket_, &QTcpSocket::connected, this, [this] { socket_.write(request_); });
  connect(&socket_, &QTcpSocket::readyRead, this, [this] { Q_EMIT received(QString::fromUtf8(socket_.readAll())); });
  connect(&socket_, &QTcpSocket::disconnected, this, [this] {
    timeout_.stop();
    Q_EMIT ended({});
  });
  connect(&socket_, &QTcpSocket::errorOccurred, this, [this](QAbstractSocket::SocketError error) {
    if (error == QAbstractSocket::RemoteHostClosedError) return;
    timeout_.stop();
    Q_EMIT ended(socket_.errorString());
  });
  connect(&timeout_, &QTimer::timeout, this, [this] {
    stop();
    Q_EMIT ended(tr("no answer within %1 s").arg(kTimeoutMs / 1000));
  });
}

void TestRequest::send(const app::ServerStatus& status, const std::string& api_key, const QString& question) {
  stop();
  request_ = request_bytes(status, api_key, question);
  timeout_.start();
  // The brackets of an IPv6 address belong in the header, not in the address to connect to.
  QString host = authority(status).section(QLatin1Char(':'), 0, -2);
  socket_.connectToHost(host.remove(QLatin1Char('[')).remove(QLatin1Char(']')), status.port);
}

void TestRequest::stop() {
  timeout_.stop();
  const QSignalBlocker quiet(socket_);
  socket_.abort();
}

}  // namespace lathe::ui
