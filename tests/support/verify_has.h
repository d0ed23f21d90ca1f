// SPDX-License-Identifier: Apache-2.0
// VERIFY_HAS: a check of Qt Test that shows the whole text in which a part is missing.
#pragma once

#include <QTest>
#include <string>

#define VERIFY_HAS(text, part)                                      \
  do {                                                              \
    const std::string text_ = text;                                 \
    QVERIFY2(text_.find(part) != std::string::npos, text_.c_str()); \
  } while (false)
