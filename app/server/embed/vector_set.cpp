// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/vector_set.h"

#include <utility>

namespace lathe::app {
namespace {

using engine::Error;
using engine::ErrorCode;
using engine::FinishReason;
using engine::TokenEvent;

// Texts of a request that the engine has at once: some steps' worth of short ones.
constexpr std::size_t kMostRunning = 256;

Error unloaded() {
  return {ErrorCode::unavailable, "the request was ended because it was cancelled or the model is being unloaded", {}};
}

}  // namespace

VectorSet::VectorSet(const ServerContext& context, std::vector<VectorText> texts, const engine::PoolingParams& pooling)
    : models_(context.models),
      log_(context.requests),
      generation_(context.models.status().generation),
      texts_(std::move(texts)),
      pooling_(pooling),
      vectors_(texts_.size()) {
  for (const VectorText& text : texts_) n_tokens_ += std::ssize(text.ids);
}

engine::Result<std::unique_ptr<VectorSet>> VectorSet::submit(const ServerContext& context, const http::Request& request,
                                                             const EngineLease& lease, std::string model,
                                                             std::vector<VectorText> texts,
                                                             const engine::PoolingParams& pooling) {
  std::unique_ptr<VectorSet> set(new VectorSet(context, std::move(texts), pooling));
  engine::Engine& engine = lease->embedder();
  set->submit_more(engine);
  if (set->error_) {
    set->row_is_over_ = true;  // the router adds the row of a refused request
    return tl::unexpected(*set->error_);
  }
  RequestRecord row = request_row(request);
  row.model = std::move(model);
  row.usage.n_prompt_tokens = set->n_tokens_;
  // Events are those of the served engine; those of an engine next to it would be mistaken for others.
  if (&engine == &*lease && !set->running_.empty()) row.engine_id = set->running_.front().handle->id();
  set->row_ = context.requests.begin(std::move(row));
  return set;
}

VectorSet::~VectorSet() {
  cancel();
  write_row();
}

void VectorSet::on_wake(std::function<void()> wake) {
  wake_ = std::move(wake);
  for (const Running& running : running_) running.handle->on_wake(wake_);
}

void VectorSet::cancel() {
  cancelled_ = cancelled_ || n_submitted_ < texts_.size() || !running_.empty();
  for (const Running& running : running_) running.handle->cancel();
}

std::function<void(int)> VectorSet::on_answered() const {
  return [&log = log_, row = row_](int http_status) { log.answered(row, http_status); };
}

std::int64_t VectorSet::duration_ns() const { return (std::chrono::steady_clock::now() - begin_).count(); }

bool VectorSet::poll() {
  for (std::size_t i = 0; i < running_.size();) {
    TokenEvent event;
    const bool has_ended = running_[i].handle->poll(event) && event.finished;
    if (!has_ended) {
      ++i;
      continue;
    }
    const Running ended = std::exchange(running_[i], running_.back());
    running_.pop_back();
    take(ended, std::move(event));
  }
  submit_more();
  const bool is_over = running_.empty() && (error_ || cancelled_ || n_submitted_ == texts_.size());
  if (is_over && cancelled_ && !error_) error_ = unloaded();
  if (is_over) write_row();
  return is_over;
}

void VectorSet::take(const Running& running, TokenEvent&& event) {
  if (event.finish_reason == FinishReason::error) {
    const bool is_internal = !event.error || event.error->code == ErrorCode::internal;
    return fail(is_internal ? Error{ErrorCode::internal, "the engine failed on this request; the server's log says more", {}}
                            : *event.error);
  }
  if (event.finish_reason == FinishReason::cancelled) return fail(unloaded());
  vectors_[running.text] = std::move(event.vector);
}

/// Ends the other texts too: an incomplete answer is of no use.
void VectorSet::fail(Error error) {
  if (!error_) error_ = std::move(error);
  for (const Running& running : running_) running.handle->cancel();
}

void VectorSet::submit_more() {
  if (error_ || cancelled_ || n_submitted_ == texts_.size() || running_.size() >= kMostRunning) return;
  const EngineLease lease = models_.lease();
  if (!lease || models_.status().generation != generation_) return fail(unloaded());
  submit_more(lease->embedder());
}

void VectorSet::submit_more(engine::Engine& engine) {
  while (n_submitted_ < texts_.size() && running_.size() < kMostRunning) {
    engine::GenerateRequest request;
    request.prompt_token_ids = texts_[n_submitted_].ids;
    request.source = "server";
    request.pooling = pooling_;
    request.pooling->second_begin = texts_[n_submitted_].second_begin;
    auto handle = engine.submit(std::move(request));
    if (!handle) {
      // A full queue has room again once one of this request's texts has ended.
      const bool waits = handle.error().code == ErrorCode::resource_exhausted && !running_.empty();
      return waits ? void() : fail(std::move(handle.error()));
    }
    if (wake_) (*handle)->on_wake(wake_);
    running_.push_back({n_submitted_, std::move(*handle)});
    texts_[n_submitted_].ids.clear();
    ++n_submitted_;
  }
}

void VectorSet::write_row() {
  if (std::exchange(row_is_over_, true)) return;
  TokenEvent end;
  end.finished = true;
  end.finish_reason = cancelled_ ? FinishReason::cancelled : error_ ? FinishReason::error : FinishReason::stop;
  if (end.finish_reason == FinishReason::error) end.error = error_;
  end.usage.n_prompt_tokens = n_tokens_;
  end.timings.end_ms = static_cast<double>(duration_ns()) / 1e6;
  log_.update(row_, end);
}

}  // namespace lathe::app
