// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/collected_answer.h"

#include "app/server/error_status.h"
#include "app/server/field_warnings.h"
#include "engine/api/exact_json.h"

namespace lathe::app {

using engine::FinishReason;
using engine::TokenEvent;

void CollectedAnswer::interrupt() {
  interrupted_ = true;
  set_->cancel();
}

bool CollectedAnswer::ready() {
  bool failed = false;
  const bool running = set_->poll([&](std::size_t member, TokenEvent&& event) {
    merge(members_[member], std::move(event));
    failed = failed || members_[member].finish_reason == FinishReason::error;
  });
  if (failed) set_->cancel();  // an incomplete answer is discarded, so the other choices are cancelled
  return !running;
}

/// Returns the member without a complete answer; null if all are complete. A failed member takes precedence over those that
/// were cancelled because of it.
const TokenEvent* CollectedAnswer::failed_member() const {
  for (const FinishReason reason : {FinishReason::error, FinishReason::cancelled}) {
    for (const TokenEvent& member : members_) {
      if (member.finish_reason == reason) return &member;
    }
  }
  return nullptr;
}

http::Response CollectedAnswer::take() {
  if (const TokenEvent* failed = failed_member()) {
    const engine::Error error = failure_of(*failed, interrupted_);
    http::Response response{http_status_of(error.code), "application/json", {}, {}};
    response.body = error_body(error, response.status);
    if (is_temporary(response.status)) response.fields.push_back({"Retry-After", "1"});
    return response;
  }
  engine::OrderedJson body = json();
  if (!plan_.warnings.empty()) body[kWarningsMember] = warnings_json(plan_.warnings);
  return http::Response{200, "application/json", answer_fields(plan_), engine::dump_exact_json(body)};
}

}  // namespace lathe::app
