// SPDX-License-Identifier: Apache-2.0
// Every model family on the CUDA backend, whose kernels are those of the fake device: logits as on the reference backend.
#include <QTest>
#include <algorithm>

#include "engine/serve/memory_plan.h"
#include "engine/serve/opened_model.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/support/fake_cuda/fake_device.h"
#include "tests/support/runner_driver.h"
#include "tests/support/test_class.h"
#include "tests/support/written_families.h"

namespace families_test {

using namespace lathe;
using namespace lathe::tests;
using kernels::Dtype;

namespace {

/// A family on the device, and on the reference backend.
class Family {
 public:
  Family(const std::string& path, Dtype dtype) : device_(path, on_device(dtype)), reference_(path, plain(dtype)) {
    // More rows than products with few rows have, where the model has so many positions.
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(41, device_.runner().limits().max_model_len));
    for (std::size_t i = 0; i < n; ++i) ids_.push_back(static_cast<std::int32_t>(i * 7 % 50 + 3));
  }

  /// The differences of the logits of rows, relative to the largest magnitude, ascending: of a prompt, and of its next token
  /// together with another prompt.
  std::vector<double> errors() {
    const std::span<const std::int32_t> text = ids_;
    const int n = static_cast<int>(text.size());
    std::vector<double> errors;
    for (const std::vector<DriverRows>& rows : {std::vector<DriverRows>{{0, text.first(text.size() - 1), n - 1}},
                                                std::vector<DriverRows>{{0, text, 1}, {1, text.first(5), 5}}}) {
      const Logits want = reference_.step(rows), got = device_.step(rows);
      for (std::size_t i = 0; i < want.size(); ++i)
        errors.push_back(largest_difference({got[i]}, {want[i]}) / largest_magnitude(want));
    }
    std::sort(errors.begin(), errors.end());
    return errors;
  }

  /// True if a prompt in two chunks gives the bits of one step.
  bool is_the_same_in_chunks() {
    const std::span<const std::int32_t> text = ids_;
    const int n = static_cast<int>(text.size()), n_second = 6;
    const Logits whole = device_.step({{2, text, n}});
    Logits parts = device_.step({{3, text.first(text.size() - n_second), n - n_second, n}});
    for (auto& row : device_.step({{3, text, n_second, n}})) parts.push_back(std::move(row));
    return parts == whole;
  }

 private:
  static RunnerChoice plain(Dtype dtype) { return {.dtype = dtype, .n_blocks = 4, .max_rows = 64}; }
  static RunnerChoice on_device(Dtype dtype) {
    RunnerChoice choice = plain(dtype);
    choice.wrap = [](std::unique_ptr<kernels::Backend>) { return std::make_unique<kernels::cuda::CudaBackend>(1); };
    return choice;
  }

  RunnerDriver device_, reference_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

class FamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void logits_are_those_of_the_reference_data() {
    QTest::addColumn<bool>("is_hopper");
    QTest::addColumn<QString>("family");
    for (const std::string& name : family_names()) {
      if (needs_recurrent_operations(name)) continue;  // refused, below
      for (const bool is_hopper : {true, false})
        QTest::newRow((name + (is_hopper ? "" : ", without wgmma")).c_str()) << is_hopper << QString::fromStdString(name);
    }
  }
  void logits_are_those_of_the_reference() {
    QFETCH(bool, is_hopper);
    QFETCH(QString, family);
    FakeDevice& device = FakeDevice::instance();
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      device.begin({.major = is_hopper ? 9 : 10});
      std::vector<double> errors;
      {
        Family on(family_path(family.toStdString()), dtype);
        errors = on.errors();
        QVERIFY(on.is_the_same_in_chunks());
      }
      QVERIFY2(device.violations().empty(), device.violations_text().c_str());
      QCOMPARE(device.n_buffers(), std::size_t{0});
      // Where x is rounded to bf16, some rows of some families choose other experts.
      const double error = dtype == Dtype::f32 ? errors.back() : errors[errors.size() / 2];
      QVERIFY2(error <= (dtype == Dtype::f32 ? 1e-4 : 4e-2), std::to_string(error).c_str());
    }
  }

  void recurrent_layers_are_refused_by_their_name() {
    FakeDevice::instance().begin({});
    const kernels::cuda::CudaBackend device(1);
    int n_refused = 0;
    for (const std::string& name : family_names()) {
      if (!needs_recurrent_operations(name)) continue;
      const auto model = engine::open_model(family_path(name));
      QVERIFY(model.has_value());
      const auto plan = engine::plan_memory(device, model->config, model->plan.stored, {}, std::nullopt);
      QVERIFY(!plan.has_value());
      QCOMPARE(plan.error().where, std::string("device"));
      QVERIFY2(plan.error().message.find("does not compute: use device cpu") != std::string::npos,
               plan.error().message.c_str());
      ++n_refused;
    }
    QVERIFY(n_refused >= 7);
  }
};

LATHE_TEST(FamiliesTest)

}  // namespace families_test
#include "families_test.moc"
