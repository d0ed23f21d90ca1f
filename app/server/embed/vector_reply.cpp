// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/vector_reply.h"

#include "app/server/error_status.h"

namespace lathe::app {

void VectorReply::interrupt() {
  interrupted_ = true;
  set_->cancel();
}

http::Response VectorReply::take() {
  if (!set_->error()) return {200, "application/json", warning_fields(form_.warnings), form_.body(*set_)};
  engine::Error error = *set_->error();
  if (interrupted_) error = {engine::ErrorCode::unavailable, "the server is stopping; the answer is incomplete", {}};
  http::Response response{http_status_of(error.code), "application/json", {}, {}};
  response.body = form_.error_body(error, response.status);
  if (is_temporary(response.status)) response.fields.push_back({"Retry-After", "1"});
  return response;
}

}  // namespace lathe::app
