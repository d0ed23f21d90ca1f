// SPDX-License-Identifier: GPL-3.0-or-later
// DialectRows: the protocols that the server speaks, one row each: switch, address, state, requests, cURL.
#pragma once

#include <QGridLayout>
#include <QWidget>
#include <vector>

#include "app/api/server.h"
#include "ui/theme/theme.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/switch.h"

namespace lathe::ui {

class DialectRows : public QWidget {
  Q_OBJECT
 public:
  DialectRows(const Theme& theme, QWidget* parent);
  /// `error` belongs to the whole listener and is shown in every row that is on. `answers`: false if the server runs without
  /// a model.
  void show_dialects(const std::vector<app::DialectState>& dialects, app::ServerState state, const QString& error,
                     int free_port, bool answers = true);

 Q_SIGNALS:
  void switched(const QString& dialect, bool on);
  void curl_wanted(const QString& curl);
  void port_wanted(int port);

 private:
  struct Row {
    Switch* on;
    QLabel* name;
    QLabel* address;
    QLabel* failed;  ///< the error icon
    QLabel* state;
    QPushButton* fix;
    QLabel* requests;
    QPushButton* curl;
    QString curl_text;
  };
  void add_headings();
  Row& row_for(std::size_t index, const QString& name);
  void show_state(Row& row, const app::DialectState& dialect, app::ServerState state, const QString& error, int free_port);

  const Theme& theme_;
  QGridLayout* grid_;
  std::vector<Row> rows_;
  bool answers_ = true;
};

}  // namespace lathe::ui
