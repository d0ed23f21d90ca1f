// SPDX-License-Identifier: Apache-2.0
// Where Lathe keeps its files: XDG folders, or one profile folder for tests and portable use.
#pragma once

#include <string>

namespace lathe::app {

struct Paths {
  std::string config;  ///< settings.json, window.ini
  std::string data;    ///< history.db, profiles
  std::string cache;
  std::string state;      ///< logs
  std::string resources;  ///< demo_model and other data shipped with the program; empty when not found
  std::string problem;    ///< why files do not lie where the user may look for them; empty: they do
};

/// XDG_CONFIG_HOME and so on; under `profile_dir` when it is not empty. HOME unset: the home in the system's list of users,
/// else a folder of this user alone under the temporary directory, which `problem` then names.
Paths make_paths(const std::string& profile_dir);

}  // namespace lathe::app
