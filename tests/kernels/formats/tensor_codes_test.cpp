// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/tensor_codes.h"

#include <QTest>
#include <cmath>
#include <thread>
#include <vector>

#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace tensor_codes_test {

using namespace lathe::kernels;

namespace {

void in_one_go(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) { body(0, n); }

void in_three_threads(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) {
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < 3; ++i) threads.emplace_back([=] { body(n * i / 3, n * (i + 1) / 3); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<const FormatDescriptor*> coded_formats() {
  std::vector<const FormatDescriptor*> formats;
  for (const FormatDescriptor& format : weight_formats()) {
    if (format.is_coded()) formats.push_back(&format);
  }
  return formats;
}

std::vector<float> decoded(const TensorCodes& codes, std::int64_t n_rows, std::int64_t k) {
  std::vector<float> all(static_cast<std::size_t>(n_rows * k));
  for (std::int64_t row = 0; row < n_rows; ++row) {
    codes.decoded_row(row, std::span(all).subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k)));
  }
  return all;
}

}  // namespace

class TensorCodesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Steps of 8 bits are at most 1 / 127 of the largest weight, gaps of e4m3 a 14th, of 4 bits a third: half of it is lost.
  /// MXFP4 cuts off what is above 6 eighths of a power of two.
  void weights_stay_near_what_they_were() {
    RandomNumbers numbers(1);
    for (const FormatDescriptor* format : coded_formats()) {
      for (const std::int64_t k : {64, 172, 300}) {
        const RandomTensor source(Dtype::f32, {9, k}, numbers);
        const std::vector<float> got = decoded(TensorCodes(format->codes, source.view(), in_one_go), 9, k);
        const bool is_e4m3 = format->codes.kind == CodeElement::e4m3;
        const bool cuts_off = format->format == WeightFormat::mxfp4 || format->format == WeightFormat::mxfp4_weight_only;
        const double of_4_bits = cuts_off ? 0.25 : 0.17;
        const double most = is_e4m3 ? 0.5 / 14 : format->codes.bits == 8 ? 0.5 / 127 : of_4_bits;
        for (std::size_t i = 0; i < got.size(); ++i) {
          QVERIFY2(std::fabs(got[i] - source.view().as<float>()[i]) <= most * 1.1, format->name.data());
        }
      }
    }
  }

  void codes_and_scales_are_what_a_row_decodes_to() {
    RandomNumbers numbers(2);
    const RandomTensor source(Dtype::f32, {5, 192}, numbers);
    for (const FormatDescriptor* format : coded_formats()) {
      const TensorCodes tensor(format->codes, source.view(), in_one_go);
      std::vector<std::uint8_t> codes(192);
      std::vector<CodeScale> scales(static_cast<std::size_t>(tensor.scales_of_row()));
      std::vector<float> weights(192);
      for (std::int64_t row = 0; row < 5; ++row) {
        tensor.row(row, weights, codes, scales);
        tensor.decoded_row(row, weights);
        for (std::size_t i = 0; i < 192; ++i) {
          const std::size_t group = format->codes.group == 0 ? 0 : i / static_cast<std::size_t>(format->codes.group);
          const bool nested = format->codes.scales == ScaleLayout::nested;
          const CodeScale scale =
              nested ? CodeScale{tensor.nested().at(static_cast<std::size_t>(row) * scales.size() + group)} : scales[group];
          QVERIFY(weights[i] == format->codes.decode(format->codes, codes[i], scale));
        }
      }
    }
  }

  void every_source_type_is_read() {
    RandomNumbers numbers(3);
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
      const RandomTensor source(dtype, {4, 130}, numbers);
      std::vector<float> wide(4 * 130);
      load_elements(source.view().data, dtype, 0, wide);
      const TensorView same(wide.data(), Dtype::f32, {4, 130});
      for (const FormatDescriptor* format : coded_formats()) {
        QVERIFY(decoded(TensorCodes(format->codes, source.view(), in_one_go), 4, 130) ==
                decoded(TensorCodes(format->codes, same, in_one_go), 4, 130));
      }
    }
  }

  void threads_find_the_same_scales() {
    RandomNumbers numbers(4);
    const RandomTensor source(Dtype::f32, {33, 100}, numbers);
    for (const FormatDescriptor* format : coded_formats()) {
      QVERIFY(decoded(TensorCodes(format->codes, source.view(), in_one_go), 33, 100) ==
              decoded(TensorCodes(format->codes, source.view(), in_three_threads), 33, 100));
    }
  }

  /// 100 weights a row: blocks of 64 begin at weights 0, 64 and 28 of the first two rows.
  void blocks_run_on_into_the_next_row() {
    std::vector<float> weights(200, 0.5F);
    weights[99] = 8;  // in the block that ends at weight 28 of the second row
    const TensorView source(weights.data(), Dtype::f32, {2, 100});
    const CodedFormat& format = descriptor_of(WeightFormat::nf4).codes;
    QVERIFY(!rows_begin_groups(format, 100) && rows_begin_groups(format, 128));
    const std::vector<float> got = decoded(TensorCodes(format, source, in_one_go), 2, 100);
    QCOMPARE(got[63], 0.5F);
    QCOMPARE(got[64], 0.07958029955625534F * 8);  // 0.5 of 8 is nearest to that
    QCOMPARE(got[127], 0.07958029955625534F * 8);
    QCOMPARE(got[128], 0.5F);
  }

  void groups_of_a_row_end_with_it() {
    for (const FormatDescriptor* format : coded_formats()) {
      if (!format->codes.groups_span_rows) QVERIFY(rows_begin_groups(format->codes, 17));
    }
    const CodedFormat& format = descriptor_of(WeightFormat::int8_g32).codes;
    std::vector<float> weights(80, 1.0F);
    weights[40] = 127;
    const std::vector<float> got = decoded(TensorCodes(format, {weights.data(), Dtype::f32, {2, 40}}, in_one_go), 2, 40);
    QVERIFY(std::fabs(got[39] - 1.0F) < 1e-3F);  // a scale of 1 / 127 in f16
    QCOMPARE(got[41], 1.0F);                     // of 127: exactly one step
    QCOMPARE(got[40], 127.0F);
  }
};

LATHE_TEST(TensorCodesTest)

}  // namespace tensor_codes_test
#include "tensor_codes_test.moc"
