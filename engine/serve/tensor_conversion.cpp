// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/tensor_conversion.h"

#include <algorithm>
#include <cstring>

#include "engine/load/gguf/written_blocks.h"
#include "engine/model/tensor_layout.h"
#include "kernels/api/coded_rows.h"

namespace lathe::engine {
namespace {

using kernels::Dtype;
using kernels::TensorView;
using Form = WrittenPart::Form;

// Bytes decoded between two writes: bounds the memory needed in addition to the tensor.
constexpr std::int64_t kBytesAtATime = 16LL << 20;

/// Stores a value in a floating type.
void store(float number, Dtype dtype, std::byte* out) {
  const std::uint16_t half = dtype == Dtype::f16 ? kernels::f32_to_f16(number) : kernels::f32_to_bf16(number);
  dtype == Dtype::f32 ? std::memcpy(out, &number, sizeof number) : std::memcpy(out, &half, sizeof half);
}

/// Views a vector as a matrix of one row.
TensorView as_matrix(const TensorView& source) {
  return source.rank == 1 ? TensorView(source.data, source.dtype, {1, source.dim(0)}) : source;
}

}  // namespace

TensorConversion::TensorConversion(const OpenedModel& model, kernels::Backend& backend, const Smoothing& smoothing)
    : model_(model),
      backend_(backend),
      smoothing_(smoothing),
      parallel_for_([this](std::int64_t n, const auto& body) { backend_.parallel_for(n, body); }) {}

Result<void> TensorConversion::write(const WrittenPart& part, WeightsWriter& writer) {
  switch (part.form) {
    case Form::numbers: return write_numbers(part, writer);
    case Form::rounded_codes:
    case Form::kept_codes: return write_codes(part, writer);
    case Form::as_it_is: return write_bytes(part, writer);
  }
  return {};
}

Result<void> TensorConversion::write_bytes(const WrittenPart& part, WeightsWriter& writer) {
  const StoredTensor& tensor = *part.source->tensor;
  if (tensor.type->dtype) check_.look_at(tensor.name, view_of(tensor, aligned_), parallel_for_);
  return writer.write(tensor.bytes);
}

TensorView TensorConversion::in_plain_order(const WrittenPart& part, const TensorView& stored) {
  const TensorView all = to_plain(backend_, part.source->layout, model_.config, stored, ordered_);
  return part.n_rows >= 0 ? all.rows(part.first_row, part.n_rows) : all;
}

TensorView TensorConversion::source_of(const WrittenPart& part) {
  const TensorView stored = view_of(*part.source->tensor, aligned_, parallel_for_);
  check_.look_at(part.source->tensor->name, stored, parallel_for_);
  const TensorView source = in_plain_order(part, stored);
  return source.rank == 1 ? source : smoothing_.applied(backend_, *part.source, source, smooth_);
}

Result<void> TensorConversion::write_numbers(const WrittenPart& part, WeightsWriter& writer) {
  const TensorView source = as_matrix(source_of(part));
  const auto factors = part.tensor.shape.size() == 1 ? std::span<const float>()
                                                     : smoothing_.factors_of(part.source->role, part.source->layer);
  const std::int64_t n_rows = source.dim(0), k = source.dim(1);
  const auto element_bytes = static_cast<std::int64_t>(size_of(part.tensor.dtype));
  const std::int64_t rows_at_a_time =
      std::max<std::int64_t>(1, kBytesAtATime / std::max<std::int64_t>(1, k * element_bytes));
  const kernels::RoundedTensor rounded(part.format, source, parallel_for_);
  const bool is_plain = part.layout == TensorLayout::plain;
  std::vector<std::byte> bytes, first_row,
      all;  // `all` collects a part whose layout in files is not plain, to reorder it at the end
  for (std::int64_t begin = 0; begin < n_rows; begin += rows_at_a_time) {
    const std::int64_t count = std::min(rows_at_a_time, n_rows - begin);
    bytes.resize(static_cast<std::size_t>(count * k * element_bytes));
    parallel_for_(count, [&](std::int64_t first, std::int64_t end) {
      std::vector<float> row(static_cast<std::size_t>(k));
      for (std::int64_t r = first; r < end; ++r) {
        rounded.row(begin + r, row);
        for (std::size_t i = 0; i < factors.size(); ++i) row[i] /= factors[i];
        std::byte* const to = bytes.data() + r * k * element_bytes;
        for (std::int64_t i = 0; i < k; ++i)
          store(row[static_cast<std::size_t>(i)], part.tensor.dtype, to + i * element_bytes);
      }
    });
    if (begin == 0 && part.n_copies > 0) first_row.assign(bytes.begin(), bytes.begin() + k * element_bytes);
    if (is_plain) {
      LATHE_TRY_VOID(writer.write(bytes));
    } else {
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
  }
  for (std::int64_t i = 0; i < part.n_copies; ++i) LATHE_TRY_VOID(writer.write(first_row));
  return is_plain ? Result<void>() : write_in_order(part, all, writer);
}

Result<void> TensorConversion::write_in_order(const WrittenPart& part, std::vector<std::byte>& all, WeightsWriter& writer) {
  const std::vector<std::int64_t>& shape = part.tensor.shape;
  const std::vector<std::int64_t> plain = stored_shape(part.layout, shape);  // transposing twice restores the shape
  // Convolutions in folders have a dimension of 1 between channels and taps.
  const TensorView rounded = shape.size() == 1 ? TensorView(all.data(), part.tensor.dtype, {plain[0]})
                                               : TensorView(all.data(), part.tensor.dtype, {plain[0], plain.back()});
  std::vector<std::byte> memory;
  const TensorView stored = to_stored(backend_, part.layout, model_.config, rounded, memory);
  return writer.write({stored.as<std::byte>(), stored.n_bytes()});
}

/// Rounds a part to codes, in the row layout of Backend::pack_rows.
TensorView TensorConversion::rounded_codes(const WrittenPart& part) {
  const TensorView source = source_of(part);
  const std::int64_t n_rows = source.dim(0), row_bytes = kernels::coded_row_bytes(part.format, source.dim(1));
  coded_.resize(static_cast<std::size_t>(n_rows * row_bytes));
  const kernels::RoundedTensor rounded(part.format, source, parallel_for_);
  parallel_for_(n_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      rounded.coded_row(
          r, std::span(coded_).subspan(static_cast<std::size_t>(r * row_bytes), static_cast<std::size_t>(row_bytes)));
    }
  });
  return {coded_.data(), Dtype::u8, {n_rows, row_bytes}};
}

/// Writes codes in blocks; layouts move rows of codes like any rows, and columns as whole blocks.
Result<void> TensorConversion::write_codes(const WrittenPart& part, WeightsWriter& writer) {
  const bool is_kept = part.form == Form::kept_codes;
  const TensorView plain = is_kept
                               ? in_plain_order(part, blocks_of(*part.source->tensor, part.format, coded_, parallel_for_))
                               : rounded_codes(part);
  const bool moves_columns = part.layout == TensorLayout::value_head_columns;
  std::vector<std::byte> memory;
  const TensorView rows = moves_columns ? plain : to_stored(backend_, part.layout, model_.config, plain, memory);
  std::vector<std::byte> blocks(part.tensor.n_bytes());
  const std::int64_t n_rows = part.tensor.shape[0];
  write_gguf_blocks(part.format, {rows.as<const std::byte>(), rows.n_bytes()}, n_rows * part.tensor.shape[1], blocks.data());
  if (!moves_columns) return writer.write(blocks);
  const TensorView in_blocks(blocks.data(), Dtype::u8, {n_rows, std::ssize(blocks) / n_rows});
  const TensorView moved = to_stored(backend_, part.layout, model_.config, in_blocks, memory);
  return writer.write({moved.as<const std::byte>(), moved.n_bytes()});
}

}  // namespace lathe::engine
