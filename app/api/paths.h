// SPDX-License-Identifier: Apache-2.0
// Paths: the folders of Lathe's files: XDG folders, or one profile folder for tests and portable use.
#pragma once

#include <string>

namespace lathe::app {

struct Paths {
  std::string config;  ///< settings.json, window.ini
  std::string data;    ///< history.db, profiles
  std::string cache;
  std::string state;      ///< logs
  std::string resources;  ///< demo_model and other data shipped with the program; empty: not found
  std::string problem;    ///< why files are not in the usual folders; empty: they are
};

/// The folders named by XDG_CONFIG_HOME and so on; under `profile_dir` if that is not empty. If HOME is unset, the home
/// directory comes from the system's user database; if it is not there either, a private folder in the temporary directory
/// is used, which `problem` names.
Paths make_paths(const std::string& profile_dir);

}  // namespace lathe::app
