// SPDX-License-Identifier: Apache-2.0
// The program of a folder's tests: `engine.sample sampler_test [options of Qt Test]`. Its main() is generated
// (test_main.cpp.in).
#pragma once

#include <span>
#include <string_view>

namespace lathe::tests {

struct NamedTest {
  std::string_view name;  ///< "sampler_test"; in a folder below the program's: "plan.sweep_plan_test"
  int (*run)(int argc, char** argv);
};

/// Runs the tests that the first arguments name, all if these name none; the other arguments are Qt Test's. One test runs in
/// this process, several each in a process of its own. Returns the exit status. Errors: status 2 and a message with the
/// names, if an argument before the first option is the name of no test and no test comes first.
int run_tests(std::span<const NamedTest> tests, int argc, char** argv);

}  // namespace lathe::tests
