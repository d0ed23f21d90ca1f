// SPDX-License-Identifier: GPL-3.0-or-later
// Background: work that would block the GUI thread, with its result delivered back on it.
#pragma once

#include <QMetaObject>
#include <QObject>
#include <QPointer>
#include <QThreadPool>
#include <memory>
#include <type_traits>
#include <utility>

namespace lathe::ui {

/// Thread: run() from the GUI. Waits for its work when destroyed, so work may refer to what outlives it; results that nobody
/// has taken by then go with it.
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
    pool_.start([mailbox = &mailbox_, receiver = QPointer<QObject>(receiver), work = std::move(work),
                 done = std::move(done)]() mutable {
      auto result = std::make_shared<std::invoke_result_t<Work>>(work());
      QMetaObject::invokeMethod(
          mailbox,
          [receiver = std::move(receiver), result, done = std::move(done)]() mutable {
            if (receiver) done(std::move(*result));
          },
          Qt::QueuedConnection);
    });
  }
  void wait() { pool_.waitForDone(); }

 private:
  QObject mailbox_;  ///< results wait here, not in the application: they may not outlive what the work referred to
  QThreadPool pool_;
};

}  // namespace lathe::ui
