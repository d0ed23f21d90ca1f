// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/answer_stream.h"

#include <utility>

namespace lathe::app {

void AnswerStream::interrupt() {
  interrupted_ = true;
  set_->cancel();
}

bool AnswerStream::pull(std::string& out) {
  if (failed_) {  // an error ended the stream; the requests only have to stop
    return set_->poll([](std::size_t, engine::TokenEvent&&) {});
  }
  if (!std::exchange(opened_, true)) open(out);
  const bool running = set_->poll([&](std::size_t member, engine::TokenEvent&& event) {
    if (failed_) return;
    add(member, event, out);
    if (!is_failure(event)) return;
    failed_ = true;
    fail(failure_of(event, interrupted_), out);
  });
  if (failed_) set_->cancel();
  else if (!running) finish(out);
  return running;
}

}  // namespace lathe::app
