// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/response_reply.h"

#include "app/server/dialects/openai/openai.h"
#include "app/server/error_status.h"

namespace lathe::app::openai {

http::Response WholeResponse::take() {
  if (const auto error = run_->error()) {
    http::Response response{http_status_of(error->code), "application/json", {}, {}};
    response.body = error_body(*error, response.status);
    if (is_temporary(response.status)) response.fields.push_back({"Retry-After", "1"});
    return response;
  }
  return {200, "application/json", answer_fields(run_->plan()), engine::dump_json(run_->json())};
}

std::function<void(int)> StreamedResponse::on_answered() const {
  return is_first_ ? run_->on_answered() : std::function<void(int)>();
}

void StreamedResponse::cancel() {
  if (run_->request().background) left_ = true;
  else run_->cancel();
}

bool StreamedResponse::pull(std::string& out) {
  if (left_) return false;
  const bool running = run_->poll();
  run_->events_from(next_, out);
  return running;
}

}  // namespace lathe::app::openai
