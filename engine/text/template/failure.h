// SPDX-License-Identifier: Apache-2.0
// How a template stops: thrown inside engine/text/template only, caught where a template is compiled and rendered.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace lathe::engine::jinja {

/// Place in the template's source, from 1.
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
  Position at_;  // line 0: not known where it was thrown
};

}  // namespace lathe::engine::jinja
