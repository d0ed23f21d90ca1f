// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/kv_storage.h"

#include <QTest>
#include <set>

#include "tests/support/test_class.h"

namespace kv_storage_test {

using namespace lathe;
using engine::KvStorage;

namespace {

const engine::KvLayers kLayout{.shape = {.n_layers = 3, .n_kv_heads = 2, .head_dim = 16, .block_size = 8, .n_blocks = 10}};

}  // namespace

class KvStorageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_layer_has_memory_of_its_own();
  void it_takes_the_bytes_that_were_estimated();
  void narrow_types_take_half();
  void layers_of_a_window_group_have_blocks_of_their_own();
  void a_layer_may_use_the_keys_and_values_of_another();
  void layers_without_k_and_v_take_nothing();
  void more_than_there_is_is_an_error();
};

void KvStorageTest::each_layer_has_memory_of_its_own() {
  const auto backend = kernels::make_reference_backend();
  const auto storage = KvStorage::allocate(*backend, kLayout);
  QVERIFY(storage.has_value());
  std::set<void*> pointers;
  for (int i = 0; i < 3; ++i) {
    QVERIFY(pointers.insert(storage->layer(i).data).second);
    QCOMPARE(storage->layer(i).shape.n_blocks, 10);
  }
}

void KvStorageTest::it_takes_the_bytes_that_were_estimated() {
  const auto backend = kernels::make_reference_backend();
  QCOMPARE(KvStorage::allocate(*backend, kLayout)->n_bytes(), KvStorage::n_bytes(*backend, kLayout));
  QVERIFY(KvStorage::n_bytes(*backend, kLayout) >= 3LL * 10 * 8 * 2 * 2 * 16 * 4);
}

void KvStorageTest::narrow_types_take_half() {
  const auto backend = kernels::make_reference_backend();
  engine::KvLayers narrow = kLayout;
  narrow.shape.dtype = kernels::Dtype::bf16;
  QCOMPARE(2 * KvStorage::n_bytes(*backend, narrow), KvStorage::n_bytes(*backend, kLayout));
}

void KvStorageTest::layers_of_a_window_group_have_blocks_of_their_own() {
  const auto backend = kernels::make_reference_backend();
  engine::KvLayers mixed = kLayout;
  mixed.window_blocks = {4, 2};
  mixed.groups = {1, 0, 2};
  const auto storage = KvStorage::allocate(*backend, mixed);
  QVERIFY(storage.has_value());
  QCOMPARE(storage->layer(0).shape.n_blocks, 4);
  QCOMPARE(storage->layer(1).shape.n_blocks, 10);
  QCOMPARE(storage->layer(2).shape.n_blocks, 2);
  QCOMPARE(storage->group_of(2), 2);
  // 16 blocks of a layer instead of 30.
  QCOMPARE(30 * storage->n_bytes(), 16 * KvStorage::n_bytes(*backend, kLayout));
  QCOMPARE(storage->n_bytes(), KvStorage::n_bytes(*backend, mixed));
  QCOMPARE(KvStorage::allocate(*backend, kLayout)->group_of(2), 0);
}

void KvStorageTest::a_layer_may_use_the_keys_and_values_of_another() {
  const auto backend = kernels::make_reference_backend();
  engine::KvLayers shared = kLayout;
  shared.heads = {{.n_kv_heads = 2, .head_dim = 16}, {.n_kv_heads = 1, .head_dim = 24}, {.n_kv_heads = 2, .head_dim = 16}};
  shared.sources = {0, 1, 0};
  const auto storage = KvStorage::allocate(*backend, shared);
  QVERIFY(storage.has_value());
  QCOMPARE(storage->layer(2).data, storage->layer(0).data);
  QVERIFY(storage->layer(1).data != storage->layer(0).data);
  QCOMPARE(storage->layer(1).shape.head_dim, 24);
  QCOMPARE(storage->layer(1).shape.n_kv_heads, 1);
  QCOMPARE(storage->n_bytes(), KvStorage::n_bytes(*backend, shared));
  // 32 numbers a token in the first layer, 24 in the second, none in the third.
  QCOMPARE(96 * storage->n_bytes(), 56 * KvStorage::n_bytes(*backend, kLayout));
}

void KvStorageTest::layers_without_k_and_v_take_nothing() {
  const auto backend = kernels::make_reference_backend();
  engine::KvLayers mixed = kLayout;
  mixed.groups = {engine::kNoKv, 0, engine::kNoKv};
  const auto storage = KvStorage::allocate(*backend, mixed);
  QVERIFY(storage.has_value());
  QCOMPARE(3 * storage->n_bytes(), KvStorage::n_bytes(*backend, kLayout));
  QCOMPARE(storage->n_bytes(), KvStorage::n_bytes(*backend, mixed));
  QCOMPARE(storage->layer(0).shape.n_blocks, 0);
  QVERIFY(storage->layer(0).data == nullptr && storage->layer(1).data != nullptr);
  QCOMPARE(storage->group_of(2), engine::kNoKv);
  QVERIFY(storage->resident_bytes().has_value());
}

void KvStorageTest::more_than_there_is_is_an_error() {
  const auto backend = kernels::make_reference_backend();
  engine::KvLayers huge = kLayout;
  huge.shape.n_kv_heads = 4096;
  huge.shape.head_dim = 4096;
  huge.shape.n_blocks = 1 << 20;
  const auto storage = KvStorage::allocate(*backend, huge);
  QVERIFY(!storage.has_value());
  QVERIFY(storage.error().code == engine::ErrorCode::resource_exhausted);
}

LATHE_TEST(KvStorageTest)

}  // namespace kv_storage_test
#include "kv_storage_test.moc"
