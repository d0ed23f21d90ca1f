// SPDX-License-Identifier: Apache-2.0
// VectorReply: a response that is written once the vectors of its texts are computed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/server/embed/vector_set.h"
#include "app/server/http/handler.h"

namespace lathe::app {

/// The way in which a dialect writes the answer.
struct VectorForm {
  /// Returns the body. Thread: a worker.
  std::function<std::string(const VectorSet& set)> body;
  std::string (*error_body)(const engine::Error& error, int http_status) = nullptr;
  std::vector<FieldWarning> warnings{};  ///< for the header; the body has its own
};

/// Thread: as in http::PendingResponse.
class VectorReply final : public http::PendingResponse {
 public:
  VectorReply(std::unique_ptr<VectorSet> set, VectorForm form) : set_(std::move(set)), form_(std::move(form)) {}

  void on_wake(std::function<void()> wake) override { set_->on_wake(std::move(wake)); }
  std::function<void(int)> on_answered() const override { return set_->on_answered(); }
  void cancel() override { set_->cancel(); }
  void interrupt() override;
  bool ready() override { return set_->poll(); }
  http::Response take() override;

 private:
  std::unique_ptr<VectorSet> set_;
  VectorForm form_;
  bool interrupted_ = false;
};

}  // namespace lathe::app
