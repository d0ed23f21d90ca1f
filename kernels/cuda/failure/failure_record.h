// SPDX-License-Identifier: Apache-2.0
// FailureRecord: the first failure of a backend's operations, which keeps later operations from running until it is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kernels/cuda/failure/device_failure.h"

namespace lathe::kernels::cuda {

/// Thread: that of the operations.
class FailureRecord {
 public:
  /// `ask` gives the state of the device; it is called after a failure.
  explicit FailureRecord(std::function<DeviceState()> ask) : ask_(std::move(ask)) {}

  /// Runs an operation, unless an earlier failure was not read yet. Bodies may call run() for the operations that they are
  /// made of.
  template <class Body>
  void run(const char* operation, const Body& body) {
    if (error_) return;
    try {
      body();
    } catch (const DeviceFailure& failure) {
      record(std::string("operation ") + operation, failure);
    }
  }

  /// Keeps the failure if it is the first one, or if the device is lost. `work` as for error_of().
  void record(const std::string& work, const DeviceFailure& failure) {
    const DeviceState state = ask_();
    if (error_ && (is_lost_ || !state.is_lost)) return;
    is_lost_ = state.is_lost;
    error_ = error_of(work, failure, state);
  }

  /// Implements Backend::take_error().
  std::optional<OperationError> take() {
    if (is_lost_) return error_;
    return std::exchange(error_, std::nullopt);
  }

 private:
  std::function<DeviceState()> ask_;
  std::optional<OperationError> error_;
  bool is_lost_ = false;
};

}  // namespace lathe::kernels::cuda
