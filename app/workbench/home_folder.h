// SPDX-License-Identifier: Apache-2.0
// Where the user's files lie when nothing else is said, and a substitute that no other user can prepare.
#pragma once

#include <string>

namespace lathe::app {

struct HomeFolder {
  std::string path;     ///< absolute
  std::string problem;  ///< why it is not the user's own; empty: it is
};

/// $HOME, else what the system's list of users says, else `<temporary folder>/lathe-<uid>`.
HomeFolder find_home_folder();

/// Makes `path` a folder of this user alone, or takes one that is. A name under /tmp can be guessed: what somebody else put
/// there (a link, a folder of theirs) is left alone, and a fresh name made from it is taken instead.
/// Returns the folder; empty when none can be made.
std::string private_folder(const std::string& path);

}  // namespace lathe::app
