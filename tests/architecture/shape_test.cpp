// SPDX-License-Identifier: Apache-2.0
// The rules of ARCHITECTURE.md about headers, objects and sizes: R6, R8, R9 and R11; licences; how much is tested.
#include <QTest>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/support/function_scan.h"
#include "tests/support/shared_data.h"
#include "tests/support/source_tree.h"
#include "tests/support/test_class.h"

namespace shape_test {

namespace {

using lathe::tests::Function;
using lathe::tests::FunctionScan;
using lathe::tests::join;
using lathe::tests::read_sources;
using lathe::tests::scan_functions;
using lathe::tests::SourceFile;

constexpr int kFileLines = 500;
// Statements (count_statements()). The longest functions have 53, 74 and 40, and 95 % have at most 19.
constexpr int kFunctionStatements = 55;
constexpr int kKernelStatements = 80;
constexpr int kWidgetConstructorStatements = 40;
constexpr int kP95Statements = 25;
constexpr bool kUnity = LATHE_UNITY_BUILD;

/// "Name::Name", or "Name" in the class Name.
bool is_constructor(const Function& function) {
  const std::string name = function.is_in_class ? function.scope + "::" + function.name : function.name;
  const std::size_t colons = name.rfind("::");
  return colons != std::string::npos && ("::" + name.substr(0, colons)).ends_with(name.substr(colons));
}

int statements_allowed(const SourceFile& file, const Function& function) {
  if (file.path.starts_with("kernels/cpu/")) return kKernelStatements;
  return file.level() == "ui" && is_constructor(function) ? kWidgetConstructorStatements : kFunctionStatements;
}

/// Classes that headers declare and more than one source file implements, and members of no known class. A class that a
/// source file declares is implemented there alone: another file may have one of the same name.
std::vector<std::string> cut_classes(const std::vector<SourceFile>& files) {
  std::set<std::string> declared;
  std::map<std::string, std::set<std::string>> files_of;
  std::vector<std::string> offenders;
  for (const SourceFile& file : files) {
    const FunctionScan scan = scan_functions(file);
    const std::set<std::string> own(scan.classes.begin(), scan.classes.end());
    const bool is_source = file.path.ends_with(".cpp") || file.path.ends_with(".cu");
    if (!is_source) declared.insert(own.begin(), own.end());
    for (const Function& function : scan.functions) {
      const std::string owner = function.qualified_owner();
      if (is_source && !owner.empty() && !own.contains(owner)) files_of[owner].insert(file.path);
    }
  }
  for (const auto& [owner, paths] : files_of) {
    std::string text = owner + (declared.contains(owner) ? " is implemented in" : " is in no header, and has members in");
    for (const std::string& path : paths) text += " " + path;
    if (paths.size() > 1 || !declared.contains(owner)) offenders.push_back(text);
  }
  return offenders;
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
  return file.path + ":" + std::to_string(function.line) + " " + function.name + " has " +
         std::to_string(function.n_statements) + " statements, " + std::to_string(statements_allowed(file, function)) +
         " allowed";
}

/// The quoted includes of a file, but for the folder `root` at their beginning.
void add_includes(const std::filesystem::path& path, const std::string& root, std::set<std::string>& includes) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find('"'), end = line.rfind('"');
    if (!line.starts_with("#include \"") || end == begin) continue;
    const std::string included = line.substr(begin + 1, end - begin - 1);
    includes.insert(included.starts_with(root) ? included.substr(root.size()) : included);
  }
}

/// Headers that tests/check_headers.cmake has the build compile.
std::set<std::string> headers_of_generated_files() {
  std::set<std::string> headers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LATHE_BINARY_DIR) + "/tests/headers")) {
    if (entry.is_regular_file()) add_includes(entry.path(), "", headers);
  }
  return headers;
}

/// Sources of the libraries that a build with LATHE_UNITY compiles after others, so that they compile no header alone.
std::set<std::string> sources_compiled_together() {
  std::set<std::string> sources;
  if (!kUnity) return sources;
  for (const char* level : {"kernels", "engine", "app", "ui"}) {
    const std::string folder = std::string(LATHE_BINARY_DIR) + "/" + level + "/CMakeFiles/lathe_" + level + ".dir/Unity";
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      add_includes(entry.path(), std::string(LATHE_SOURCE_DIR) + "/", sources);
  }
  return sources;
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
  void the_scanner_knows_heads_from_bodies();
  void the_scanner_overlooks_nothing();
  void statements_are_counted_data();
  void statements_are_counted();
  void R6_every_header_compiles_alone();
  void R8_isa_objects_define_no_weak_symbol();
  void R9_files_are_short();
  void R9_functions_are_short();
  void R9_most_functions_are_shorter_still();
  void R11_sees_a_class_that_is_cut();
  void R11_a_class_is_implemented_in_one_file();
  void every_file_names_its_licence();
  void tests_are_at_least_half_as_long_as_the_code();
};

void ShapeTest::the_scanner_finds_functions() {
  const FunctionScan scan = scan_functions({"x.cpp",
                                            "namespace a {\n"
                                            "int f(int x) {\n  return x;\n}\n"
                                            "class C : public B<int> {\n  Q_OBJECT\n public:\n"
                                            "  void g() { auto l = [] { return 1; }; }\n};\n"
                                            "const Row kRows[] = {{\"r\", [](int x) { return x; }}};\n"
                                            "}\n",
                                            {}});
  QVERIFY(scan.is_complete);
  QCOMPARE(scan.classes, std::vector<std::string>{"a::C"});
  QCOMPARE(scan.functions.size(), std::size_t{3});
  QCOMPARE(scan.functions[0].name, std::string("f"));
  QCOMPARE(scan.functions[0].scope, std::string("a"));
  QCOMPARE(scan.functions[0].line, 2);
  QCOMPARE(scan.functions[0].n_statements, 1);
  QCOMPARE(scan.functions[1].name, std::string("g"));
  QCOMPARE(scan.functions[1].scope, std::string("a::C"));
  QCOMPARE(scan.functions[1].n_statements, 2);
  QVERIFY(scan.functions[1].is_in_class);
  QCOMPARE(scan.functions[2].name, std::string("lambda"));
}

/// Braces and parentheses that stand before a body, and names of every kind.
void ShapeTest::the_scanner_knows_heads_from_bodies() {
  const FunctionScan scan =
      scan_functions({"x.cu",
                      "#define MACRO(x) \\\n  if (x) {\n"
                      "MACRO_WITHOUT_SEMICOLON(A)\nstruct S { int x{1}; int bits : 3; S() : x{2}, y(3) { x = 4; } };\n"
                      "namespace a::b {\n"
                      "std::function<void(int)> C<T>::D::f(Options o = {.a = 1}) const noexcept(true) { return {}; }\n"
                      "template <class T, int N = (1 << 2)>\nC::~C() { /* } */ call(\"{\"); }\n"
                      "C::C(int x) : Base<int>{x}, x_(x) {\n  for (;;) {}\n}\n"
                      "bool C::operator==(const C&) const { return true; }\n"
                      "C::operator bool() const { return true; }\n"
                      "void C::operator()(int) { run(); }\n"
                      "C& C::operator=(C&&) = default;\n"
                      "__global__ void __launch_bounds__(128) kernel(float* x) { x[0] = 1'000; }\n"
                      "using F = int(int);\n"
                      "int declared(int);\n"
                      "}\n",
                      {}});
  QVERIFY(scan.is_complete);
  std::vector<std::string> names;
  for (const Function& function : scan.functions) names.push_back(function.qualified_owner() + " " + function.name);
  const std::vector<std::string> expected = {" S",
                                             "a::b::C::D C::D::f",
                                             "a::b::C C::~C",
                                             "a::b::C C::C",
                                             "a::b::C C::operator==",
                                             "a::b::C C::operator bool",
                                             "a::b::C C::operator()",
                                             "a::b::C C::operator=",
                                             " kernel"};
  QCOMPARE(join(names), join(expected));
  QVERIFY(is_constructor(scan.functions[0]) && is_constructor(scan.functions[3]) && !is_constructor(scan.functions[2]));
}

/// Every keyword of a statement in the tree lies in a function that was found, or the rules below would not see it.
void ShapeTest::the_scanner_overlooks_nothing() {
  QVERIFY(!scan_functions({"x.cpp", "int x = 1; }\n", {}}).is_complete);
  QVERIFY(!scan_functions({"x.cpp", "return 1;\n", {}}).is_complete);
  std::vector<std::string> offenders;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui", "tests"})) {
    if (!scan_functions(file).is_complete) offenders.push_back(file.path);
  }
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::statements_are_counted_data() {
  QTest::addColumn<QString>("code");
  QTest::addColumn<int>("n_statements");
  QTest::newRow("none") << "{}" << 0;
  QTest::newRow("a call") << "f(a, b);" << 1;
  QTest::newRow("a call over lines") << "f(a,\n\n  b);\n" << 1;
  QTest::newRow("an initializer over lines") << "const X x{.a = 1,\n .b = {1, 2}};" << 1;
  QTest::newRow("a loop and its body") << "for (int i = 0; i < n; ++i) f(i);" << 2;
  QTest::newRow("a condition with an initializer") << "if (int i = f(); i > 0) { g(); } else { h(); }" << 3;
  QTest::newRow("a lambda within a call") << "run([&](int i) { f(i); g(i); });" << 3;
  QTest::newRow("a switch") << "switch (x) { case 1: return f(); default: break; }" << 3;
  QTest::newRow("names that begin with a keyword") << "format = iffy + done;" << 1;
}

void ShapeTest::statements_are_counted() {
  QFETCH(QString, code);
  QTEST(lathe::tests::count_statements(code.toStdString()), "n_statements");
}

void ShapeTest::R6_every_header_compiles_alone() {
  if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: the sanitizer builds do not compile headers alone");
  // The build compiles generated files for the headers that no source includes first; what is left to check is that it left
  // none out.
  std::set<std::string> alone = headers_of_generated_files();
  const std::set<std::string> joined = sources_compiled_together();
  const std::vector<SourceFile> files = read_sources({"kernels", "engine", "app", "ui"});
  for (const SourceFile& file : files) {
    if (!file.is_header() && !file.includes.empty() && !joined.contains(file.path)) alone.insert(file.includes.front().path);
  }
  std::vector<std::string> missing;
  for (const SourceFile& file : files) {
    if (file.is_header() && !alone.contains(file.path)) missing.push_back(file.path);
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
    for (const Function& function : scan_functions(file).functions) {
      if (function.n_statements > statements_allowed(file, function)) offenders.push_back(too_long(file, function));
    }
  }
  QVERIFY2(offenders.empty(), join(offenders).c_str());
}

void ShapeTest::R9_most_functions_are_shorter_still() {
  std::map<std::string, std::vector<int>> counts_of;
  for (const SourceFile& file : read_sources({"kernels", "engine", "app", "ui"})) {
    for (const Function& function : scan_functions(file).functions) {
      counts_of["all levels"].push_back(function.n_statements);
      counts_of[file.level()].push_back(function.n_statements);
    }
  }
  QVERIFY2(counts_of["all levels"].size() > 5000, "the scanner found too few functions");
  for (auto& [level, counts] : counts_of) {
    std::sort(counts.begin(), counts.end());
    const int p95 = counts[counts.size() * 95 / 100];
    qInfo("%s: %d functions, 95th percentile %d statements, longest %d", level.c_str(), static_cast<int>(counts.size()), p95,
          counts.back());
    if (level != "all levels") continue;
    QVERIFY2(p95 <= kP95Statements, ("the 95th percentile is " + std::to_string(p95) + " statements").c_str());
  }
}

void ShapeTest::R11_sees_a_class_that_is_cut() {
  const SourceFile header{
      "c.h", "namespace n { class C { void f(); void g() { h(); } template <class T> void t(); }; }", {}};
  const SourceFile templates{"c.cuh", "namespace n { template <class T> void C::t() { f(); } }", {}};
  const SourceFile f{"f.cpp", "namespace n { void C::f() { g(); } }", {}};
  const SourceFile g{"g.cu", "namespace n { C::~C() = default; }", {}};
  const SourceFile other{"other.cpp", "namespace m { class C { void f(); };\nvoid C::f() { g(); } }", {}};
  const SourceFile same_name{"same.cpp", "namespace m { class C { void f(); };\nvoid C::f() { g(); } }", {}};
  QVERIFY(cut_classes({header, templates, f, other, same_name}).empty());
  QCOMPARE(join(cut_classes({header, f, g})), std::string("n::C is implemented in f.cpp g.cu\n"));
  QCOMPARE(join(cut_classes({f})), std::string("n::C is in no header, and has members in f.cpp\n"));
}

void ShapeTest::R11_a_class_is_implemented_in_one_file() {
  const std::vector<std::string> offenders = cut_classes(read_sources({"kernels", "engine", "app", "ui", "tests"}));
  QVERIFY2(offenders.empty(), join(offenders).c_str());
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

LATHE_TEST(ShapeTest)

}  // namespace shape_test
#include "shape_test.moc"
