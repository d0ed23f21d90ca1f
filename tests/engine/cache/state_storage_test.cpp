// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/state_storage.h"
#include "tests/support/test_class.h"

#include <QTest>
#include <cstring>

namespace state_storage_test {

using namespace lathe;
using engine::StateLayers;
using engine::StateStorage;

namespace {

constexpr kernels::StateShape kShape{.conv_channels = 30, .conv_kernel = 4, .n_heads = 3, .key_dim = 5, .value_dim = 7};
const StateLayers kLayout{.shapes = {kShape, std::nullopt, kShape}, .n_slots = 4};
constexpr std::int64_t kLeastFloats = 3 * 30 + 3 * 5 * 7;

}  // namespace

class StateStorageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void recurrent_layers_alone_have_memory();
  void it_takes_the_bytes_that_were_estimated();
  void more_than_there_is_is_an_error();
};

void StateStorageTest::recurrent_layers_alone_have_memory() {
  const auto backend = kernels::make_cpu_backend({.n_threads = 1});
  const auto storage = StateStorage::allocate(*backend, kLayout);
  QVERIFY(storage.has_value());
  const kernels::StateLayer first = storage->layer(0), third = storage->layer(2);
  QVERIFY(first.data != nullptr && third.data != nullptr && first.data != third.data);
  QVERIFY(first.shape == kShape && third.n_slots == 4);
  QVERIFY(storage->layer(1).data == nullptr);
  QVERIFY(StateStorage().layer(0).data == nullptr);
  QCOMPARE(StateStorage().n_bytes(), std::int64_t{0});
}

void StateStorageTest::it_takes_the_bytes_that_were_estimated() {
  for (const bool is_reference : {true, false}) {
    const auto backend = is_reference ? kernels::make_reference_backend() : kernels::make_cpu_backend({.n_threads = 1});
    const auto storage = StateStorage::allocate(*backend, kLayout);
    QVERIFY(storage.has_value());
    QCOMPARE(storage->n_bytes(), StateStorage::n_bytes(*backend, kLayout));
    QVERIFY(storage->n_bytes() >= 2 * 4 * kLeastFloats * 4);
    const auto resident = storage->resident_bytes();
    QVERIFY(resident.has_value() && *resident >= 0);
    const kernels::StateLayer last = storage->layer(2);
    const std::size_t slot = kernels::recurrent_operations(*backend)->state_bytes(kShape);
    std::memset(static_cast<std::byte*>(last.data) + 3 * slot, 1, slot);  // the last slot is within the memory
  }
}

void StateStorageTest::more_than_there_is_is_an_error() {
  const auto backend = kernels::make_cpu_backend({.n_threads = 1});
  StateLayers huge = kLayout;
  huge.shapes.front()->value_dim = std::int64_t{1} << 45;
  const auto storage = StateStorage::allocate(*backend, huge);
  QVERIFY(!storage.has_value());
  QVERIFY(storage.error().code == engine::ErrorCode::resource_exhausted);
  QVERIFY2(storage.error().message.find("lower max_num_seqs") != std::string::npos, storage.error().message.c_str());
}

LATHE_TEST(StateStorageTest)

}  // namespace state_storage_test
#include "state_storage_test.moc"
