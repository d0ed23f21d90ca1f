// SPDX-License-Identifier: GPL-3.0-or-later
// FirstWindow: makes the program's window the only one of its profile. A later program hands its arguments to the first.
// Source: unix(7) for the longest name of a socket.
#pragma once

#include <QLocalServer>
#include <QLockFile>
#include <QObject>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/result.h"

namespace lathe::ui {

/// Arguments of a program that another one may open: see app::WindowArguments.
struct OpenRequest {
  std::string model;  ///< empty: none
  std::vector<std::pair<std::string, std::string>> options;
};

/// Thread: GUI. Two programs on one profile would overwrite each other's settings.
class FirstWindow : public QObject {
  Q_OBJECT
 public:
  /// `data_folder`: folder of the profile that holds history.db.
  explicit FirstWindow(const std::string& data_folder);

  /// Claims the profile for this process. False: another process has it. A lock that a killed process left behind does not
  /// count, nor does a folder in which no lock can be made.
  bool claim();
  /// Sends `request` to the process that has the profile, and waits until its window has taken it. A model's relative path
  /// is made absolute. Errors: unavailable, if the process does not answer within 10 s.
  engine::Result<void> hand_over(OpenRequest request);

 Q_SIGNALS:
  /// Another program wants this to be opened here.
  void asked(const lathe::ui::OpenRequest& request);

 private:
  void answer(QLocalSocket* socket);

  QString socket_name_;
  QLockFile lock_;
  std::unique_ptr<QLocalServer> server_;
};

}  // namespace lathe::ui
