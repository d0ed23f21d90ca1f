// SPDX-License-Identifier: Apache-2.0
// ModelShape: sizes of a well-known model. A load of "shape:NAME" makes random weights of these sizes in memory, so that
// speed can be measured without the model's files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

struct ModelShape {
  std::string_view name;    ///< "llama-8b"
  std::string_view config;  ///< text of config.json, without token ids: no token ends an answer
};

/// The table, in the order of its rows.
std::span<const ModelShape> model_shapes();
std::vector<std::string_view> model_shape_names();

/// The path of a shape, given wherever a model is named: "shape:llama-8b".
std::string shape_path(std::string_view name);
/// True if a path names a shape, known or unknown.
bool is_shape_path(std::string_view path);
/// The shape that a path names. Errors: not_found, with the known names.
Result<const ModelShape*> find_shape(std::string_view path);

}  // namespace lathe::engine
