// SPDX-License-Identifier: GPL-3.0-or-later
// TestRequest: one streamed question to the running server over a real socket, with its answer shown as it arrives.
#pragma once

#include <QTcpSocket>
#include <QTimer>

#include "app/api/server.h"

namespace lathe::ui {

class TestRequest : public QObject {
  Q_OBJECT
 public:
  explicit TestRequest(QObject* parent = nullptr);
  /// Ends a request that still runs and sends a new one.
  void send(const app::ServerStatus& status, const std::string& api_key, const QString& question);
  void stop();
  bool running() const { return socket_.state() != QAbstractSocket::UnconnectedState; }

 Q_SIGNALS:
  void received(const QString& text);  ///< text of the answer as it arrives, including the header
  void ended(const QString& error);    ///< empty error: the server closed the connection after its answer

 private:
  QTcpSocket socket_;
  QTimer timeout_;
  QByteArray request_;
};

}  // namespace lathe::ui
