// SPDX-License-Identifier: Apache-2.0
// Formats the knobs of a model as lines for people.
#pragma once

#include <string>

#include "engine/api/json.h"

namespace lathe::app {

/// Returns one line per knob that the model has. A value that is the same in all layers is written once.
std::string knob_lines(const engine::OrderedJson& knobs);

}  // namespace lathe::app
