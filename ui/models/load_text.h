// SPDX-License-Identifier: GPL-3.0-or-later
// Load text: sizes, a checkpoint in one line, and the progress of a load, as text.
#pragma once

#include <QString>

#include "app/api/model_slot.h"
#include "engine/api/checkpoint.h"
#include "engine/api/engine.h"
#include "engine/api/fit_fixes.h"
#include "engine/api/machine.h"

namespace lathe::ui {

/// "47.0 MiB", "6.1 GiB": about three digits, binary units.
QString bytes_text(std::int64_t bytes);
/// "12 M", "3.21 B"
QString count_text(std::int64_t count);
/// "bfloat16" -> "BF16"
QString dtype_text(const std::string& dtype);
/// "int8_g32" -> "INT8, groups of 32"
QString quantization_text(const std::string& quantization);
/// "llama · 3.21 B · BF16 folder, 6.0 GiB"
QString model_line(const engine::ModelInfo& info);
/// The format of most weights in the files of a checkpoint: "BF16", "INT8 g32".
QString stored_text(const engine::ModelInfo& info);
/// The weight format of a loaded model: "INT8 g32", or "BF16" if no weight is quantized.
QString weights_text(const engine::LoadedModel& model);
/// "Loaded as INT8 g32 in 0.8 s from the cache"
QString loaded_text(const engine::LoadedModel& model);
/// "Processor, 11.2 of 15.6 GiB free", "cuda:0 NVIDIA H200, 124 of 140 GiB free", "CUDA, not available"
QString device_text(const engine::DeviceInfo& device);
/// The model name, the compute capability and the reason why the device cannot be chosen, a line each.
QString device_tip(const engine::DeviceInfo& device);
/// "LlamaForCausalLM" -> "llama"
QString family_text(const std::string& architecture);
/// Describes a change of one option: "Context 2048", "4 sequences", "KV memory Auto", "Use BF16",
/// "Quantize to INT8, groups of 32".
QString fix_text(const engine::FitFix& fix);

int load_percent(const engine::LoadProgress& progress);
/// "Checking files and memory", "Waiting for 4 requests", or load_speed_text().
QString load_state_text(const app::ModelStatus& status);
/// "29.6 of 47.0 MiB, 212 MiB/s, under 1 s left"
QString load_speed_text(const engine::LoadProgress& progress);

}  // namespace lathe::ui
