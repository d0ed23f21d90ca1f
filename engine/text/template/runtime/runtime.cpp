// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lathe::engine::jinja {

void Runtime::charge(std::size_t n_steps) {
  steps_left_ -= static_cast<std::int64_t>(std::min<std::size_t>(n_steps, std::numeric_limits<std::int32_t>::max()));
  if (steps_left_ < 0) throw Failure(fmt::format("the template does more than {} steps", limits_.max_steps));
}

void Runtime::charge_growth(std::size_t size, std::size_t more) {
  if (size > limits_.max_text_bytes || more > limits_.max_text_bytes - size)
    throw Failure(fmt::format("a text grows beyond {} bytes", limits_.max_text_bytes));
  charge(1 + more / 16);
}

}  // namespace lathe::engine::jinja
