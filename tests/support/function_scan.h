// SPDX-License-Identifier: Apache-2.0
// Functions with a body in a C++ or CUDA source, with their statements and the class that they are members of.
#pragma once

#include <string>
#include <vector>

#include "tests/support/source_tree.h"

namespace lathe::tests {

struct Function {
  std::string name;          ///< as written before the parameter list, without template arguments: "Scheduler::plan"
  std::string scope;         ///< namespaces and classes that enclose the definition: "lathe::engine"; "" at the top
  int line = 0;              ///< line where the parameter list begins
  int n_statements = 0;      ///< see count_statements()
  bool is_in_class = false;  ///< defined within the braces of its class

  /// The class of a member that is defined outside its class, with the scope: "lathe::engine::Scheduler". Empty for a name
  /// without qualifiers.
  std::string qualified_owner() const;
};

/// Functions and classes of a file, found by brackets and the words before them.
struct FunctionScan {
  /// With a body, or defaulted outside their class (without statements). Lambdas in a function belong to it; one in the row
  /// of a table is named "lambda".
  std::vector<Function> functions;
  std::vector<std::string> classes;  ///< with a body here: "lathe::engine::Scheduler"; unnamed namespaces are "(unnamed)"
  /// True if every bracket matches and no keyword of a statement lies outside the functions: nothing was overlooked.
  bool is_complete = true;
};

FunctionScan scan_functions(const SourceFile& file);

/// Statements in `code`, which has no comments and literals: each semicolon that is not directly within parentheses (those
/// of a `for` are), and each of the keywords if, for, while, switch, do and try. Comments, blank lines, wrapped arguments
/// and the rows of an initializer add nothing; a lambda's statements count for the function that holds it.
int count_statements(const std::string& code);

}  // namespace lathe::tests
