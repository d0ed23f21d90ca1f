// SPDX-License-Identifier: Apache-2.0
// An MLP of weights in codes is its products.
#include <cmath>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/coded_product.h"
#include "tests/support/test_class.h"

namespace coded_mlp_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;

void check_mlp(Backend& backend, WeightFormat format, std::int64_t hidden, std::int64_t inner) {
  RandomNumbers numbers(9);
  const RandomTensor gate(Dtype::f32, {inner, hidden}, numbers, 0.1F), up(Dtype::f32, {inner, hidden}, numbers, 0.1F);
  const RandomTensor down(Dtype::f32, {hidden, inner}, numbers, 0.1F);
  const auto gate_matrix = packed(backend, format, gate.view()), up_matrix = packed(backend, format, up.view());
  const auto down_matrix = packed(backend, format, down.view());
  for (const std::int64_t m : {1, 5, 20, 250}) {
    const RandomTensor x(Dtype::f32, {m, hidden}, numbers);
    const RandomTensor gated({m, inner}), upped({m, inner}), want({m, hidden}), got({m, hidden});
    backend.linear(gated.view(), x.view(), *gate_matrix, kNoBias);
    backend.linear(upped.view(), x.view(), *up_matrix, kNoBias);
    for (std::int64_t i = 0; i < m * inner; ++i) {
      const double g = gated.view().as<float>()[i];
      gated.view().as<float>()[i] = static_cast<float>(g / (1 + std::exp(-g)) * upped.view().as<float>()[i]);
    }
    backend.linear(want.view(), gated.view(), *down_matrix, kNoBias);
    backend.mlp(got.view(), {.x = x.view()}, {.gate = gate_matrix.get(), .up = *up_matrix, .down = *down_matrix});
    // silu's last bit may tip a code to its neighbour: one of 1,100 of them, by a 127th; of e4m3 by a 14th.
    const double error = relative_error(got.view(), want.view());
    QVERIFY2(
        error <= (descriptor_of(format).codes.kind == CodeElement::e4m3 ? 1e-2 : 2e-3),
        qPrintable(
            QStringLiteral("%1, %2 rows: %3").arg(QString::fromUtf8(descriptor_of(format).name.data())).arg(m).arg(error)));
  }
}

}  // namespace

class CodedMlpTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// The MLP packs what goes into `down` chunk by chunk; the same products apart give the same.
  void an_mlp_is_its_products_data() { add_isa_rows(); }
  void an_mlp_is_its_products() {
    const auto backend = backend_of_row();
    for (const WeightFormat format : coded_formats()) {
      check_mlp(*backend, format, 192, 1088);
      check_mlp(*backend, format, 192, 1100);  // where groups of `down` may run on
    }
  }
};

LATHE_TEST(CodedMlpTest)

}  // namespace coded_mlp_test
#include "coded_mlp_test.moc"
