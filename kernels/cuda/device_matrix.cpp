// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device_matrix.h"

#include <algorithm>

#include "kernels/cuda/ops/check.cuh"
#include "kernels/cuda/stored_format.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"

namespace lathe::kernels::cuda {
namespace {

// Bytes of the source that are copied at a time: enough for the copy to run at full speed.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;

std::int64_t rows_of_piece(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, kPieceBytes / std::max<std::int64_t>(row_bytes, 1));
}

/// A copy in device memory, made in the stream, so that later work of the stream reads complete data.
DeviceBuffer copied(Stream stream, const void* data, std::size_t n_bytes) {
  DeviceBuffer buffer;
  buffer.require(n_bytes, "a copy of weights");
  check(cudaMemcpyAsync(buffer.data(), data, n_bytes, cudaMemcpyHostToDevice, stream), "copying weights");
  return buffer;
}

/// Codes [rows, k] of some rows and their scales [rows, groups][2]: the scale, then the zero point or minimum.
struct RowsOfCodes {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};

class RowEncoder {
 public:
  RowEncoder(const CodedFormat& format, const StoredMatrix& stored, const TensorView& source,
             const ParallelFor& parallel_for)
      : format_(format), stored_(stored), tensor_(format, source, parallel_for) {}

  std::int64_t n_groups() const { return tensor_.scales_of_row(); }

  RowsOfCodes rows(std::int64_t begin, std::int64_t count, const ParallelFor& parallel_for) const {
    const auto k = static_cast<std::size_t>(stored_.layout.k), n_groups = static_cast<std::size_t>(this->n_groups());
    RowsOfCodes rows{.codes = std::vector<std::uint8_t>(static_cast<std::size_t>(count) * k),
                     .scales = std::vector<float>(static_cast<std::size_t>(count) * n_groups * 2)};
    parallel_for(count, [&](std::int64_t first, std::int64_t end) {
      std::vector<float> weights(k);
      std::vector<CodeScale> scales(n_groups);
      for (std::int64_t i = first; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        tensor_.row(begin + i, weights, {rows.codes.data() + at * k, k}, scales);
        for (std::size_t g = 0; g < n_groups; ++g)
          store_scale(&rows.scales[(at * n_groups + g) * 2], begin + i, g, scales[g]);
      }
    });
    return rows;
  }

 private:
  void store_scale(float* to, std::int64_t row, std::size_t group, const CodeScale& scale) const {
    const bool is_nested = format_.scales == ScaleLayout::nested;
    const float number = is_nested ? tensor_.nested().at(static_cast<std::size_t>(row * n_groups()) + group) : scale.scale;
    to[0] = stored_scale(format_, stored_, number);
    to[1] = scale.zero;
  }

  const CodedFormat& format_;
  const StoredMatrix& stored_;
  TensorCodes tensor_;
};

}  // namespace

std::size_t DeviceMatrix::bytes_for(WeightFormat format, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>(stored_matrix(format, n, k).layout.n_bytes());
}

std::unique_ptr<DeviceMatrix> DeviceMatrix::create(WeightFormat format, std::int64_t n, std::int64_t k) {
  if (bytes_for(format, n, k) > free_device_bytes()) return nullptr;
  DeviceBuffer buffer = DeviceBuffer::allocate(bytes_for(format, n, k), true);
  if (buffer.data() == nullptr) return nullptr;
  return std::unique_ptr<DeviceMatrix>(new DeviceMatrix(format, stored_matrix(format, n, k), std::move(buffer)));
}

DeviceMatrix::DeviceMatrix(WeightFormat format, const StoredMatrix& stored, DeviceBuffer buffer)
    : format_(format), stored_(stored), buffer_(std::move(buffer)) {
  stored_.weights = buffer_.data();
  stored_.scales = buffer_.as<std::byte>() + stored_.layout.weight_bytes();
}

StoredMatrix DeviceMatrix::stored() const {
  StoredMatrix stored = stored_;
  stored.order = input_order().empty() ? nullptr : input_order().data();
  return stored;
}

void DeviceMatrix::pack_rows(Stream stream, std::int64_t row_begin, const TensorView& source,
                             const ParallelFor& parallel_for) {
  const FormatDescriptor& format = descriptor_of(format_);
  LATHE_CHECK(row_begin >= 0 && row_begin + source.dim(0) <= n());
  LATHE_CHECK(weights_of_row(format.codes, source) == k());
  if (source.dim(0) == 0) return;
  if (is_stored_coded(stored_)) return pack_codes(stream, row_begin, source, parallel_for);
  if (!format.is_coded()) return pack_floats(stream, row_begin, source);
  const TensorCodes codes(format.codes, source, parallel_for);
  std::vector<float> row(static_cast<std::size_t>(k()));
  for (std::int64_t r = 0; r < source.dim(0); ++r) {
    codes.decoded_row(r, row);
    pack_floats(stream, row_begin + r, {row.data(), Dtype::f32, {1, k()}});
  }
}

void DeviceMatrix::pack_floats(Stream stream, std::int64_t row_begin, const TensorView& source) {
  const auto width = static_cast<std::int64_t>(size_of(source.dtype));
  LATHE_CHECK(is_floating(source.dtype));
  const std::int64_t piece = rows_of_piece(k() * width);
  for (std::int64_t begin = 0; begin < source.dim(0); begin += piece) {
    const std::int64_t count = std::min(piece, source.dim(0) - begin);
    DeviceBuffer rows;
    rows.require(static_cast<std::size_t>(count * k() * width), "a copy of weights");
    check(cudaMemcpy2DAsync(rows.data(), static_cast<std::size_t>(k() * width), source.rows(begin, count).data,
                            static_cast<std::size_t>(source.strides[0] * width), static_cast<std::size_t>(k() * width),
                            static_cast<std::size_t>(count), cudaMemcpyHostToDevice, stream),
          "copying weights");
    cuda::pack_floats(stream, stored_, row_begin + begin, rows.data(), source.dtype, count);
    check(cudaStreamSynchronize(stream), "packing weights");
  }
}

void DeviceMatrix::pack_codes(Stream stream, std::int64_t row_begin, const TensorView& source,
                              const ParallelFor& parallel_for) {
  const RowEncoder encoder(descriptor_of(format_).codes, stored_, source, parallel_for);
  const std::int64_t piece = rows_of_piece(k() + encoder.n_groups() * 8);
  for (std::int64_t begin = 0; begin < source.dim(0); begin += piece) {
    const std::int64_t count = std::min(piece, source.dim(0) - begin);
    const RowsOfCodes rows = encoder.rows(begin, count, parallel_for);
    const DeviceBuffer codes = copied(stream, rows.codes.data(), rows.codes.size());
    const DeviceBuffer scales = copied(stream, rows.scales.data(), rows.scales.size() * sizeof(float));
    cuda::pack_codes(stream, stored_, row_begin + begin, codes.as<std::uint8_t>(), scales.as<float>(), count,
                     encoder.n_groups());
    check(cudaStreamSynchronize(stream), "packing weights");
  }
}

}  // namespace lathe::kernels::cuda
