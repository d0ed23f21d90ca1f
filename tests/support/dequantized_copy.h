// SPDX-License-Identifier: Apache-2.0
// A checkpoint of codes as one of numbers, to compare with.
#pragma once

#include <QTemporaryDir>
#include <string>

#include "engine/api/convert.h"

namespace lathe::tests {

/// The same model with float32 numbers in the place of codes, in `folder`.
inline std::string dequantized_copy(const std::string& path, const QTemporaryDir& folder) {
  engine::EngineOptions options;
  options.model = path;
  options.dtype = "float32";
  const std::string output = folder.filePath(QStringLiteral("numbers")).toStdString();
  const auto report = engine::convert_checkpoint(options, {.output = output}, {});
  if (!report) qFatal("%s", report.error().message.c_str());
  return output;
}

}  // namespace lathe::tests
