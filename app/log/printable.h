// SPDX-License-Identifier: Apache-2.0
// printable(), which logs, tables and answers use for untrusted text.
#pragma once

#include "engine/api/printable.h"

namespace lathe::app {

using engine::printable;

}  // namespace lathe::app
