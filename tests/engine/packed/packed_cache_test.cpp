// SPDX-License-Identifier: Apache-2.0
// Entries on disk: written whole or not at all, believed only when every byte is right, removed when there are too many.
#include "engine/packed/packed_cache.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "kernels/api/check.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace packed_cache_test {

using namespace lathe;
using namespace lathe::engine;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kPlenty = 1LL << 40;

/// Memory in three parts, of which one spans several pieces.
class Weights {
 public:
  explicit Weights(unsigned char first) : parts_{make(100, first), make((2 << 20) + 77, first + 1), make(4096, first + 2)} {}
  WeightImage image() {
    WeightImage image;
    for (std::vector<std::byte>& part : parts_) image.emplace_back(part);
    return image;
  }
  bool operator==(const Weights& other) const { return parts_ == other.parts_; }
  bool is_zero() const {
    for (const auto& part : parts_) {
      if (!std::all_of(part.begin(), part.end(), [](std::byte byte) { return byte == std::byte{0}; })) return false;
    }
    return true;
  }

 private:
  static std::vector<std::byte> make(std::size_t n, unsigned first) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(first + i / 251);
    return bytes;
  }
  std::vector<std::vector<std::byte>> parts_;
};

ContentHash key_of(int number) { return hash_of("key " + std::to_string(number)); }

/// Root may write everywhere; while this lives, root is somebody else.
class NotRoot {
 public:
  NotRoot() {
    constexpr uid_t kNobody = 65'534;
    if (was_root_) LATHE_CHECK(::seteuid(kNobody) == 0);
  }
  ~NotRoot() {
    if (was_root_) LATHE_CHECK(::seteuid(0) == 0);
  }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  const bool was_root_ = ::geteuid() == 0;
};

}  // namespace

class PackedCacheTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    dir_ = std::make_unique<QTemporaryDir>();
    backend_ = kernels::make_cpu_backend({.n_threads = 2, .isa = "scalar"});
  }

  void what_was_stored_comes_back() {
    Weights stored(1), loaded(50);
    QVERIFY(!*cache().load(key_of(1), loaded.image(), *backend_, {}));
    std::vector<std::int64_t> seen;
    const auto observe = [&](std::int64_t n) {
      seen.push_back(n);
      return true;
    };
    QVERIFY(cache().store(key_of(1), stored.image(), *backend_, observe).has_value());
    QVERIFY(*cache().load(key_of(1), loaded.image(), *backend_, observe));
    QVERIFY(loaded == stored);
    QVERIFY(!seen.empty() && seen.back() == 100 + (2 << 20) + 77 + 4096);
    QVERIFY(!*cache().load(key_of(2), loaded.image(), *backend_, {}));
    QCOMPARE(names().size(), 1U);
    QCOMPARE(static_cast<std::int64_t>(fs::file_size(entry(1))), entry_bytes(stored.image()));
  }

  void damage_is_found_and_removed_data() {
    QTest::addColumn<int>("offset");
    QTest::addColumn<QString>("words");
    QTest::newRow("magic") << 0 << "another version";
    QTest::newRow("version") << 8 << "another version";
    QTest::newRow("key") << 16 << "header does not match";
    QTest::newRow("size of a part") << 40 << "header does not match";
    QTest::newRow("hash of a part") << 50 << "header does not match";
    QTest::newRow("first byte") << 4096 << "part 0 of 3";
    QTest::newRow("middle") << (1 << 20) << "part 1 of 3";
    QTest::newRow("last byte") << -1 << "part 2 of 3";
  }
  void damage_is_found_and_removed() {
    QFETCH(int, offset);
    QFETCH(QString, words);
    Weights weights(1);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    std::string bytes = tests::read_file(entry(1));
    const std::size_t at = offset < 0 ? bytes.size() - 1 : static_cast<std::size_t>(offset);
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    tests::write_file(entry(1), bytes);
    const auto got = cache().load(key_of(1), weights.image(), *backend_, {});
    QVERIFY(!got.has_value());
    QVERIFY2(QString::fromStdString(got.error().message).contains(words), got.error().message.c_str());
    QVERIFY(weights.is_zero());
    QVERIFY(names().empty());
  }

  void truncated_entries_are_of_no_use() {
    Weights weights(1);
    const auto whole = static_cast<std::size_t>(entry_bytes(weights.image()));
    for (const std::size_t n : {std::size_t{0}, std::size_t{30}, std::size_t{4096}, whole - 1, whole + 1}) {
      Weights again(1);
      QVERIFY(cache().store(key_of(1), again.image(), *backend_, {}).has_value());
      fs::resize_file(entry(1), n);
      QVERIFY(!cache().load(key_of(1), again.image(), *backend_, {}).has_value());
      QVERIFY(again.is_zero() && names().empty());
    }
  }

  void an_entry_of_other_parts_is_of_no_use() {
    Weights weights(1);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    WeightImage image = weights.image();
    std::swap(image[0], image[2]);
    QVERIFY(!cache().load(key_of(1), image, *backend_, {}).has_value());
  }

  void a_renamed_entry_is_not_believed() {
    Weights weights(1);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    fs::rename(entry(1), entry(2));
    QVERIFY(!cache().load(key_of(2), weights.image(), *backend_, {}).has_value());
  }

  void the_least_recently_used_go_first() {
    Weights weights(1);
    const std::int64_t room = 3 * entry_bytes(weights.image());
    for (const int i : {1, 2, 3}) {
      QVERIFY(cache(room).store(key_of(i), weights.image(), *backend_, {}).has_value());
      fs::last_write_time(entry(i), fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
    }
    QVERIFY(*cache(room).load(key_of(1), weights.image(), *backend_, {}));  // used now: 2 is the oldest
    QVERIFY(cache(room).store(key_of(4), weights.image(), *backend_, {}).has_value());
    QVERIFY(fs::exists(entry(1)) && !fs::exists(entry(2)) && fs::exists(entry(3)) && fs::exists(entry(4)));
  }

  void what_is_larger_than_the_cache_is_not_kept() {
    Weights weights(1);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    const auto refused = cache(1'000'000).store(key_of(2), weights.image(), *backend_, {});
    QVERIFY(!refused.has_value());
    QVERIFY2(QString::fromStdString(refused.error().message).startsWith("2 MB do not fit"), refused.error().message.c_str());
    QVERIFY(fs::exists(entry(1)) && names().size() == 1);
  }

  void writers_side_by_side_leave_one_entry() {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        const auto backend = kernels::make_cpu_backend({.n_threads = 1, .isa = "scalar"});
        Weights weights(1);
        bool stored = true;
        for (int n = 0; n < 5; ++n) stored = stored && cache().store(key_of(1), weights.image(), *backend, {}).has_value();
        ::_exit(stored ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = -1;
      QCOMPARE(::waitpid(child, &status, 0), child);
      QCOMPARE(status, 0);
    }
    Weights loaded(9);
    QCOMPARE(names().size(), 1U);
    QVERIFY(*cache().load(key_of(1), loaded.image(), *backend_, {}));
    QVERIFY(loaded == Weights(1));
  }

  void cancel_leaves_nothing() {
    Weights weights(1);
    const auto stop = [](std::int64_t) { return false; };
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, stop).error().code == ErrorCode::cancelled);
    QVERIFY(names().empty());
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    QVERIFY(cache().load(key_of(1), weights.image(), *backend_, stop).error().code == ErrorCode::cancelled);
    QVERIFY(fs::exists(entry(1)));
  }

  /// As a full disk: the file may not grow any further.
  void a_full_disk_leaves_nothing() {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit tight{.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &tight);
    Weights weights(1);
    const auto stored = cache().store(key_of(1), weights.image(), *backend_, {});
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    QVERIFY(!stored.has_value());
    QVERIFY(stored.error().code == ErrorCode::resource_exhausted);
    QVERIFY(names().empty());
    QVERIFY(weights == Weights(1));
  }

  void a_folder_that_cannot_be_is_an_error() {
    tests::write_file(folder(), "a file in its place");
    Weights weights(1);
    QVERIFY(!cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    QVERIFY(!*cache().load(key_of(1), weights.image(), *backend_, {}));
  }

  void a_read_only_folder_is_read() {
    Weights weights(1), loaded(2);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    fs::permissions(dir_->path().toStdString(), fs::perms(0755));
    fs::permissions(folder(), fs::perms(0555));
    fs::permissions(entry(1), fs::perms(0644));
    {
      const NotRoot nobody;
      QVERIFY(!cache().store(key_of(2), weights.image(), *backend_, {}).has_value());
      QVERIFY(*cache().load(key_of(1), loaded.image(), *backend_, {}));
    }
    fs::permissions(folder(), fs::perms(0755));
    QVERIFY(loaded == Weights(1));
    QCOMPARE(names().size(), 1U);
  }

  void what_a_killed_writer_left_is_cleared_away() {
    Weights weights(1);
    QVERIFY(cache().store(key_of(1), weights.image(), *backend_, {}).has_value());
    const std::string left = folder() + "/.unfinished-abcdef", young = folder() + "/.unfinished-ghijkl";
    tests::write_file(left, "half");
    tests::write_file(young, "half");
    fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(1));
    QVERIFY(cache().store(key_of(2), weights.image(), *backend_, {}).has_value());
    QVERIFY(!fs::exists(left));
    QVERIFY(fs::exists(young));  // its writer may be about to lock it
  }

 private:
  std::string folder() const { return (dir_->path() + "/packed").toStdString(); }
  std::string entry(int number) const { return folder() + "/" + to_string(key_of(number)) + ".packed"; }
  PackedCache cache(std::int64_t max_bytes = kPlenty) const {
    return PackedCache({.path = folder(), .max_bytes = max_bytes});
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    if (!fs::exists(folder())) return names;
    for (const auto& file : fs::directory_iterator(folder())) names.push_back(file.path().filename().string());
    return names;
  }

  std::unique_ptr<QTemporaryDir> dir_;
  std::unique_ptr<kernels::Backend> backend_;
};

LATHE_TEST(PackedCacheTest)

}  // namespace packed_cache_test
#include "packed_cache_test.moc"
