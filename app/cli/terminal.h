// SPDX-License-Identifier: Apache-2.0
// Terminal: the streams that a command reads and writes; tests replace them.
#pragma once

#include <ostream>

namespace lathe::app {

struct Terminal {
  std::ostream& out;  ///< results only
  std::ostream& err;  ///< progress, notes, errors
  int in_fd = 0;
  bool in_is_terminal = false, out_is_terminal = false, err_is_terminal = false;
};

}  // namespace lathe::app
