// SPDX-License-Identifier: Apache-2.0
#include "engine/base/free_memory.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace free_memory_test {

using lathe::engine::free_memory_bytes;

namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

/// A /proc and /sys of the test's own.
class FakeSystem {
 public:
  void put(const std::string& path, const std::string& content) const {
    const std::filesystem::path file = root_.path().toStdString() + path;
    std::filesystem::create_directories(file.parent_path());
    lathe::tests::write_file(file.string(), content);
  }
  void put_available_mebibytes(int n) const {
    put("/proc/meminfo", "MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable: " + std::to_string(n * 1024) + " kB\n");
  }
  std::optional<std::int64_t> free() const { return free_memory_bytes(root_.path().toStdString()); }

 private:
  QTemporaryDir root_;
};

std::string mebibytes(int n) { return std::to_string(n * kMebibyte) + "\n"; }

}  // namespace

class FreeMemoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void this_machine_has_some();
  void unknown_without_proc();
  void available_memory_counts();
  void group_limit_of_version_2();
  void group_limit_of_version_1();
  void limit_of_an_outer_group_holds();
  void file_cache_of_the_group_counts_as_free();
  void no_limit_is_no_limit();
  void used_up_group_leaves_nothing();
};

void FreeMemoryTest::this_machine_has_some() { QVERIFY(free_memory_bytes().value_or(0) > 0); }

void FreeMemoryTest::unknown_without_proc() { QVERIFY(!FakeSystem().free().has_value()); }

void FreeMemoryTest::available_memory_counts() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  QCOMPARE(*system.free(), 500 * kMebibyte);
}

void FreeMemoryTest::group_limit_of_version_2() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "0::/box\n");
  system.put("/sys/fs/cgroup/box/memory.max", mebibytes(300));
  system.put("/sys/fs/cgroup/box/memory.current", mebibytes(100));
  QCOMPARE(*system.free(), 200 * kMebibyte);
}

void FreeMemoryTest::group_limit_of_version_1() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n");
  system.put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", mebibytes(300));
  system.put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", mebibytes(250));
  QCOMPARE(*system.free(), 50 * kMebibyte);
}

void FreeMemoryTest::limit_of_an_outer_group_holds() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "0::/outer/inner\n");
  system.put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  system.put("/sys/fs/cgroup/outer/memory.max", mebibytes(80));
  system.put("/sys/fs/cgroup/outer/memory.current", mebibytes(10));
  QCOMPARE(*system.free(), 70 * kMebibyte);
}

void FreeMemoryTest::file_cache_of_the_group_counts_as_free() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "0::/\n");
  system.put("/sys/fs/cgroup/memory.max", mebibytes(300));
  system.put("/sys/fs/cgroup/memory.current", mebibytes(290));
  system.put("/sys/fs/cgroup/memory.stat", "anon 5\ninactive_file " + mebibytes(200));
  QCOMPARE(*system.free(), 210 * kMebibyte);
}

void FreeMemoryTest::no_limit_is_no_limit() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "0::/box\n");
  system.put("/sys/fs/cgroup/box/memory.max", "max\n");
  system.put("/sys/fs/cgroup/box/memory.current", mebibytes(100));
  QCOMPARE(*system.free(), 500 * kMebibyte);
}

void FreeMemoryTest::used_up_group_leaves_nothing() {
  const FakeSystem system;
  system.put_available_mebibytes(500);
  system.put("/proc/self/cgroup", "0::/box\n");
  system.put("/sys/fs/cgroup/box/memory.max", mebibytes(100));
  system.put("/sys/fs/cgroup/box/memory.current", mebibytes(120));
  QCOMPARE(*system.free(), 0);
}

LATHE_TEST(FreeMemoryTest)

}  // namespace free_memory_test
#include "free_memory_test.moc"
