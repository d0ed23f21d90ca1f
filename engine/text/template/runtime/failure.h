// SPDX-License-Identifier: Apache-2.0
// Failure: the exception that stops a template. It is thrown only inside engine/text/template, and caught where a template
// is compiled or rendered.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace lathe::engine::jinja {

/// Position in the template's source, from 1.
struct Position {
  int line = 0, column = 0;
};

class Failure : public std::exception {
 public:
  explicit Failure(std::string message, Position at = {}) : message_(std::move(message)), at_(at) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }
  Position at() const { return at_; }

 private:
  std::string message_;
  Position at_;  // line 0: the position was unknown where the exception was thrown
};

}  // namespace lathe::engine::jinja
