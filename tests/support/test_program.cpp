// SPDX-License-Identifier: Apache-2.0
#include "tests/support/test_program.h"

#include <QProcess>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace lathe::tests {
namespace {

const NamedTest* find(std::span<const NamedTest> tests, std::string_view name) {
  const auto found = std::ranges::find(tests, name, &NamedTest::name);
  return found == tests.end() ? nullptr : &*found;
}

int refuse(std::span<const NamedTest> tests, const char* program, const char* name) {
  std::fprintf(stderr, "%s: there is no test %s; the tests are\n", program, name);
  for (const NamedTest& test : tests) std::fprintf(stderr, "  %s\n", std::string(test.name).c_str());
  return 2;
}

/// A class may change the environment, its locale and its limits, so that each gets a process.
int run_apart(std::span<const NamedTest> tests, const QStringList& options) {
  const QString program = QString::fromStdString(std::filesystem::read_symlink("/proc/self/exe").string());
  int n_failed = 0;
  for (const NamedTest& test : tests) {
    const QString name = QString::fromUtf8(test.name.data(), static_cast<qsizetype>(test.name.size()));
    if (QProcess::execute(program, QStringList(name) + options) != 0) ++n_failed;
  }
  return n_failed == 0 ? 0 : 1;
}

}  // namespace

int run_tests(std::span<const NamedTest> tests, int argc, char** argv) {
  std::vector<NamedTest> chosen;
  int n_names = 0;
  while (n_names + 1 < argc && argv[n_names + 1][0] != '-') {
    const NamedTest* test = find(tests, argv[n_names + 1]);
    if (test == nullptr) break;  // a function of the test
    chosen.push_back(*test);
    ++n_names;
  }
  if (chosen.empty()) {
    if (argc > 1 && argv[1][0] != '-') return refuse(tests, argv[0], argv[1]);
    chosen.assign(tests.begin(), tests.end());
  }
  if (chosen.size() > 1) {
    QStringList options;
    for (int i = n_names + 1; i < argc; ++i) options << QString::fromLocal8Bit(argv[i]);
    return run_apart(chosen, options);
  }
  std::vector<char*> rest = {argv[0]};
  rest.insert(rest.end(), argv + n_names + 1, argv + argc);
  rest.push_back(nullptr);
  return chosen.front().run(static_cast<int>(rest.size()) - 1, rest.data());
}

}  // namespace lathe::tests
