// SPDX-License-Identifier: Apache-2.0
// Where the test data lies: the tree's own fixtures, and the shared folder that may be absent.
#pragma once

#include <string>

namespace lathe::tests {

/// A path under the repository.
std::string source_path(const std::string& relative);
/// A path under the shared folder: LATHE_SHARED, else ../shared of the repository. Empty when it is not there.
std::string shared_path(const std::string& relative);

}  // namespace lathe::tests

/// Skips the running test function when a shared file is missing.
#define SKIP_WITHOUT_SHARED(relative) \
  if (lathe::tests::shared_path(relative).empty()) QSKIP("skipped: needs ../shared/data")
