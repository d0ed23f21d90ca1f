// SPDX-License-Identifier: Apache-2.0
#include "tests/support/german_locale.h"

#include <QProcess>
#include <clocale>
#include <cstring>

namespace lathe::tests {

GermanLocale::GermanLocale() {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) {
    const QString compiled = folder_.filePath("de_DE.UTF-8");
    QProcess::execute("sh", {"-c", "localedef -i de_DE -f UTF-8 \"$0\" >/dev/null 2>&1", compiled});
    qputenv("LOCPATH", folder_.path().toUtf8());
    std::setlocale(LC_ALL, "de_DE.UTF-8");
  }
  active_ = std::strcmp(std::localeconv()->decimal_point, ",") == 0;
}

GermanLocale::~GermanLocale() {
  std::setlocale(LC_ALL, "C");
  qunsetenv("LOCPATH");
}

}  // namespace lathe::tests
