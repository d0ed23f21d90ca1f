// SPDX-License-Identifier: Apache-2.0
#include "engine/load/expert_stacks.h"

#include <QTest>
#include <fstream>

#include "engine/load/loaders.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace expert_stacks_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

/// A checkpoint of one tensor of F16 with that name and shape, its bytes count up.
Checkpoint checkpoint_of(const std::string& name, const std::vector<std::int64_t>& shape) {
  std::size_t n = 2;
  for (const std::int64_t size : shape) n *= static_cast<std::size_t>(size);
  const Json header = {{name, {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {0, n}}}}};
  const QTemporaryDir folder;
  const std::string path = folder.path().toStdString();
  tests::write_file(path + "/model.safetensors", tests::safetensors_bytes(header.dump(), n));
  tests::write_file(path + "/config.json", "{}");
  return open_checkpoint(*ModelFolder::open(path)).value();
}

std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : checkpoint.tensors()) names.push_back(tensor.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

class ExpertStacksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_expert_gets_its_part() {
    const Checkpoint checkpoint = checkpoint_of("layers.0.mlp.experts.gate_up_proj", {3, 2, 5});
    QCOMPARE(names_of(checkpoint), (Names{"layers.0.mlp.experts.0.gate_up_proj", "layers.0.mlp.experts.1.gate_up_proj",
                                          "layers.0.mlp.experts.2.gate_up_proj"}));
    for (std::size_t i = 0; i < 3; ++i) {
      const StoredTensor& one = checkpoint.tensors()[i];
      QCOMPARE(one.shape, (std::vector<std::int64_t>{2, 5}));
      QCOMPARE(one.bytes.size(), std::size_t{20});
      QCOMPARE(std::to_integer<std::size_t>(one.bytes[0]), 20 * i);
      QVERIFY(one.is_of_stack);
    }
  }

  void biases_have_a_dimension_less() {
    const Checkpoint checkpoint = checkpoint_of("mlp.experts.down_proj_bias", {2, 4});
    QCOMPARE(names_of(checkpoint), (Names{"mlp.experts.0.down_proj_bias", "mlp.experts.1.down_proj_bias"}));
    QCOMPARE(checkpoint.tensors()[1].shape, (std::vector<std::int64_t>{4}));
  }

  void all_others_stay_whole() {
    for (const char* name : {"mlp.experts.7.up_proj.weight", "mlp.shared_experts.up_proj", "mlp.experts", "experts.up"}) {
      const Checkpoint checkpoint = checkpoint_of(name, {2, 3});
      QCOMPARE(names_of(checkpoint), Names{name});
      QVERIFY(!checkpoint.tensors()[0].is_of_stack);
    }
    QCOMPARE(names_of(checkpoint_of("mlp.experts.scale", {6})), Names{"mlp.experts.scale"});
  }

  void shapes_of_no_model_are_not_cut() {
    QCOMPARE(names_of(checkpoint_of("mlp.experts.up", {5000, 2})), Names{"mlp.experts.up"});
  }

  void numbers_of_two_digits_and_names_behind_them_are_kept() {
    const Checkpoint checkpoint = checkpoint_of("model.experts.w.weight", {12, 1});
    QVERIFY(checkpoint.find("model.experts.11.w.weight") != nullptr);
    QCOMPARE(checkpoint.tensors().size(), std::size_t{12});
  }
};

LATHE_TEST(ExpertStacksTest)

}  // namespace expert_stacks_test
#include "expert_stacks_test.moc"
