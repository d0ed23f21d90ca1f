// SPDX-License-Identifier: Apache-2.0
// Where each code and each scale lies after packing: cpu/table/coded_layout.h, read byte by byte.
#include <QTest>
#include <cstring>

#include "kernels/api/coded_rows.h"
#include "kernels/api/packed_image.h"
#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/isa/encoders.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/cpu/table/coded_layout.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace panel_codes_test {

using namespace lathe::kernels;

namespace {

constexpr std::int64_t kRows = 19;

void in_one_go(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) { body(0, n); }

PanelMatrix packed(WeightFormat format, const TensorView& source, std::int64_t k) {
  ThreadPool pool(2);
  const std::int64_t n = source.dim(0);
  PanelMatrix matrix(format, n, k, allocate_host(PanelMatrix::bytes_for(format, n, k)));
  matrix.pack_rows(0, source, pool, encoders_of(find_isa({})->name));
  return matrix;
}

PanelMatrix packed(WeightFormat format, const TensorView& source) { return packed(format, source, source.dim(1)); }

/// Rows with any codes at all, and scales of either sign.
struct CodedRows {
  CodedRows(WeightFormat format, std::int64_t k, RandomNumbers& numbers)
      : n_groups((k + group_of(format, k) - 1) / group_of(format, k)), bytes(kRows * bytes_of_row(format, k)) {
    const CodedFormat& codes_format = descriptor_of(format).codes;
    const unsigned n_codes = codes_format.kind == CodeElement::e4m3 ? 127 : 1U << codes_format.bits;
    for (unsigned i = 0; i < kRows * k; ++i) codes.push_back(static_cast<std::uint8_t>(i * 37 % n_codes));
    codes.back() = 0;  // the lowest code
    for (std::int64_t i = 0; i < kRows * n_groups; ++i) {
      scales.push_back(f16_to_f32(f32_to_f16(numbers.next())));
      if (codes_format.has_zeros()) zeros.push_back(static_cast<float>(i * 11 % n_codes));
    }
    for (std::int64_t n = 0; n < kRows; ++n) {
      write_coded_row(format, row(n, k), bytes.data() + static_cast<std::size_t>(n) * bytes_of_row(format, k));
    }
  }
  static std::size_t bytes_of_row(WeightFormat format, std::int64_t k) {
    return static_cast<std::size_t>(coded_row_bytes(format, k));
  }
  CodedRow row(std::int64_t n, std::int64_t k) const {
    const auto of_row = [&](const std::vector<float>& all) {
      return all.empty()
                 ? std::span<const float>()
                 : std::span(all).subspan(static_cast<std::size_t>(n * n_groups), static_cast<std::size_t>(n_groups));
    };
    return {.codes = std::span(codes).subspan(static_cast<std::size_t>(n * k), static_cast<std::size_t>(k)),
            .scales = of_row(scales),
            .zeros = of_row(zeros)};
  }
  TensorView view() const { return {const_cast<std::byte*>(bytes.data()), Dtype::u8, {kRows, std::ssize(bytes) / kRows}}; }
  std::int64_t n_groups;
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> codes;
  std::vector<float> scales, zeros;
};

/// Code (n, k) as the layout says.
std::uint8_t code_at(const PanelMatrix& matrix, std::int64_t n, std::int64_t k) {
  const CodedFormat& format = descriptor_of(matrix.format()).codes;
  const std::byte* const panel = matrix.data() + n / kPanelColumns * matrix.panel_bytes();
  const std::int64_t column = n % kPanelColumns, quad = k / kQuad;
  if (format.kind == CodeElement::e4m3) return static_cast<std::uint8_t>(panel[k * kPanelColumns + column]);
  if (format.bits == 8) return static_cast<std::uint8_t>(panel[quad * kPanelColumns * kQuad + column * kQuad + k % kQuad]);
  const auto both = static_cast<unsigned>(panel[quad / 2 * kPanelColumns * kQuad + column * kQuad + k % kQuad]);
  return static_cast<std::uint8_t>(quad % 2 == 0 ? both & 15U : both >> 4);
}

float half_at(const std::byte* from) {
  std::uint16_t half = 0;
  std::memcpy(&half, from, sizeof half);
  return f16_to_f32(half);
}

/// Scale (n, group) as the layout says.
float scale_at(const PanelMatrix& matrix, const CodedPanel& shape, std::int64_t n, std::int64_t group) {
  const std::byte* const scales = matrix.data() + n / kPanelColumns * matrix.panel_bytes() + shape.codes_bytes();
  const std::int64_t at = group * kPanelColumns + n % kPanelColumns;
  if (shape.scales == ScaleLayout::half) return half_at(scales + 2 * at);
  if (shape.scales == ScaleLayout::paired) return half_at(scales + 2 * (2 * group * kPanelColumns + n % kPanelColumns));
  float single = 0;
  if (shape.scales == ScaleLayout::minned) {
    std::memcpy(&single, scales + 4 * (2 * group * kPanelColumns + n % kPanelColumns), sizeof single);
    return single;
  }
  std::memcpy(&single, scales + 4 * (shape.scales == ScaleLayout::channel ? n % kPanelColumns : at), sizeof single);
  return single;
}

/// Zero point or minimum (n, group) of a layout that has some.
float zero_at(const PanelMatrix& matrix, const CodedPanel& shape, std::int64_t n, std::int64_t group) {
  const std::byte* const scales = matrix.data() + n / kPanelColumns * matrix.panel_bytes() + shape.codes_bytes();
  const auto middle = static_cast<float>(1 << (shape.bits - 1));
  const std::int64_t at = (2 * group + 1) * kPanelColumns + n % kPanelColumns;
  if (shape.scales == ScaleLayout::minned) {
    float offset = 0;
    std::memcpy(&offset, scales + 4 * at, sizeof offset);
    return std::fma(-middle, offset, -middle * scale_at(matrix, shape, n, group));
  }
  return half_at(scales + 2 * at) * middle + middle;
}

}  // namespace

class PanelCodesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_code_and_scale_lies_where_the_layout_says() {
    RandomNumbers numbers(5);
    for (const std::int64_t k : {64, 192, 256}) {
      const RandomTensor source(Dtype::f32, {kRows, k}, numbers);
      for (const FormatDescriptor& format : weight_formats()) {
        if (!format.is_coded() || format.codes.scales == ScaleLayout::nested) continue;
        const PanelMatrix matrix = packed(format.format, source.view());
        const TensorCodes want(format.codes, source.view(), in_one_go);
        const auto whole_row = static_cast<int>(format.codes.kind == CodeElement::e4m3 ? kPair : kActivationBlock);
        const CodedPanel shape{.k = k,
                               .bits = format.codes.bits,
                               .group = format.codes.group == 0 ? whole_row : format.codes.group,
                               .scales = format.codes.scales};
        std::vector<float> room(static_cast<std::size_t>(k));
        std::vector<CodeScale> scales(static_cast<std::size_t>(want.scales_of_row()));
        std::vector<std::uint8_t> codes(static_cast<std::size_t>(k));
        for (std::int64_t n = 0; n < kRows; ++n) {
          want.row(n, room, codes, scales);
          for (std::int64_t i = 0; i < k; ++i) QCOMPARE(code_at(matrix, n, i), codes[static_cast<std::size_t>(i)]);
          for (std::size_t i = 0; i < scales.size(); ++i) {
            const auto group = static_cast<std::int64_t>(i);
            QCOMPARE(scale_at(matrix, shape, n, group), scales[i].scale * format.codes.step);  // the step of an f16 is 1
            if (format.codes.has_zeros()) QCOMPARE(zero_at(matrix, shape, n, group), scales[i].zero);
          }
        }
      }
    }
  }

  void codes_that_are_there_are_packed_as_they_are() {
    RandomNumbers numbers(8);
    for (const std::int64_t k : {64, 192, 160}) {
      for (const FormatDescriptor& format : weight_formats()) {
        if (coded_row_bytes(format.format, k) == 0) continue;
        const CodedRows rows(format.format, k, numbers);
        const PanelMatrix matrix = packed(format.format, rows.view(), k);
        const auto whole_row = static_cast<int>(format.codes.kind == CodeElement::e4m3 ? kPair : kActivationBlock);
        const int group = format.codes.group == 0 ? whole_row : format.codes.group;
        const CodedPanel shape{.k = k, .bits = format.codes.bits, .group = group, .scales = format.codes.scales};
        for (std::int64_t n = 0; n < kRows; ++n) {
          const CodedRow row = rows.row(n, k);
          for (std::int64_t i = 0; i < k; ++i) QCOMPARE(code_at(matrix, n, i), row.codes[static_cast<std::size_t>(i)]);
          for (std::size_t i = 0; i < row.scales.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            QCOMPARE(scale_at(matrix, shape, n, at), row.scales[i] * format.codes.step);
            if (!row.zeros.empty()) QCOMPARE(zero_at(matrix, shape, n, at), row.zeros[i]);
          }
        }
      }
    }
  }

  /// Also with the lowest code of 8 bits, which int8_g32 never chooses itself, and with scales below zero.
  void products_of_codes_that_are_there_are_those_of_their_numbers() {
    RandomNumbers numbers(9);
    const auto reference = make_reference_backend();
    for (const std::int64_t k : {160, 192}) {
      const RandomTensor x(Dtype::f32, {7, k}, numbers);
      for (const FormatDescriptor& format : weight_formats()) {
        if (coded_row_bytes(format.format, k) == 0) continue;
        const CodedRows rows(format.format, k, numbers);
        const RandomTensor want({7, kRows});
        const auto plain = reference->make_packed(format.format, kRows, k);
        reference->pack_rows(*plain, 0, rows.view());
        reference->linear(want.view(), x.view(), *plain, {});
        for (const std::string& isa : cpu_isas()) {
          const auto backend = make_cpu_backend({.n_threads = 2, .isa = isa});
          const RandomTensor got({7, kRows});
          const auto matrix = backend->make_packed(format.format, kRows, k);
          backend->pack_rows(*matrix, 0, rows.view());
          backend->linear(got.view(), x.view(), *matrix, {});
          const double most = format.codes.kind == CodeElement::e4m3 ? 0.05 : 0.01;
          QVERIFY2(relative_error(got.view(), want.view()) <= most, (isa + " " + std::string(format.name)).c_str());
        }
      }
    }
  }

  void rows_that_a_format_has_no_place_for_are_told() {
    QCOMPARE(coded_row_bytes(WeightFormat::f32, 64), 0);
    QCOMPARE(coded_row_bytes(WeightFormat::nf4_nested, 64), 0);  // its scales are codes themselves
    QCOMPARE(coded_row_bytes(WeightFormat::nf4, 96), 0);         // a block would end in the next row
    QCOMPARE(coded_row_bytes(WeightFormat::int4_g32, 80), 0);    // GGUF's blocks are whole
    QCOMPARE(coded_row_bytes(WeightFormat::int4_g32, 64), 2 * 18);
    QCOMPARE(coded_row_bytes(WeightFormat::int4_g64_asym, 80), 2 * 8 + 80);
    QCOMPARE(coded_row_bytes(WeightFormat::int8_channel, 80), 4 + 80);
  }

  /// A row of 100 weights ends inside a group, and inside a pair of quads.
  void what_follows_the_last_weight_is_left_alone() {
    RandomNumbers numbers(6);
    const RandomTensor source(Dtype::f32, {16, 100}, numbers);
    for (const WeightFormat format : {WeightFormat::int8_g32, WeightFormat::int4_g32}) {
      const PanelMatrix matrix = packed(format, source.view());
      for (std::int64_t n = 0; n < 16; ++n) {
        for (std::int64_t k = 100; k < 128; ++k) QCOMPARE(code_at(matrix, n, k), std::uint8_t{0});
      }
    }
  }

  void an_image_is_the_whole_matrix() {
    RandomNumbers numbers(7);
    const RandomTensor source(Dtype::f32, {40, 128}, numbers);
    const auto backend = make_cpu_backend({.n_threads = 1});
    for (const FormatDescriptor& format : weight_formats()) {
      const auto matrix = backend->make_packed(format.format, 40, 128), copy = backend->make_packed(format.format, 40, 128);
      backend->pack_rows(*matrix, 0, source.view());
      const auto from = image_of(*matrix), to = image_of(*copy);
      QCOMPARE(from.size(), matrix->n_bytes());
      std::memcpy(to.data(), from.data(), from.size());
      const RandomTensor a({2, 40}), b({2, 40}), x(Dtype::f32, {2, 128}, numbers);
      backend->linear(a.view(), x.view(), *matrix, {});
      backend->linear(b.view(), x.view(), *copy, {});
      QVERIFY2(std::memcmp(a.view().data, b.view().data, a.view().n_bytes()) == 0, format.name.data());
    }
    const auto reference = make_reference_backend();
    QVERIFY(image_of(*reference->make_packed(WeightFormat::f32, 4, 4)).empty());
    QVERIFY(!image_layout().empty());
  }
};

LATHE_TEST(PanelCodesTest)

}  // namespace panel_codes_test
#include "panel_codes_test.moc"
