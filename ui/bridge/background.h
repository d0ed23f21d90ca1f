// SPDX-License-Identifier: GPL-3.0-or-later
// Background: work that would block the GUI thread, with its result delivered back on it.
#pragma once

#include <QObject>
#include <QPointer>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace lathe::ui {

/// Thread: run() from the GUI. Waits for its work when destroyed, so work may refer to what outlives it; results that nobody
/// has taken by then go with it. What crosses from thread to thread does so under mutex_, where a sanitizer can see it;
/// through Qt goes a wake-up alone.
class Background : private QObject {
 public:
  Background() = default;
  ~Background() override;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Calls `work()` on a worker, then `done(result)` on the GUI thread unless `receiver` is gone by then.
  template <class Job, class Done>
  void run(QObject* receiver, Job work, Done done) {
    start(std::make_unique<TaskOf<Job, Done>>(receiver, std::move(work), std::move(done)));
  }
  /// Until all work is done; its results are delivered later.
  void wait();

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void work() = 0;     ///< on a worker
    virtual void deliver() = 0;  ///< on the GUI thread
  };
  template <class Job, class Done>
  struct TaskOf final : Task {
    TaskOf(QObject* to, Job todo, Done then) : receiver(to), body(std::move(todo)), done(std::move(then)) {}
    void work() override { result.emplace(body()); }
    void deliver() override {
      if (receiver) done(std::move(*result));
    }
    QPointer<QObject> receiver;
    Job body;
    Done done;
    std::optional<std::invoke_result_t<Job>> result;
  };

  void start(std::unique_ptr<Task> task);
  void work_on_tasks();
  void customEvent(QEvent* event) override;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Task>> waiting_, finished_;
  int n_working_ = 0;
  bool ends_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace lathe::ui
