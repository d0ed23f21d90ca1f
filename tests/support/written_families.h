// SPDX-License-Identifier: Apache-2.0
// THE TABLE of what becomes of the checkpoints of tests/fixtures/families in GGUF files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/convert.h"

namespace lathe::tests {

struct WrittenFamily {
  std::string_view name;
  /// A part of the message that refuses to write the checkpoint as it is. Empty: it is written.
  std::string_view refused{};
  bool is_written = true;  ///< at least with what `unsaid` takes away
  /// Merged into config.json: what the format leaves out.
  std::string_view unsaid = "{}";
  double allowed = 0;    ///< difference of logits
  bool has_file = true;  ///< of llama.cpp's converter, in tests/fixtures/gguf
  /// In place of `unsaid` for that file: what the converter leaves out, and the format does not.
  std::string_view left_out{};
};

/// Sorted by name.
std::span<const WrittenFamily> written_families();
/// Null when there is none.
const WrittenFamily* find_written_family(std::string_view name);

std::string family_path(std::string_view name);
/// Names of the folders of tests/fixtures/families, sorted.
std::vector<std::string> family_names();
std::string gguf_path(std::string_view name);
/// Whether the family's layers need operations that not all backends have (kernels::recurrent_operations()).
bool needs_recurrent_operations(std::string_view name);

/// The family's checkpoint in a folder that is there, its config merged with `unsaid`.
void copy_family(std::string_view name, std::string_view unsaid, const std::string& folder);

/// `lathe convert` with nothing but a model and an output.
engine::Result<engine::ConvertReport> convert_as_it_is(const std::string& model, const std::string& output);
/// For messages of tests; empty: nothing was refused.
template <class T>
std::string refusal_in(const engine::Result<T>& result) {
  return result ? "" : result.error().where + ": " + result.error().message;
}

}  // namespace lathe::tests
