// SPDX-License-Identifier: Apache-2.0
// The quantized checkpoints of tests/fixtures/quantized, and copies of them that a test may spoil.
#pragma once

#include <QTemporaryDir>
#include <QTest>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/json.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {

struct QuantizedFolder {
  std::string_view name;
  std::string_view kept;  ///< weight format that its matrices stay in; empty: they become numbers
};

/// See make_quantized.py.
inline const std::vector<QuantizedFolder> kQuantizedFolders = {
    {"gptq-4bit", "int4_g32"},
    {"gptq-4bit-ordered", "int4_g32_asym"},
    {"gptq-4bit-desc-act", "int4_g32_asym"},
    {"gptq-8bit-desc-act", "int8_g64"},
    {"gptq-4bit-v2", "int4_g64_asym"},
    {"gptq-8bit", "int8_g128"},
    {"gptq-8bit-column", "int8_g128_asym"},
    {"gptq-marlin", "int4_g128"},
    {"awq", "int4_g32_asym"},
    {"awq-gemv", "int4_g32_asym"},
    {"awq-gemv-fast", "int4_g32_min"},
    {"awq-marlin", "int4_g64"},
    {"compressed-w8a8", "int8_channel"},
    {"compressed-w8a16", "int8_g128_asym"},
    {"compressed-w4a16", "int4_g32"},
    {"compressed-w4a16-asym", "int4_g64_asym"},
    {"compressed-w4a16-actorder", "int4_g32_asym"},
    {"compressed-w8a16-packed", "int8_g32"},
    {"compressed-marlin-24", "int4_g128"},
    {"compressed-marlin-24-int8", "int8_g128"},
    {"compressed-fp8", "fp8_weight_only"},
    {"compressed-fp8-dynamic", "fp8_weight_only"},
    {"compressed-fp8-block", ""},
    {"compressed-fp8-block-128", "fp8_g128"},
    {"fp8", "fp8_weight_only"},
    {"fp8-block", ""},
    {"fp8-block-128", "fp8_g128"},
    {"fbgemm-fp8", "fp8_weight_only"},
    {"bnb-8bit", "llm_int8"},
    {"bnb-nf4", "nf4"},
    {"bnb-nf4-over-rows", ""},
    {"bnb-fp4", "fp4"},
    {"mxfp4", "mxfp4"},
};

inline std::string quantized_path(std::string_view name) {
  return source_path("tests/fixtures/quantized/" + std::string(name));
}

/// A folder whose config and weights a test may change, gone with the object.
class QuantizedCopy {
 public:
  explicit QuantizedCopy(std::string_view name);
  std::string path() const { return folder_.path().toStdString(); }
  /// Changes the quantization of its config.
  void edit(const std::function<void(engine::Json&)>& change) const;
  /// Changes the header of its weights, whose data stays.
  void edit_header(const std::function<void(engine::Json&)>& change) const;
  /// The bytes of a tensor.
  std::string data_of(const std::string& tensor) const;
  /// Writes over bytes of a tensor.
  void edit_data(const std::string& tensor, std::size_t offset, const std::string& bytes) const;

 private:
  struct Weights {
    engine::Json header;
    std::string data;
  };
  Weights read() const;
  void write(const Weights& weights) const;

  QTemporaryDir folder_;
};

/// One data row for each folder, with the format in which its codes are kept.
inline void add_quantized_folders() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("kept");
  for (const QuantizedFolder& folder : kQuantizedFolders) {
    const QString name = QString::fromStdString(std::string(folder.name));
    QTest::newRow(qPrintable(name)) << name << QString::fromStdString(std::string(folder.kept));
  }
}

}  // namespace lathe::tests
