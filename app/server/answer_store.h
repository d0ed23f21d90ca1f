// SPDX-License-Identifier: Apache-2.0
// AnswerStore: answers that clients retrieve by their ids after the request that began them, and those that are generated
// without a client.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lathe::app {

/// Thread: any.
class StoredAnswer {
 public:
  virtual ~StoredAnswer() = default;
  /// Takes the news of its generation; false once that has ended. Requires: the caller holds no engine lease.
  virtual bool poll() = 0;
  /// Ends its generation; polls then bring the end.
  virtual void cancel() = 0;
  /// Sets the function that is called from any thread whenever there may be news, for the store.
  virtual void on_news(std::function<void()> wake) = 0;
  /// Returns the memory that it takes, at once: the store asks under its lock. Units: bytes.
  virtual std::size_t bytes() const = 0;
};

/// Keeps answers in memory until they are erased, or are the oldest beyond a limit. Thread: any.
class AnswerStore {
 public:
  static constexpr std::size_t kMaxAnswers = 1000, kMaxBytes = std::size_t{64} << 20;

  AnswerStore() = default;
  ~AnswerStore() { stop(); }
  AnswerStore(const AnswerStore&) = delete;
  AnswerStore& operator=(const AnswerStore&) = delete;

  /// Requires, as erase(): the caller holds no engine lease, because an answer that is removed may be destroyed.
  void put(const std::string& id, std::shared_ptr<StoredAnswer> answer);
  /// Null: there is no such answer.
  std::shared_ptr<StoredAnswer> find(const std::string& id) const;
  /// False: there is no such answer.
  bool erase(const std::string& id);
  /// Polls the answer until its generation has ended.
  void run_in_background(std::shared_ptr<StoredAnswer> answer);
  /// Cancels the answers in the background and waits for their ends. Nothing runs in the background afterwards until
  /// run_in_background() is called again.
  void stop();

 private:
  struct Entry {
    std::string id;
    std::shared_ptr<StoredAnswer> answer;
  };
  void poll_until_stopped(std::stop_token stopping);
  std::vector<std::shared_ptr<StoredAnswer>> running() const;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool has_news_ = false;
  std::list<Entry> entries_;  ///< oldest first
  std::vector<std::shared_ptr<StoredAnswer>> running_;
  std::jthread thread_;  ///< polls the answers in the background; begins with the first of them
};

}  // namespace lathe::app
