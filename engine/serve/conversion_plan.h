// SPDX-License-Identifier: Apache-2.0
// ConversionPlan: the tensors that a conversion writes, in their order, and what each is made of.
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

/// A tensor that is to be written, or an expert's or a head's part of one.
struct WrittenPart {
  /// What becomes of the source.
  enum class Form : std::uint8_t {
    numbers,        ///< the numbers of its format, in a floating type
    rounded_codes,  ///< the codes of its format, in blocks
    kept_codes,     ///< its own, which its format has as well, in blocks
    as_it_is        ///< its bytes
  };
  WrittenTensor tensor;
  const PlannedWeight* source = nullptr;
  kernels::WeightFormat format = kernels::WeightFormat::f32;  ///< that its numbers are rounded to
  TensorLayout layout = TensorLayout::plain;
  Form form = Form::numbers;
  std::vector<std::int64_t> whole{};        ///< shape of the tensor that this is a part of; empty: it is all of it
  std::int64_t place = -1;                  ///< among the parts of a tensor
  std::int64_t first_row = 0, n_rows = -1;  ///< of the source in plain order; -1: all
};

/// Whether it has codes, and not numbers alone.
bool is_coded(kernels::WeightFormat format);

struct ConversionPlan {
  std::vector<WrittenPart> parts;
  std::vector<WrittenTensor> tensors;  ///< one for all parts that it is made of
  bool has_head_of_its_own = false;    ///< the head computes with other numbers than the embeddings that it shares
};

/// What a conversion was asked for.
struct ConversionChoice {
  WeightStorage storage;
  bool writes_codes = false;  ///< where the file's format has them
  bool keeps_codes = false;   ///< nothing else was asked for: what is codes already stays so
};

/// Under the names of the family's own files, as numbers.
ConversionPlan plan_folder(const OpenedModel& model, const ConversionChoice& choice);
/// Under the names of GGUF files. Errors: unsupported: a tensor has no name there; invalid_argument: codes have no blocks
/// there.
Result<ConversionPlan> plan_gguf(const OpenedModel& model, const ConversionChoice& choice, const GgufFamily& family);

}  // namespace lathe::engine
