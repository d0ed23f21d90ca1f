// SPDX-License-Identifier: Apache-2.0
// ConversionPlan: the tensors that a conversion writes, in order, and the source of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/load/gguf/gguf_families.h"
#include "engine/load/weights_writer.h"
#include "engine/model/weight_storage.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

/// A tensor to be written, or the part of one that belongs to an expert or a head.
struct WrittenPart {
  /// How the source is written.
  enum class Form : std::uint8_t {
    numbers,        ///< elements rounded to `format`, in a floating type
    rounded_codes,  ///< codes of `format`, in blocks
    kept_codes,     ///< the source's own codes, which `format` has as well, in blocks
    as_it_is        ///< the source's bytes
  };
  WrittenTensor tensor;
  const PlannedWeight* source = nullptr;
  kernels::WeightFormat format = kernels::WeightFormat::f32;  ///< format that elements are rounded to
  TensorLayout layout = TensorLayout::plain;
  Form form = Form::numbers;
  std::vector<std::int64_t> whole{};        ///< shape of the tensor that contains this part; empty: the part is the tensor
  std::int64_t place = -1;                  ///< index among the parts of a tensor
  std::int64_t first_row = 0, n_rows = -1;  ///< rows of the source in plain order; -1: all
  /// Rows like the first that follow the part: of per-layer embeddings, which tokens without a row of their own read.
  std::int64_t n_copies = 0;
};

/// Whether the format consists of codes, not of floating-point elements.
bool is_coded(kernels::WeightFormat format);

struct ConversionPlan {
  std::vector<WrittenPart> parts;
  std::vector<WrittenTensor> tensors;  ///< one tensor for all its parts
  bool has_head_of_its_own = false;    ///< the rounded head differs from the embeddings that it shares
};

/// The requested form of the output.
struct ConversionChoice {
  WeightStorage storage;
  bool writes_codes = false;  ///< codes are written if the file format has them
  bool keeps_codes = false;   ///< no other format was requested: codes are kept
};

/// Plans a folder: tensors under the names of the family's own files, in floating types.
ConversionPlan plan_folder(const OpenedModel& model, const ConversionChoice& choice);
/// Plans a GGUF file. Errors: unsupported: a tensor has no name in GGUF files; invalid_argument: no GGUF block type has the
/// codes.
Result<ConversionPlan> plan_gguf(const OpenedModel& model, const ConversionChoice& choice, const GgufFamily& family);

}  // namespace lathe::engine
