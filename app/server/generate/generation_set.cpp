// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/generation_set.h"

#include "app/server/error_status.h"

namespace lathe::app {

engine::Result<std::unique_ptr<GenerationSet>> GenerationSet::submit(engine::Engine& engine, RequestLog& log,
                                                                     std::vector<engine::GenerateRequest> requests,
                                                                     const RequestRecord& row) {
  std::unique_ptr<GenerationSet> set(new GenerationSet(log));
  for (engine::GenerateRequest& request : requests) {
    RequestRecord member_row = row;
    member_row.usage.n_prompt_tokens = static_cast<std::int64_t>(request.prompt_token_ids.size());
    auto submitted = engine.submit(std::move(request));
    if (!submitted) {
      set->abandon(submitted.error());
      return tl::unexpected(std::move(submitted.error()));
    }
    engine::RequestHandlePtr handle = std::move(*submitted);
    member_row.engine_id = handle->id();
    const engine::Usage usage = member_row.usage;
    set->members_.push_back({handle, log.begin(std::move(member_row)), usage, {}});
  }
  return set;
}

/// Ends the rows by refuse(): the caller holds an engine lease, and RequestLog::update() would take another.
void GenerationSet::abandon(const engine::Error& error) {
  for (Member& member : members_) {
    member.handle->cancel();
    member.finished = true;
    log_.refuse(member.row, http_status_of(error.code),
                "another answer to the same request could not be started: " + error.message);
  }
}

GenerationSet::~GenerationSet() {
  for (Member& member : members_) {
    if (member.finished) continue;
    member.handle->on_wake({});
    member.handle->cancel();
    engine::TokenEvent end;  // the real last event is never read
    end.finished = true;
    end.finish_reason = engine::FinishReason::cancelled;
    end.usage = member.usage;
    end.timings = member.timings;
    log_.update(member.row, end);
  }
}

void GenerationSet::on_wake(const std::function<void()>& wake) {
  for (Member& member : members_) member.handle->on_wake(wake);
}

void GenerationSet::cancel() {
  for (Member& member : members_) member.handle->cancel();
}

std::function<void(int)> GenerationSet::on_answered() const {
  std::vector<std::uint64_t> rows;
  for (const Member& member : members_) rows.push_back(member.row);
  return [&log = log_, rows = std::move(rows)](int http_status) {
    for (const std::uint64_t row : rows) log.answered(row, http_status);
  };
}

bool GenerationSet::poll(const std::function<void(std::size_t, engine::TokenEvent&&)>& take) {
  bool running = false;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (member.finished) continue;
    engine::TokenEvent event;
    if (member.handle->poll(event)) {
      member.finished = event.finished;
      member.usage = event.usage;
      member.timings = event.timings;
      log_.update(member.row, event);
      take(i, std::move(event));
    }
    running = running || !member.finished;
  }
  return running;
}

}  // namespace lathe::app
