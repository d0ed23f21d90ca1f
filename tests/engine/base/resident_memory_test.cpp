// SPDX-License-Identifier: Apache-2.0
// Tests of resident memory: pages count from their first use, files never, and the parts of a load count no byte twice.
#include "engine/base/resident_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/api/memory_use.h"
#include "engine/base/mapped_file.h"
#include "tests/support/tiny_model.h"

#include <fcntl.h>

#include "tests/support/test_class.h"

namespace resident_memory_test {

using namespace lathe::engine;

namespace {

constexpr std::size_t kMebibyte = 1 << 20;

/// Pages of 4 KiB that nobody has touched.
class Untouched {
 public:
  explicit Untouched(std::size_t n_bytes) : n_bytes_(n_bytes) {
    void* data = ::mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) qFatal("no memory");
    ::madvise(data, n_bytes, MADV_NOHUGEPAGE);
    data_ = static_cast<std::byte*>(data);
  }
  ~Untouched() { ::munmap(data_, n_bytes_); }
  std::span<std::byte> bytes() { return {data_, n_bytes_}; }

 private:
  std::byte* data_;
  std::size_t n_bytes_;
};

std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Gives /proc/self its files.
std::string fake_proc(const QTemporaryDir& root, const std::vector<std::pair<std::string, std::string>>& files) {
  const std::filesystem::path self = root.path().toStdString() + "/proc/self";
  std::filesystem::create_directories(self);
  for (const auto& [name, content] : files) lathe::tests::write_file((self / name).string(), content);
  return root.path().toStdString();
}

constexpr const char* kRollup =
    "5000-6000 ---p 00000000 00:00 0   [rollup]\nRss:   900 kB\nPss_Anon:  1 kB\nAnonymous:   700 kB\n";
constexpr const char* kStatus = "Name:\tlathe\nVmRSS:\t 900 kB\nRssAnon:\t 650 kB\nRssFile:\t 250 kB\nRssShmem:\t 0 kB\n";

}  // namespace

class ResidentMemoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void pages_count_from_their_first_use() {
    Untouched memory(8 * kMebibyte);
    QCOMPARE(resident_bytes(memory.bytes()), std::optional<std::int64_t>(0));
    std::memset(memory.bytes().data() + kMebibyte, 1, 3 * kMebibyte);
    QCOMPARE(resident_bytes(memory.bytes()), std::optional<std::int64_t>(3 * kMebibyte));
    QCOMPARE(resident_bytes(memory.bytes().subspan(3 * kMebibyte)), std::optional<std::int64_t>(kMebibyte));
  }

  void parts_of_a_page_are_counted_once() {
    Untouched memory(4 * page());
    std::memset(memory.bytes().data(), 1, 2 * page());
    const std::size_t middle = page() + 100;
    const auto first = resident_bytes(memory.bytes().first(middle)), rest = resident_bytes(memory.bytes().subspan(middle));
    QCOMPARE(first, std::optional<std::int64_t>(middle));
    QCOMPARE(*first + *rest, static_cast<std::int64_t>(2 * page()));
    QCOMPARE(resident_bytes({}), std::optional<std::int64_t>(0));
  }

  void the_process_grows_by_what_it_touches() {
    const auto before = anonymous_bytes();
    QVERIFY(before.has_value());
    Untouched memory(64 * kMebibyte);
    QVERIFY(*anonymous_bytes() - *before < static_cast<std::int64_t>(8 * kMebibyte));
    std::memset(memory.bytes().data(), 1, 64 * kMebibyte);
    const std::int64_t grown = *anonymous_bytes() - *before;
    QVERIFY2(grown >= std::int64_t(63 * kMebibyte) && grown < std::int64_t(72 * kMebibyte),
             qPrintable(QString::number(grown)));
    const std::int64_t about = *process_memory_bytes() - *before;
    QVERIFY2(about >= std::int64_t(56 * kMebibyte) && about < std::int64_t(80 * kMebibyte),
             qPrintable(QString::number(about)));
  }

  void pages_of_files_are_not_counted() {
    const auto before = anonymous_bytes();
    QVERIFY(before.has_value());
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString() + "/file";
    // Piece by piece: an allocator that keeps what is freed would be counted with a string of the whole file.
    std::ofstream stream(path, std::ios::binary);
    const std::string piece(kMebibyte, 'x');
    for (int i = 0; i < 64; ++i) stream << piece;
    stream.close();
    QVERIFY(stream.good());
    const auto file = MappedFile::map(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
    QVERIFY(file.has_value());
    std::size_t sum = 0;
    for (std::size_t i = 0; i < (*file)->bytes().size(); i += page()) sum += static_cast<std::size_t>((*file)->bytes()[i]);
    QCOMPARE(sum, 64 * kMebibyte / page() * 'x');
    const std::int64_t grown = *anonymous_bytes() - *before;
    QVERIFY2(grown < std::int64_t(8 * kMebibyte), qPrintable(QString::number(grown)));
  }

  void the_exact_file_comes_first() {
    const QTemporaryDir both, counters, none;
    const std::string root = fake_proc(both, {{"smaps_rollup", kRollup}, {"status", kStatus}});
    QCOMPARE(anonymous_bytes(root), std::optional<std::int64_t>(700 * 1024));
    QCOMPARE(counted_anonymous_bytes(root), std::optional<std::int64_t>(650 * 1024));
    QCOMPARE(anonymous_bytes(fake_proc(counters, {{"status", kStatus}})), std::optional<std::int64_t>(650 * 1024));
    QCOMPARE(anonymous_bytes(fake_proc(none, {})), std::optional<std::int64_t>());
  }

  void other_is_what_the_parts_leave() {
    const MeasuredMemory measured = measured_memory(100, 190, {.weights = 50, .kv = 10, .activations = 5, .other = 7});
    QCOMPARE(measured.use.other, 25);
    QCOMPARE(measured.use.total(), measured.after - measured.before);
    // The process gave something else back meanwhile.
    QCOMPARE(measured_memory(100, 140, {.weights = 50}).use.other, 0);
  }
};

LATHE_TEST(ResidentMemoryTest)

}  // namespace resident_memory_test
#include "resident_memory_test.moc"
