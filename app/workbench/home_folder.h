// SPDX-License-Identifier: Apache-2.0
// Finds the folder for the user's files, or a substitute that no other user can prepare.
#pragma once

#include <string>

namespace lathe::app {

struct HomeFolder {
  std::string path;     ///< absolute
  std::string problem;  ///< why it is a substitute for the home folder; empty: it is the home folder
};

/// Value of an environment variable; empty: it is not set.
std::string environment(const char* name);

/// Returns $HOME, else the home folder of the system's user list, else `<temporary folder>/lathe-<uid>`.
HomeFolder find_home_folder();

/// Creates `path` as a folder of this user alone, or reuses one that is. A name under /tmp can be guessed: what another user
/// put there (a link, a folder) is left alone, and a new name derived from `path` is used instead. Returns the folder; empty
/// if none can be created.
std::string private_folder(const std::string& path);

}  // namespace lathe::app
