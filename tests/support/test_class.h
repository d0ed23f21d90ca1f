// SPDX-License-Identifier: Apache-2.0
// LATHE_TEST: the end of a file of tests. All tests of a folder are one program (test_program.h), so each file has a
// namespace of the file's name, where this macro defines what the program calls:
//
//   namespace sampler_test {
//   class SamplerTest : public QObject { ... };
//
//   LATHE_TEST(SamplerTest)
//
//   }  // namespace sampler_test
//   #include "sampler_test.moc"
//
// A test that needs more than an application defines `int run_test(int argc, char** argv)` itself.
#pragma once

#include <QCoreApplication>
#include <QTest>

namespace lathe::tests {

/// Runs the functions of the class `Test` under an `Application`. The arguments are those of Qt Test, after the program's
/// name. Returns the exit status: 0 if all passed.
template <class Application, class Test>
int run_class(int argc, char** argv) {
  Application application(argc, argv);
  application.setAttribute(Qt::AA_Use96Dpi, true);  // as QTEST_MAIN does
  Test test;
  return QTest::qExec(&test, argc, argv);
}

}  // namespace lathe::tests

#define LATHE_TEST(Test) \
  int run_test(int argc, char** argv) { return ::lathe::tests::run_class<QCoreApplication, Test>(argc, argv); }

/// As LATHE_TEST, for tests of widgets.
#define LATHE_WINDOW_TEST(Test) \
  int run_test(int argc, char** argv) { return ::lathe::tests::run_class<QApplication, Test>(argc, argv); }
