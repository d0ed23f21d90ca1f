// SPDX-License-Identifier: GPL-3.0-or-later
// Background: work that would block the GUI thread, with its result delivered back on it.
#pragma once

#include <QCoreApplication>
#include <QMetaObject>
#include <QPointer>
#include <QThreadPool>
#include <memory>
#include <type_traits>
#include <utility>

namespace lathe::ui {

/// Thread: run() from the GUI. Waits for its work when destroyed, so work may refer to what outlives it.
class Background {
 public:
  Background() { pool_.setMaxThreadCount(2); }
  ~Background() {
    pool_.clear();
    pool_.waitForDone();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Calls `work()` on a worker, then `done(result)` on the GUI thread unless `receiver` is gone by then.
  template <class Work, class Done>
  void run(QObject* receiver, Work work, Done done) {
    pool_.start([receiver = QPointer<QObject>(receiver), work = std::move(work), done = std::move(done)]() mutable {
      auto result = std::make_shared<std::invoke_result_t<Work>>(work());
      QMetaObject::invokeMethod(
          qApp,
          [receiver = std::move(receiver), result, done = std::move(done)]() mutable {
            if (receiver) done(std::move(*result));
          },
          Qt::QueuedConnection);
    });
  }
  void wait() { pool_.waitForDone(); }

 private:
  QThreadPool pool_;
};

}  // namespace lathe::ui
