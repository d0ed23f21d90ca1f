// SPDX-License-Identifier: Apache-2.0
// Instruction sets are listed and found without asking the system for tiles, unless tiles are what is found.
#include <sys/syscall.h>
#include <unistd.h>

#include <QTest>
#include <algorithm>
#include <cstdint>

#include "kernels/api/backend.h"
#include "kernels/cpu/isa/isa.h"
#include "tests/support/test_class.h"

namespace isas_test {

using namespace lathe::kernels;

namespace {

/// ARCH_GET_XCOMP_PERM of Linux 5.16: what this process has been granted so far. It is never given back.
bool has_tiles() {
  constexpr int kGranted = 0x1022, kTileData = 18;
  std::uint64_t features = 0;
  return syscall(SYS_arch_prctl, kGranted, &features) == 0 && (features >> kTileData & 1U) != 0;
}

}  // namespace

class IsasTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// In this order: a grant stays.
  void looking_asks_for_nothing() {
    QVERIFY(!has_tiles());
    const std::vector<std::string> have = cpu_isas();
    QVERIFY(!have.empty() && !has_tiles());
    for (const IsaDescriptor& isa : isas())
      QCOMPARE(isa.is_available(), std::find(have.begin(), have.end(), isa.name) != have.end());
    for (const std::string& name : have) {
      if (name != "avx512_amx") QCOMPARE(std::string(find_isa(name)->name), name);
    }
    QVERIFY(find_isa("avx1024") == nullptr);
    QVERIFY(!has_tiles());
  }

  void what_has_tiles_asks_for_them() {
    const std::vector<std::string> have = cpu_isas();
    const bool can = std::find(have.begin(), have.end(), "avx512_amx") != have.end();
    const IsaDescriptor* const tiles = find_isa("avx512_amx");
    QCOMPARE(tiles != nullptr, can);
    QCOMPARE(has_tiles(), can);
    if (can) QCOMPARE(std::string(tiles->name), std::string("avx512_amx"));
  }

  void the_best_is_found_without_a_name() { QCOMPARE(std::string(find_isa({})->name), cpu_isas().back()); }
};

LATHE_TEST(IsasTest)

}  // namespace isas_test
#include "isas_test.moc"
