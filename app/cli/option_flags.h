// SPDX-License-Identifier: Apache-2.0
// Makes command-line flags, with vLLM's names, from the engine's option tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/options.h"
#include "engine/api/sampling_field.h"

namespace CLI {
class App;
}

namespace lathe::app {

/// The given flags of one table, kept as text until apply().
class OptionFlags {
 public:
  /// Adds --max-num-seqs and so on; booleans as --x and --no-x. Leaves out the names in `except`. Requires: this object
  /// outlives `parser`.
  void add(CLI::App& parser, std::span<const engine::OptionDescriptor> table, std::vector<std::string_view> except = {});
  /// The same for sampling parameters, whose defaults the checkpoint decides. Requires: `table` outlives this object.
  void add(CLI::App& parser, engine::SamplingTable table, std::vector<std::string_view> except = {});

  bool given(std::string_view name) const;
  /// Names and values, in the given order.
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }
  /// Writes the given values to `target`. Errors: invalid_argument, `where` = the flag.
  engine::Result<void> apply(engine::EngineOptions& target) const;
  engine::Result<void> apply(engine::SamplingParams& target) const;

 private:
  void add_boolean(CLI::App& parser, const engine::OptionDescriptor& option, bool on);
  void add_one(CLI::App& parser, const engine::OptionDescriptor& option, const std::string& value);
  std::vector<std::pair<std::string, std::string>> values_;  ///< names and values, in the given order
  engine::SamplingTable sampling_;                           ///< the table whose flags were added; empty: none
};

/// Returns "--max-num-seqs" for "max_num_seqs".
std::string flag_of(std::string_view name);

}  // namespace lathe::app
