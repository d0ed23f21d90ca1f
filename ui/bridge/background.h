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

/// Thread: run() is called on the GUI thread. The destructor waits for the work, so work may refer to objects that outlive
/// the Background; it discards results that are not delivered by then. Tasks and results cross threads under mutex_, where a
/// thread sanitizer sees the synchronization; Qt only delivers the event that wakes the GUI thread.
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
  /// Blocks until all work is done; the results are delivered later.
  void wait();

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void work() = 0;     ///< runs on a worker thread
    virtual void deliver() = 0;  ///< runs on the GUI thread
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
