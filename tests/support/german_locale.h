// SPDX-License-Identifier: Apache-2.0
// A locale that writes 1,5 for one and a half, compiled for the test when the machine has none.
#pragma once

#include <QTemporaryDir>

namespace lathe::tests {

/// Sets LC_ALL to de_DE.UTF-8 while it lives.
class GermanLocale {
 public:
  GermanLocale();
  ~GermanLocale();
  GermanLocale(const GermanLocale&) = delete;
  GermanLocale& operator=(const GermanLocale&) = delete;
  /// False on a machine without the sources of locales.
  bool active() const { return active_; }

 private:
  QTemporaryDir folder_;
  bool active_ = false;
};

}  // namespace lathe::tests
