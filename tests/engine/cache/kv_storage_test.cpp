// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/kv_storage.h"

#include <QTest>
#include <set>

using namespace lathe;
using engine::KvStorage;

namespace {

const kernels::KvShape kShape{.n_layers = 3, .n_kv_heads = 2, .head_dim = 16, .block_size = 8, .n_blocks = 10};

}  // namespace

class KvStorageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void each_layer_has_memory_of_its_own();
  void it_takes_the_bytes_that_were_estimated();
  void narrow_types_take_half();
  void more_than_there_is_is_an_error();
};

void KvStorageTest::each_layer_has_memory_of_its_own() {
  const auto backend = kernels::make_reference_backend();
  const auto storage = KvStorage::allocate(*backend, kShape);
  QVERIFY(storage.has_value());
  std::set<void*> pointers;
  for (int i = 0; i < 3; ++i) {
    QVERIFY(pointers.insert(storage->layer(i).data).second);
    QCOMPARE(storage->layer(i).shape.n_blocks, 10);
  }
}

void KvStorageTest::it_takes_the_bytes_that_were_estimated() {
  const auto backend = kernels::make_reference_backend();
  QCOMPARE(KvStorage::allocate(*backend, kShape)->n_bytes(), KvStorage::n_bytes(*backend, kShape));
  QVERIFY(KvStorage::n_bytes(*backend, kShape) >= 3LL * 10 * 8 * 2 * 2 * 16 * 4);
}

void KvStorageTest::narrow_types_take_half() {
  const auto backend = kernels::make_reference_backend();
  kernels::KvShape narrow = kShape;
  narrow.dtype = kernels::Dtype::bf16;
  QCOMPARE(2 * KvStorage::n_bytes(*backend, narrow), KvStorage::n_bytes(*backend, kShape));
}

void KvStorageTest::more_than_there_is_is_an_error() {
  const auto backend = kernels::make_reference_backend();
  kernels::KvShape huge = kShape;
  huge.n_kv_heads = 4096;
  huge.head_dim = 4096;
  huge.n_blocks = 1 << 20;
  const auto storage = KvStorage::allocate(*backend, huge);
  QVERIFY(!storage.has_value());
  QVERIFY(storage.error().code == engine::ErrorCode::resource_exhausted);
}

QTEST_GUILESS_MAIN(KvStorageTest)
#include "kv_storage_test.moc"
