// SPDX-License-Identifier: Apache-2.0
// The rules of ARCHITECTURE.md about headers, objects and sizes: R6, R8 and R9; licences; how much is tested.
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>

#include "tests/support/shared_data.h"
#include "tests/support/source_tree.h"

namespace {

using lathe::tests::Function;
using lathe::tests::functions_of;
using lathe::tests::join;
using lathe::tests::read_sources;
using lathe::tests::SourceFile;

constexpr int kFileLines = 500;
constexpr int kFunctionLines = 70;
constexpr int kKernelLines = 110;
constexpr int kWidgetConstructorLines = 40;
constexpr int kP95Lines = 40;

/// "Name::Name" is a constructor.
bool is_constructor(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  if (colons == std::string::npos) return false;
  const std::string type = name.substr(0, colons);
  return type.ends_with(name.substr(colons + 2)) && !name.ends_with("::");
}

int lines_allowed(const SourceFile& file, const Function& function) {
  if (file.path.starts_with("kernels/cpu/")) return kKernelLines;
  return file.level() == "ui" && is_constructor(function.name) ? kWidgetConstructorLines : kFunctionLines;
}

bool is_isa_object(const std::string& path) {
  return path.ends_with("_avx2.cpp.o") || path.ends_with("_avx2_vnni.cpp.o") || path.ends_with("_avx512.cpp.o") ||
         path.ends_with("_avx512_vnni.cpp.o") || path.ends_with("_avx512_bf16.cpp.o") || path.ends_with("_avx512_amx.cpp.o");
}

/// Lines of `nm` that define a weak symbol: the linker could pick them for code that must run on any machine.
std::vector<std::string> weak_symbols(const std::string& object) {
  std::vector<std::string> symbols;
  FILE* nm = popen(("nm -C '" + object + "'").c_str(), "r");
  if (nm == nullptr) return {"cannot run nm"};
  char line[4096];
  while (std::fgets(line, sizeof line, nm) != nullptr) {
    const std::string text(line);
    const bool weak = text.find(" W ") != std::string::npos || text.find(" V ") != std::string::npos ||
                      text.find(" u ") != std::string::npos;
    if (weak && text.find("DW.ref.") == std::string::npos) symbols.push_back(text);
  }
  pclose(nm);
  return symbols;
}

std::string too_long(const SourceFile& file, const Function& function) {
  return file.path + ":" + std::to_string(function.line) + " " + function.name + " has " + std::to_string(function.n_lines) +
         " lines, " + std::to_string(lines_allowed(file, function)) + " allowed";
}

/// Lines of C++. CUDA sources are left out: `lathe selftest` tests them, on a machine that has a device.
double lines_below(const std::string& folder) {
  double lines = 0;
  for (const SourceFile& file : read_sources({folder})) {
    if (!file.path.ends_with(".cu") && !file.path.ends_with(".cuh")) lines += file.n_lines();
  }
  return lines;
}

}  // namespace

class ShapeTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_scanner_finds_functions();
  void R6_every_header_compiles_alone();
  void R8_isa_objects_define_no_weak_symbol();
  void R9_files_are_short();
  void R9_functions_are_short();
  void R9_most_functions_are_shorter_still();
  void every_file_names_its_licence();
  void tests_are_at_least_half_as_long_as_the_code();
};

void ShapeTest::the_scanner_finds_functions() {
  const SourceFile file{
      "x.cpp",
      "namespace a {\nint f(int x) {\n  return x;\n}\nclass C {\n  void g() { auto l = [] { return 1; }; }\n};\n}\n",
      {}};
  const auto functions = functions_of(file);
  QCOMPARE(functions.size(), std::size_t{2});
  QCOMPARE(functions[0].name, std::string("f"));
  QCOMPARE(functions[0].n_lines, 3);
  QCOMPARE(functions[1].name, std::string("g"));
}

void ShapeTest::R6_every_header_compiles_alone() {
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: the sanitizer builds do not compile headers alone");
  // The build compiles a generated file for each header that no source includes first; what is left to check is that it left
  // none out.
  const std::vector<SourceFile> files = read_sources({"kernels", "engine", "app", "ui"});
  std::set<std::string> included_first;
  for (const SourceFile& file : files) {
    if (!file.is_header() && !file.includes.empty()) included_first.insert(file.includes.front().path);
  }
  std::vector<std::string> missing;
  for (const SourceFile& file : files) {
    const std::string generated = std::string(LATHE_BINARY_DIR) + "/tests/headers/" + file.path + ".cpp";
    if (file.is_header() && !included_first.contains(file.path) && !std::filesystem::exists(generated))
      missing.push_back(file.path);
  }
  QVERIFY2(missing.empty(), join(missing).c_str());
}

void ShapeTest::R8_isa_objects_define_no_weak_symbol() {
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: sanitizers add weak symbols of their own");
  int n_objects = 0;
  std::vector<std::string> offenders;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LATHE_BINARY_DIR) + "/kernels")) {
    if (!is_isa_object(entry.path().string())) continue;
    ++n_objects;
    for (const std::string& symbol : weak_symbols(entry.path().string()))
      offenders.push_back(entry.path().filename().string() + ": " + symbol);
  }
  QVERIFY2(n_objects >= 2, "no per-ISA objects found");
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::R9_files_are_short() {
  std::vector<std::string> offenders;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui", "tests"})) {
    if (file.n_lines() > kFileLines) offenders.push_back(file.path + " has " + std::to_string(file.n_lines()) + " lines");
  }
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::R9_functions_are_short() {
  std::vector<std::string> offenders;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui"})) {
    for (const Function& function : functions_of(file)) {
      if (function.n_lines > lines_allowed(file, function)) offenders.push_back(too_long(file, function));
    }
  }
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::R9_most_functions_are_shorter_still() {
  std::vector<int> lengths;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui"})) {
    for (const Function& function : functions_of(file)) lengths.push_back(function.n_lines);
  }
  QVERIFY2(lengths.size() > 300, "the scanner found too few functions");
  std::sort(lengths.begin(), lengths.end());
  const int p95 = lengths[lengths.size() * 95 / 100];
  QVERIFY2(p95 <= kP95Lines, ("the 95th percentile is " + std::to_string(p95) + " lines").c_str());
}

void ShapeTest::every_file_names_its_licence() {
  std::vector<std::string> offenders;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui", "tests"})) {
    const bool gpl = file.level() == "ui" || file.path.starts_with("tests/ui/");
    const std::string wanted =
        std::string("// SPDX-License-Identifier: ") + (gpl ? "GPL-3.0-or-later" : "Apache-2.0") + "\n";
    if (!file.text.starts_with(wanted)) offenders.push_back(file.path);
  }
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::tests_are_at_least_half_as_long_as_the_code() {
  for (const std::string level : {"kernels", "engine", "app"}) {
    const double code = lines_below(level);
    const double tests = lines_below("tests/" + level);
    QVERIFY2(tests >= 0.5 * code, (level + ": " + std::to_string(static_cast<int>(tests)) + " lines of tests, " +
                                   std::to_string(static_cast<int>(code)) + " of code")
                                      .c_str());
  }
}

QTEST_GUILESS_MAIN(ShapeTest)
#include "shape_test.moc"
