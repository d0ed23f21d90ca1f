// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/content_hash.h"

#include <QTest>
#include <bit>
#include <set>

#include "tests/support/test_class.h"

namespace content_hash_test {

using namespace lathe::engine;

namespace {

std::vector<std::byte> made_bytes(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  return bytes;
}

}  // namespace

class ContentHashTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_byte_counts() {
    for (const std::size_t n : {1, 7, 1023, 1024, 1025, 65536, 70000}) {
      std::vector<std::byte> bytes = made_bytes(n);
      std::set<ContentHash> seen{hash_of(bytes)};
      std::size_t n_changes = 1;
      for (std::size_t i = 0; i < n; i += std::max<std::size_t>(1, n / 97)) {
        bytes[i] ^= std::byte{0x10};
        seen.insert(hash_of(bytes));
        bytes[i] ^= std::byte{0x10};
        ++n_changes;
      }
      QCOMPARE(seen.size(), n_changes);
    }
  }

  void lengths_of_zeros_differ() {
    const std::vector<std::byte> zeros(200'000);
    std::set<ContentHash> seen;
    for (std::size_t n = 0; n < zeros.size(); n += 509) seen.insert(hash_of(std::span(zeros).first(n)));
    QCOMPARE(seen.size(), std::size_t{393});
  }

  void blocks_do_not_change_places() {
    std::vector<std::byte> bytes = made_bytes(4096);
    const ContentHash hash = hash_of(bytes);
    std::swap_ranges(bytes.begin(), bytes.begin() + 1024, bytes.begin() + 1024);
    QVERIFY(hash_of(bytes) != hash);
    QVERIFY(hash_of("ab") != hash_of("ba"));
  }

  /// A change of one bit should change each of the others with even chances.
  void bits_are_spread() {
    std::vector<std::byte> bytes = made_bytes(2048);
    const ContentHash hash = hash_of(bytes);
    int n_changed = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      bytes[i * 8] ^= std::byte{1};
      const ContentHash other = hash_of(bytes);
      n_changed += std::popcount(hash.high ^ other.high) + std::popcount(hash.low ^ other.low);
      bytes[i * 8] ^= std::byte{1};
    }
    QVERIFY2(n_changed > 256 * 60 && n_changed < 256 * 68, qPrintable(QString::number(n_changed)));
  }

  /// Entries of earlier versions are found by it: another function is another version of the file.
  void it_stays_what_it_was() {
    QCOMPARE(to_string(hash_of("")).size(), std::size_t{32});
    QCOMPARE(to_string(hash_of("lathe")), std::string("1218478eaab4d8748ddacaac24158586"));
    QCOMPARE(to_string(hash_of(made_bytes(100'000))), std::string("7ad9424ec3797c3298a7d76a6341986e"));
  }

  void pieces_may_come_in_any_order() {
    const std::vector<std::byte> bytes = made_bytes(2 * PieceHashes::kPieceBytes + 5);
    const auto hashed = [&](const std::vector<std::size_t>& order) {
      PieceHashes hashes(bytes.size());
      for (const std::size_t i : order) hashes.take(i, std::span(bytes).subspan(hashes.begin_of(i), hashes.size_of(i)));
      return hashes.all();
    };
    QCOMPARE(PieceHashes(bytes.size()).n_pieces(), std::size_t{3});
    QCOMPARE(PieceHashes(bytes.size()).size_of(2), std::size_t{5});
    QCOMPARE(PieceHashes(0).n_pieces(), std::size_t{0});
    QVERIFY(hashed({0, 1, 2}) == hashed({2, 0, 1}));
  }
};

LATHE_TEST(ContentHashTest)

}  // namespace content_hash_test
#include "content_hash_test.moc"
