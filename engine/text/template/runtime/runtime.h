// SPDX-License-Identifier: Apache-2.0
// Runtime: the part of a running rendering that operators, methods, filters and tests use: its budget and calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/text/template/runtime/failure.h"
#include "engine/text/template/runtime/value.h"

namespace lathe::engine::jinja {

/// Limits of one rendering.
struct Limits {
  std::int64_t max_steps = 10'000'000;     ///< nodes evaluated, items touched, 16 bytes of text read or made
  std::size_t max_text_bytes = 16u << 20;  ///< bytes of the output, and of any single text
  std::int64_t max_range = 100'000;        ///< items of range()
  int max_macro_depth = 100;
};

class Runtime {
 public:
  explicit Runtime(const Limits& limits) : limits_(limits), steps_left_(limits.max_steps) {}
  virtual ~Runtime() = default;
  virtual Value call(const Value& function, const Arguments& arguments) = 0;
  /// Makes a namespace object. It may come to contain itself, so the runtime empties it at the end.
  virtual Value make_namespace(const Arguments& arguments) = 0;
  /// Registers another object that may contain itself, to be emptied at the end.
  virtual void keep(DictPtr object) = 0;
  /// Throws Failure if the stack is used up. Called before anything that may call itself by a name that the template chose.
  virtual void check_stack() const = 0;

  const Limits& limits() const { return limits_; }
  /// Throws Failure if the rendering has used up its steps.
  void charge(std::size_t n_steps = 1);
  /// Charges for a text of this size that is about to be made or read.
  void charge_text(std::size_t n_bytes) { charge_growth(0, n_bytes); }
  /// Charges for a text of `size` bytes that is about to grow by `more`. Also throws Failure if the text would become too
  /// long.
  void charge_growth(std::size_t size, std::size_t more);

 private:
  Limits limits_;
  std::int64_t steps_left_;
};

/// Exception of raise_exception: the template's author wrote the message.
class RaisedByTemplate : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace lathe::engine::jinja
