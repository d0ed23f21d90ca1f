// SPDX-License-Identifier: Apache-2.0
// Terminal: where a command reads and writes; tests bring their own.
#pragma once

#include <ostream>

namespace lathe::app {

struct Terminal {
  std::ostream& out;  ///< results alone
  std::ostream& err;  ///< progress, notes, errors
  int in_fd = 0;
  bool in_is_terminal = false, out_is_terminal = false, err_is_terminal = false;
};

}  // namespace lathe::app
