// SPDX-License-Identifier: Apache-2.0
// Instructions of a set lie in the objects of that set alone: everything else runs on any x86-64.
#include <QObject>
#include <QtTest>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view kTiles = "%tmm";
constexpr std::string_view kBf16 = "vdpbf16ps|vcvtne2?ps2?bf16|vcvtneps2bf16";
constexpr std::string_view kVnni = "vpdpbusds?|vpdpwssds?";
constexpr std::string_view kWide = "%zmm|%k[1-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])";

std::string any_of(std::initializer_list<std::string_view> patterns) {
  std::string all;
  for (const std::string_view pattern : patterns) all += (all.empty() ? "" : "|") + std::string(pattern);
  return all;
}

std::string forbidden_in(const std::string& object) {
  if (object.ends_with("_avx512_amx.cpp.o")) return "";
  if (object.ends_with("_avx512_bf16.cpp.o")) return any_of({kTiles});
  if (object.ends_with("_avx512_vnni.cpp.o")) return any_of({kTiles, kBf16});
  if (object.ends_with("_avx512.cpp.o")) return any_of({kTiles, kBf16, kVnni});
  if (object.ends_with("_avx2.cpp.o")) return any_of({kTiles, kBf16, kVnni, kWide});
  return any_of({kTiles, kBf16, kVnni, kWide, "%ymm"});
}

/// The first line that has what is forbidden, or nothing.
std::string offence_in(const std::string& object) {
  const std::string forbidden = forbidden_in(object);
  if (forbidden.empty()) return {};
  const std::string command = "objdump -d --no-show-raw-insn '" + object + "' | grep -m1 -E '" + forbidden + "'";
  FILE* lines = popen(command.c_str(), "r");
  if (lines == nullptr) return "cannot run objdump";
  char line[512] = {};
  const bool found = std::fgets(line, sizeof line, lines) != nullptr;
  pclose(lines);
  return found ? line : "";
}

std::vector<std::string> objects_below(const std::string& folder) {
  std::vector<std::string> objects;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LATHE_BINARY_DIR) + "/" + folder)) {
    if (entry.path().string().ends_with(".cpp.o")) objects.push_back(entry.path().string());
  }
  return objects;
}

}  // namespace

class InstructionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_tools_are_there() {
    QCOMPARE(std::system("objdump --version > /dev/null"), 0);
    QVERIFY(objects_below("kernels").size() > 20);
  }

  /// Or the patterns below would find nothing anywhere.
  void objects_of_a_set_have_its_instructions() {
    int n_checked = 0;
    for (const std::string& object : objects_below("kernels")) {
      if (!object.ends_with("ops_avx512_vnni.cpp.o")) continue;
      const std::string command =
          "objdump -d --no-show-raw-insn '" + object + "' | grep -m1 -E '" + std::string(kVnni) + "' > /dev/null";
      QCOMPARE(std::system(command.c_str()), 0);
      ++n_checked;
    }
    QCOMPARE(n_checked, 1);
  }

  void instructions_of_a_set_lie_in_its_objects_data() {
    QTest::addColumn<QString>("folder");
    for (const char* folder : {"kernels", "engine"}) QTest::newRow(folder) << folder;
  }
  void instructions_of_a_set_lie_in_its_objects() {
    if (!std::string(LATHE_SANITIZERS).empty())
      QSKIP("skipped: the same code as without sanitizers, and ten times as much of it");
    QFETCH(QString, folder);
    std::string offenders;
    for (const std::string& object : objects_below(folder.toStdString())) {
      if (const std::string offence = offence_in(object); !offence.empty()) offenders += object + ": " + offence;
    }
    QVERIFY2(offenders.empty(), offenders.c_str());
  }
};

QTEST_GUILESS_MAIN(InstructionsTest)
#include "instructions_test.moc"
