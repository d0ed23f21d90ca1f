// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>

#include "engine/api/request.h"

namespace lathe::engine {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  if (to.empty()) {
    to = std::move(from);
  } else {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
}

}  // namespace

void merge(TokenEvent& to, TokenEvent&& from) {
  for (TextMark& mark : from.marks) mark.at += to.text.size();
  append(to.marks, std::move(from.marks));
  to.text += from.text;
  append(to.token_ids, std::move(from.token_ids));
  append(to.logprobs, std::move(from.logprobs));
  append(to.chosen_logprobs, std::move(from.chosen_logprobs));
  append(to.text_offsets, std::move(from.text_offsets));
  append(to.prompt_logprobs, std::move(from.prompt_logprobs));
  append(to.vector, std::move(from.vector));
  to.finished = from.finished;
  to.finish_reason = from.finish_reason;
  to.stop_cause = from.stop_cause;
  to.stop_reason = std::move(from.stop_reason);
  to.error = std::move(from.error);
  to.usage = from.usage;
  to.timings = from.timings;
}

std::string_view name_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::none: return "";
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "abort";
    case FinishReason::error: return "error";
  }
  return "";
}

bool RequestHandle::poll(TokenEvent& event) {
  const std::lock_guard lock(mutex_);
  if (!has_pending_) return false;
  event = std::exchange(pending_, TokenEvent{});
  has_pending_ = false;
  return true;
}

bool RequestHandle::wait(TokenEvent& event, std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return has_pending_; })) return false;
  }
  return poll(event);
}

void RequestHandle::on_wake(std::function<void()> wake) {
  // wake_mutex_ is held while a wake runs, so a running call of the old function has returned before on_wake() does.
  const std::lock_guard wake_lock(wake_mutex_);
  wake_ = std::move(wake);
  bool has_news = false;
  {
    const std::lock_guard lock(mutex_);
    has_news = has_pending_;
  }
  if (wake_ && has_news) wake_();
}

void RequestHandle::push(TokenEvent&& delta) {
  {
    const std::lock_guard lock(mutex_);
    if (has_pending_) {
      merge(pending_, std::move(delta));
    } else {
      pending_ = std::move(delta);
    }
    has_pending_ = true;
  }
  changed_.notify_all();
  const std::lock_guard wake_lock(wake_mutex_);
  if (wake_) wake_();
}

}  // namespace lathe::engine
