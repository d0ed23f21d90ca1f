// SPDX-License-Identifier: Apache-2.0
#include "app/server/answer_store.h"

#include <algorithm>
#include <utility>

namespace lathe::app {

void AnswerStore::put(const std::string& id, std::shared_ptr<StoredAnswer> answer) {
  std::list<Entry> removed;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  entries_.push_back({id, std::move(answer)});
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.answer->bytes();
  while (entries_.size() > 1 && (entries_.size() > kMaxAnswers || bytes > kMaxBytes)) {
    bytes -= std::min(bytes, entries_.front().answer->bytes());
    removed.splice(removed.end(), entries_, entries_.begin());
  }
}

std::shared_ptr<StoredAnswer> AnswerStore::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : found->answer;
}

bool AnswerStore::erase(const std::string& id) {
  std::list<Entry> removed;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.id == id; });
  if (found == entries_.end()) return false;
  removed.splice(removed.end(), entries_, found);
  return true;
}

void AnswerStore::run_in_background(std::shared_ptr<StoredAnswer> answer) {
  StoredAnswer& added = *answer;
  {
    const std::lock_guard lock(mutex_);
    running_.push_back(std::move(answer));
    if (!thread_.joinable())
      thread_ = std::jthread([this](const std::stop_token& stopping) { poll_until_stopped(stopping); });
  }
  // The function is called under a lock of the answer, so it takes only the store's.
  added.on_news([this] {
    const std::lock_guard lock(mutex_);
    has_news_ = true;
    changed_.notify_all();
  });
}

std::vector<std::shared_ptr<StoredAnswer>> AnswerStore::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

void AnswerStore::poll_until_stopped(std::stop_token stopping) {
  while (!stopping.stop_requested()) {
    for (const std::shared_ptr<StoredAnswer>& answer : running()) {
      if (answer->poll()) continue;
      answer->on_news({});
      const std::lock_guard lock(mutex_);
      std::erase(running_, answer);
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stopping, [&] { return has_news_; });
    has_news_ = false;
  }
}

void AnswerStore::stop() {
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    thread = std::move(thread_);
  }
  if (!thread.joinable()) return;
  thread.request_stop();
  thread.join();
  for (const std::shared_ptr<StoredAnswer>& answer : running()) {
    answer->on_news({});
    answer->cancel();
  }
  const std::lock_guard lock(mutex_);
  running_.clear();
}

}  // namespace lathe::app
