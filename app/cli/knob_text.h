// SPDX-License-Identifier: Apache-2.0
// The knobs of a model as lines for people.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::app {

/// One line a knob, without those that the model does not have. What is the same in all layers is said once.
std::string knob_lines(const engine::OrderedJson& knobs);

}  // namespace lathe::app
