// SPDX-License-Identifier: Apache-2.0
// OpenedModel: a checkpoint whose headers have been read and checked; no weights are read yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/api/checkpoint.h"
#include "engine/api/named_templates.h"
#include "engine/load/checkpoint.h"
#include "engine/load/files/model_folder.h"
#include "engine/model/generation_config.h"
#include "engine/model/model_config.h"
#include "engine/model/weight_plan.h"

namespace lathe::engine {

/// Owns: the folder and the mapped files. The plan points into the checkpoint.
struct OpenedModel {
  ModelFolder folder;
  ModelConfig config;
  Checkpoint checkpoint;
  WeightPlan plan;
  GenerationConfig generation;
  NamedTemplates chat_templates;
  std::string chat_template_error;  ///< why the files' templates are left out; empty: none was
  ModelInfo info;
};

/// The purpose of opening a model.
enum class ModelUse : std::uint8_t {
  inspect,
  generate,  ///< needs a head
  serve,     ///< generates text if the model has a head, and gives vectors
  embed      ///< leaves the head in the files
};

/// Opens a model. `overrides`: EngineOptions::hf_overrides. Errors: not_found; model_refused with file, field, got and
/// expected, also when the model does not suit `use`.
Result<OpenedModel> open_model(const std::string& path, ModelUse use = ModelUse::generate,
                               const std::string& overrides = {});

}  // namespace lathe::engine
