// SPDX-License-Identifier: Apache-2.0
// What operators, methods, filters and tests need of the rendering in progress: its budget and calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/text/template/failure.h"
#include "engine/text/template/value.h"

namespace lathe::engine::jinja {

/// What one rendering may use.
struct Limits {
  std::int64_t max_steps = 10'000'000;     ///< nodes evaluated, items touched, 16 bytes of text read or made
  std::size_t max_text_bytes = 16u << 20;  ///< of the output and of any one text
  std::int64_t max_range = 100'000;        ///< items of range()
  int max_macro_depth = 100;
};

class Runtime {
 public:
  explicit Runtime(const Limits& limits) : limits_(limits), steps_left_(limits.max_steps) {}
  virtual ~Runtime() = default;
  virtual Value call(const Value& function, const Arguments& arguments) = 0;
  /// A namespace object; it may come to hold itself, so the runtime empties it at the end.
  virtual Value make_namespace(const Arguments& arguments) = 0;
  /// The same for another object that holds itself.
  virtual void keep(DictPtr object) = 0;
  /// Throws Failure when the stack is used up. For what may come to call itself by a name that a template chose.
  virtual void check_stack() const = 0;

  const Limits& limits() const { return limits_; }
  /// Throws Failure when the rendering has used up its steps.
  void charge(std::size_t n_steps = 1);
  /// For a text of this size that is about to be made or read through.
  void charge_text(std::size_t n_bytes) { charge_growth(0, n_bytes); }
  /// For a text of `size` bytes that is about to grow by `more`. Throws Failure when it would grow too long, too.
  void charge_growth(std::size_t size, std::size_t more);

 private:
  Limits limits_;
  std::int64_t steps_left_;
};

/// Thrown by raise_exception: the message is the template author's own.
class RaisedByTemplate : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace lathe::engine::jinja
