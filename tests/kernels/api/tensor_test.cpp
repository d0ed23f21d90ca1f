// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <vector>

#include "kernels/api/tensor.h"
#include "tests/support/test_class.h"

namespace tensor_test {

using namespace lathe::kernels;

class TensorTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_default_view_is_of_nothing() {
    const TensorView view;
    QCOMPARE(view.data, nullptr);
    QCOMPARE(view.rank, 0);
  }

  void strides_are_those_of_a_dense_tensor() {
    const TensorView view(nullptr, Dtype::f32, {2, 3, 5, 7});
    QCOMPARE(view.rank, 4);
    QCOMPARE(view.strides[3], std::int64_t{1});
    QCOMPARE(view.strides[2], std::int64_t{7});
    QCOMPARE(view.strides[1], std::int64_t{35});
    QCOMPARE(view.strides[0], std::int64_t{105});
    QCOMPARE(view.n_elements(), std::int64_t{210});
  }

  void bytes_follow_the_type() {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::u8, Dtype::i32, Dtype::i64}) {
      QCOMPARE(TensorView(nullptr, dtype, {3, 5}).n_bytes(), 15 * size_of(dtype));
    }
  }

  void an_empty_dimension_has_no_elements() {
    QCOMPARE(TensorView(nullptr, Dtype::f32, {4, 0, 3}).n_elements(), std::int64_t{0});
    QCOMPARE(TensorView(nullptr, Dtype::f32, {0}).n_bytes(), std::size_t{0});
  }

  void rows_are_found_in_memory() {
    std::vector<float> data(12);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i);
    const TensorView view(data.data(), Dtype::f32, {3, 4});
    QCOMPARE(view.row<float>(0)[0], 0.0F);
    QCOMPARE(view.row<float>(2)[3], 11.0F);
    QCOMPARE(view.as<float>() + 4, view.row<float>(1));
  }

  void a_part_of_the_rows_shares_the_memory() {
    std::vector<std::uint16_t> data(20);
    const TensorView view(data.data(), Dtype::bf16, {5, 4});
    const TensorView part = view.rows(2, 3);
    QCOMPARE(part.dim(0), std::int64_t{3});
    QCOMPARE(part.dim(1), std::int64_t{4});
    QCOMPARE(part.data, static_cast<void*>(data.data() + 8));
    part.row<std::uint16_t>(1)[2] = 7;
    QCOMPARE(data[14], std::uint16_t{7});
  }

  void parts_of_parts_add_up() {
    std::vector<float> data(30);
    const TensorView view(data.data(), Dtype::f32, {10, 3});
    QCOMPARE(view.rows(2, 7).rows(3, 2).data, view.rows(5, 2).data);
  }

  void strided_rows_keep_their_stride() {
    std::vector<float> data(40);
    TensorView view(data.data(), Dtype::f32, {4, 10});
    view.data = view.as<float>() + 3;
    view.shape[1] = 5;
    const TensorView part = view.rows(1, 2);
    QCOMPARE(part.strides[0], std::int64_t{10});
    QCOMPARE(part.row<float>(1), data.data() + 23);
  }
};

LATHE_TEST(TensorTest)

}  // namespace tensor_test
#include "tensor_test.moc"
