// SPDX-License-Identifier: Apache-2.0
// Instructions of a set lie in the objects of that set alone: everything else runs on any x86-64.
#include <sys/wait.h>

#include <QObject>
#include <QTemporaryDir>
#include <QtTest>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tests/support/test_class.h"

namespace instructions_test {

namespace {

constexpr std::string_view kTiles = "%tmm";
constexpr std::string_view kBf16 = "vdpbf16ps|vcvtne2?ps2?bf16|vcvtneps2bf16";
constexpr std::string_view kVnni = "vpdpbusds?|vpdpwssds?";
// AVX-512 VNNI and AVX-VNNI both have these instructions; the disassembler writes {vex} before those of AVX-VNNI.
constexpr std::string_view kWideVnni = "^ *[0-9a-f]+:.(vpdpbusd|vpdpwssd)";
constexpr std::string_view kVexVnni = "\\{vex\\} vpdpbusd";
constexpr std::string_view kHalf = "%ymm";
// AVX in the registers of SSE: all of it begins with a v, and nothing of SSE does.
constexpr std::string_view kVex = "[^a-z0-9]v[a-z0-9]+ [^#<]*%xmm|vzeroupper";
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
  if (object.ends_with("_avx2_vnni.cpp.o")) return any_of({kTiles, kBf16, kWideVnni, kWide});
  if (object.ends_with("_avx2.cpp.o")) return any_of({kTiles, kBf16, kVnni, kWide});
  if (object.ends_with("_scalar_fma.cpp.o")) return any_of({kTiles, kBf16, kVnni, kWide});
  return any_of({kTiles, kBf16, kVnni, kWide, kHalf, kVex});
}

/// The first line of the disassembly that has the pattern, or nothing. Without symbols and what refers to them: objdump
/// looks for the name of every address among those of all sections, which takes 19 s for an object of app, and 0.2 s
/// without. Throws where a tool fails: nothing found is then no finding.
std::string line_with(const std::string& pattern, const std::string& object) {
  if (pattern.empty()) return {};
  const QTemporaryDir folder;
  const std::string bare = folder.filePath("bare.o").toStdString();
  const std::string failed = "the tools failed";  // a line that is always found
  const std::string command = "{ objcopy --strip-all -R '.rela*' '" + object + "' '" + bare +
                              "' && objdump -d --no-show-raw-insn '" + bare + "' || echo '" + failed +
                              "'; } | LC_ALL=C grep -m1 -E '" + failed + "|" + pattern + "'";
  FILE* lines = popen(command.c_str(), "r");
  if (lines == nullptr) throw std::runtime_error("no shell for " + command);
  char line[512] = {};
  const bool found = std::fgets(line, sizeof line, lines) != nullptr;
  const int status = pclose(lines);  // of grep: 1 where nothing was found
  const bool is_whole = WIFEXITED(status) && WEXITSTATUS(status) == (found ? 0 : 1);
  if (!is_whole || std::string_view(line).starts_with(failed)) throw std::runtime_error("failed: " + command);
  return line;
}

/// Objects of sources, and of the files of a folder that LATHE_UNITY compiles as one. None where the build has no such
/// level.
std::vector<std::string> objects_below(const std::string& folder) {
  std::vector<std::string> objects;
  std::error_code error;
  const std::string root = std::string(LATHE_BINARY_DIR) + "/" + folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root, error)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".cpp.o") || path.ends_with(".cxx.o")) objects.push_back(path);
  }
  return objects;
}

/// "server" of ".../lathe_app.dir/server/router.cpp.o", and the name of an object of ".../lathe_app.dir/Unity".
std::string part_of(const std::string& object) {
  const std::size_t dir = object.find(".dir/"), begin = dir == object.npos ? 0 : dir + 5;
  const std::string part = object.substr(begin, object.find('/', begin) - begin);
  return part == "Unity" ? object.substr(object.rfind('/') + 1) : part;
}

}  // namespace

class InstructionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_tools_are_there() {
    QCOMPARE(std::system("objdump --version > /dev/null && objcopy --version > /dev/null"), 0);
    QVERIFY(objects_below("kernels").size() > 20);
    QVERIFY(objects_below("engine").size() > 10);  // with LATHE_UNITY, of a folder each
  }

  void a_tool_that_fails_is_no_silence() {
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, line_with(std::string(kHalf), "/nowhere.cpp.o"));
    QVERIFY_THROWS_EXCEPTION(std::runtime_error, line_with("(", objects_below("kernels").front()));
  }

  /// Or the patterns below would find nothing anywhere.
  void objects_of_a_set_have_its_instructions_data() {
    QTest::addColumn<QString>("object");
    QTest::addColumn<QString>("pattern");
    const auto row = [](const char* object, std::string_view pattern) {
      QTest::newRow(object) << object << QString::fromUtf8(pattern.data(), static_cast<qsizetype>(pattern.size()));
    };
    row("ops_avx512_amx.cpp.o", kTiles);
    row("ops_avx512_bf16.cpp.o", kBf16);
    row("ops_avx512_vnni.cpp.o", kWideVnni);
    row("ops_avx512.cpp.o", kWide);
    row("ops_avx2_vnni.cpp.o", kVexVnni);
    row("ops_avx2.cpp.o", kHalf);
    row("encoders_avx2.cpp.o", kVex);
  }
  void objects_of_a_set_have_its_instructions() {
    QFETCH(QString, object);
    QFETCH(QString, pattern);
    int n_checked = 0;
    for (const std::string& path : objects_below("kernels")) {
      if (!path.ends_with("/" + object.toStdString())) continue;
      QVERIFY2(!line_with(pattern.toStdString(), path).empty(), path.c_str());
      ++n_checked;
    }
    QCOMPARE(n_checked, 1);
  }

  void instructions_of_a_set_lie_in_its_objects_data() {
    QTest::addColumn<QString>("folder");
    // A row each: all of app takes longer than a test may where the machine has other work.
    QTest::addColumn<QString>("part");
    for (const char* folder : {"kernels", "engine", "app", "ui"}) {
      std::set<std::string> parts;  // none: a build without a window has no ui
      for (const std::string& object : objects_below(folder)) parts.insert(part_of(object));
      for (const std::string& part : parts)
        QTest::newRow((std::string(folder) + "/" + part).c_str()) << folder << QString::fromStdString(part);
    }
  }
  void instructions_of_a_set_lie_in_its_objects() {
    if (!std::string(LATHE_SANITIZERS).empty())
      QSKIP("skipped: the same code as without sanitizers, and ten times as much of it");
    QFETCH(QString, folder);
    QFETCH(QString, part);
    std::string offenders;
    for (const std::string& object : objects_below(folder.toStdString())) {
      if (part_of(object) != part.toStdString()) continue;
      if (const std::string offence = line_with(forbidden_in(object), object); !offence.empty())
        offenders += object + ": " + offence;
    }
    QVERIFY2(offenders.empty(), offenders.c_str());
  }
};

LATHE_TEST(InstructionsTest)

}  // namespace instructions_test
#include "instructions_test.moc"
