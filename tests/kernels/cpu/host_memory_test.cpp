// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/host_memory.h"

#include <QTest>
#include <algorithm>
#include <cstdint>
#include <limits>

#include "tests/support/test_class.h"

namespace host_memory_test {

using namespace lathe::kernels;

namespace {

// From malloc, and from there on mapped.
constexpr std::size_t kSizes[] = {1, 64, 1000, (256U << 10) - 1, 256U << 10, (2U << 20) + 5};

constexpr std::size_t kTooLarge[] = {std::size_t{1} << 60, std::numeric_limits<std::size_t>::max()};

bool is_zero(const Buffer& buffer) {
  const auto* bytes = static_cast<const std::byte*>(buffer.data());
  return std::all_of(bytes, bytes + buffer.n_bytes(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

class HostMemoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void memory_is_zeroed_and_begins_on_a_cache_line() {
    for (const std::size_t size : kSizes) {
      const Buffer buffer = allocate_host(size);
      QCOMPARE(buffer.n_bytes(), size);
      QCOMPARE(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, std::uintptr_t{0});
      QVERIFY(is_zero(buffer));
    }
  }

  void nothing_still_has_an_address() { QVERIFY(allocate_host(0).data() != nullptr); }

  void more_than_there_is_gives_an_empty_buffer() {
    for (const std::size_t size : kTooLarge) {
      const Buffer buffer = allocate_host(size);
      QVERIFY(!buffer);
      QCOMPARE(buffer.n_bytes(), std::size_t{0});
    }
  }

  void a_buffer_grows_when_it_must() {
    Buffer buffer;
    for (const std::size_t size : kSizes) {
      QVERIFY(reserve_host(buffer, size));
      QVERIFY(buffer.n_bytes() >= size);
      QVERIFY(is_zero(buffer));
    }
  }

  void a_buffer_that_is_large_enough_stays() {
    Buffer buffer;
    QVERIFY(reserve_host(buffer, 5000));
    static_cast<std::byte*>(buffer.data())[4999] = std::byte{7};
    const void* before = buffer.data();
    QVERIFY(reserve_host(buffer, 10));
    QVERIFY(reserve_host(buffer, 5000));
    QCOMPARE(static_cast<const void*>(buffer.data()), before);
    QVERIFY(static_cast<std::byte*>(buffer.data())[4999] == std::byte{7});
  }

  void a_buffer_takes_what_was_foretold() {
    for (const std::size_t size : kSizes) {
      Buffer buffer;
      QVERIFY(reserve_host(buffer, size));
      QCOMPARE(buffer.n_bytes(), reserved_bytes(size));
    }
  }

  void a_reservation_that_fails_says_so() {
    Buffer buffer;
    for (const std::size_t size : kTooLarge) QVERIFY(!reserve_host(buffer, size));
    QVERIFY(reserve_host(buffer, 100));
  }
};

LATHE_TEST(HostMemoryTest)

}  // namespace host_memory_test
#include "host_memory_test.moc"
