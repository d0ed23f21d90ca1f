// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/bridge/chat_stream.h"

#include <algorithm>

namespace lathe::ui {

ChatStream::ChatStream(std::unique_ptr<app::ChatGeneration> generation, QObject* parent)
    : QObject(parent), generation_(std::move(generation)) {}

ChatStream::~ChatStream() {
  if (!last_.finished) generation_->cancel();
}

void ChatStream::cancel() {
  cancelled_ = true;
  generation_->cancel();
}

std::uint64_t ChatStream::record_number() const { return generation_->record_number(); }

double ChatStream::tokens_per_second() const {
  const double writing_ms = last_.timings.end_ms - last_.timings.ttft_ms;
  return writing_ms > 0 ? static_cast<double>(last_.usage.n_completion_tokens - 1) * 1000.0 / writing_ms : 0;
}

bool ChatStream::drain(const engine::EngineSnapshot* snapshot) {
  if (last_.finished) return false;
  QString delta;
  bool any = false;
  engine::TokenEvent event;
  while (!last_.finished && generation_->poll(event)) {
    delta += QString::fromStdString(event.text);
    reasoning_ += QString::fromStdString(generation_->take_reasoning());
    last_ = std::move(event);
    last_.token_ids.clear();
    event = {};
    any = true;
  }
  StreamPhase phase = phase_;
  if (snapshot != nullptr) {
    const auto found = std::find_if(snapshot->requests.begin(), snapshot->requests.end(),
                                    [id = generation_->engine_id()](const engine::ActiveRequest& r) { return r.id == id; });
    if (found != snapshot->requests.end()) {
      any |= found->n_computed != active_.n_computed || found->n_ahead != active_.n_ahead;
      active_ = *found;
      phase = active_.phase == engine::RequestPhase::queued ? StreamPhase::queued : StreamPhase::reading;
    }
  }
  if (last_.usage.n_completion_tokens > 0 || !text_.isEmpty() || !delta.isEmpty()) phase = StreamPhase::writing;
  if (last_.finished) phase = StreamPhase::done;
  any |= phase != phase_;
  phase_ = phase;
  text_ += delta;
  if (any) Q_EMIT advanced(delta);
  if (last_.finished) Q_EMIT ended();
  return any;
}

}  // namespace lathe::ui
