// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bridge/background.h"

#include <QCoreApplication>
#include <QEvent>

namespace lathe::ui {
namespace {

constexpr std::size_t kMaxWorkers = 2;

}  // namespace

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    ends_ = true;
  }
  changed_.notify_all();
  workers_.clear();  // joins them
}

void Background::start(std::unique_ptr<Task> task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
  }
  changed_.notify_all();
  if (workers_.size() < kMaxWorkers) workers_.emplace_back([this] { work_on_tasks(); });
}

void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && n_working_ == 0; });
}

void Background::work_on_tasks() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::unique_ptr<Task> task = std::move(waiting_.front());
    waiting_.pop_front();
    ++n_working_;
    lock.unlock();
    task->work();
    lock.lock();
    finished_.push_back(std::move(task));
    --n_working_;
    QCoreApplication::postEvent(this, new QEvent(QEvent::User));
    changed_.notify_all();
  }
}

void Background::customEvent(QEvent*) {
  std::unique_ptr<Task> task;
  {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) return;
    task = std::move(finished_.front());
    finished_.pop_front();
  }
  task->deliver();
}

}  // namespace lathe::ui
