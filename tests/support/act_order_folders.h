// SPDX-License-Identifier: Apache-2.0
// ActOrderFolders: a checkpoint as GPTQ leaves it with desc_act, and one with the numbers that its codes stand for.
#pragma once

#include <QTemporaryDir>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace lathe::tests {

/// Codes of 4 bits with zero points, in groups of 32 that lie here and there.
struct ActOrder {
  /// Name of the activations that a matrix, "model.layers.0.mlp.up_proj", reads: those with one name have one order.
  std::function<std::string(const std::string& matrix)> reads;
  int zero_offset = 1;  ///< what is missing in stored zero points: 1 in the first form of such files, 0 in "gptq_v2"
};

/// As GPTQ gives them: q, k and v have one order, gate and up one, of each expert too.
std::string what_it_reads(const std::string& matrix);

/// Each row meets all experts, so that rounding changes no choice among them. Gone with the object.
class ActOrderFolders {
 public:
  /// family: of tests/fixtures/families, with matrices in bf16.
  ActOrderFolders(std::string_view family, const ActOrder& order);
  std::string codes() const { return folder_.filePath(QStringLiteral("codes")).toStdString(); }
  std::string numbers() const { return folder_.filePath(QStringLiteral("numbers")).toStdString(); }

 private:
  QTemporaryDir folder_;
};

}  // namespace lathe::tests
