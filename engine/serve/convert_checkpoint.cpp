// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint whose weights have the values that an engine would compute with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "engine/api/convert.h"
#include "engine/load/safetensors_writer.h"
#include "engine/model/weight_storage.h"
#include "engine/run/open_backend.h"
#include "engine/serve/checkpoint_files.h"
#include "engine/serve/config_source.h"
#include "engine/serve/conversion_plan.h"
#include "engine/serve/gguf_description.h"
#include "engine/serve/gguf_differences.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/opened_model.h"
#include "engine/serve/partial_folder.h"
#include "engine/serve/pooling_config.h"
#include "engine/serve/tensor_conversion.h"
#include "engine/text/tokenizer_comparison.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;
using SteadyTime = std::chrono::steady_clock;
using kernels::Dtype;

constexpr std::string_view kWeightsFile = "model.safetensors";
constexpr std::string_view kGgufEnding = ".gguf";

class Conversion {
 public:
  Conversion(const EngineOptions& options, const LoadObserver& observer) : options_(options), observer_(observer) {}

  Result<ConvertReport> run(const ConvertOptions& convert) {
    LATHE_TRY_VOID(validate(options_));
    LATHE_TRY(model_, open_model(options_.model, ModelUse::inspect));
    if (model_->folder.shape() != nullptr)
      return fail(ErrorCode::unsupported, "a shape has no files to convert", options_.model);
    if (model_->config.has_classifier) {
      return fail(ErrorCode::unsupported, "the files that are written have no place for the model's classifier",
                  model_->folder.name());
    }
    LATHE_TRY(backend_, open_backend(backend_choice(options_)));
    // A load splits and transposes kv_b_proj before rounding: rounding it in the layout of the files would give other
    // values.
    if (model_->config.latent.exists() && options_.quantization != "none") {
      return fail(ErrorCode::unsupported,
                  "models with latent attention can be quantized only while they are loaded, not converted",
                  model_->folder.name());
    }
    fs::path output = fs::absolute(convert.output).lexically_normal();
    if (output.filename().empty()) output = output.parent_path();  // a slash at the end
    const bool to_gguf = output.extension() == kGgufEnding;
    if (!model_->config.has_head && !to_gguf) {
      return refuse("encoders can be written only as GGUF files: give a file name that ends in .gguf");
    }
    LATHE_TRY_VOID(to_gguf ? check_file(output, convert.overwrite) : check_folder(output, convert.overwrite));
    LATHE_TRY_VOID(plan(convert, to_gguf));
    LATHE_TRY_VOID(smooth());
    LATHE_TRY(PartialFolder partial, PartialFolder::make(output));
    LATHE_TRY_VOID(to_gguf ? write_gguf(partial.path() / output.filename()) : write_folder(partial.path()));
    const auto copied = files_beside_config();
    to_gguf ? partial.become_file(output) : partial.take_place_of(output, {copied.begin(), copied.end()});
    report_.output = output.string();
    report_.n_tensors = std::ssize(plan_.parts);
    for (const WrittenPart& part : plan_.parts) report_.n_bytes += static_cast<std::int64_t>(part.tensor.n_bytes());
    note_rounding();
    report_.notes.insert(report_.notes.end(), weight_warnings_.begin(), weight_warnings_.end());
    return std::move(report_);
  }

 private:
  Result<void> report(std::int64_t bytes_done, LoadPhase phase = LoadPhase::converting) const {
    const double seconds = std::chrono::duration<double>(SteadyTime::now() - start_).count();
    if (observer_ && !observer_({phase, bytes_done, bytes_to_read(*model_, options_), seconds})) {
      return fail(ErrorCode::cancelled, "the conversion was cancelled");
    }
    return {};
  }

  Result<void> plan(const ConvertOptions& convert, bool to_gguf) {
    // The storage follows from the options and the stored dtype, also for tensors that are codes in the files.
    ConversionChoice choice{.storage = storage_of(options_, model_->plan.stored.dtype)};
    choice.writes_codes = to_gguf && convert.write_codes;
    choice.keeps_codes = choice.writes_codes && options_.quantization == "none" && options_.dtype == "auto";
    storage_ = choice.storage;
    if (!to_gguf) {
      plan_ = plan_folder(*model_, choice);
      return {};
    }
    const bool is_copy = choice.keeps_codes && !model_->folder.gguf().empty();
    LATHE_TRY(described_, model_->folder.gguf().empty() ? describe_for_gguf(*model_) : describe_as_read(*model_, is_copy));
    LATHE_TRY(plan_, plan_gguf(*model_, choice, *described_.family));
    if (!is_copy) set_file_type(described_.metadata, storage_.dtype, blocks_of_layers());
    for (const RopeFactors& rope : described_.rope_factors) {
      plan_.tensors.push_back({rope.name, Dtype::f32, {std::ssize(rope.factors)}});
    }
    return {};
  }

  /// Block type of the quantized tensors; null: no tensor is in blocks.
  const StoredType* blocks_of_layers() const {
    const auto found = std::find_if(plan_.tensors.begin(), plan_.tensors.end(),
                                    [](const WrittenTensor& tensor) { return tensor.blocks != nullptr; });
    return found == plan_.tensors.end() ? nullptr : found->blocks;
  }

  /// Adds a note if values of codes were rounded: they are exact only in f32, for codes of the files and of the requested
  /// quantization.
  void note_rounding() {
    const auto is_rounded = [](const WrittenPart& part) {
      const bool is_of_codes = !part.source->tensor->type->dtype || is_coded(part.format);
      return part.form == WrittenPart::Form::numbers && part.tensor.dtype != Dtype::f32 && is_of_codes;
    };
    const auto n = std::count_if(plan_.parts.begin(), plan_.parts.end(), is_rounded);
    if (n == 0) return;
    report_.notes.push_back(
        fmt::format("{} quantized tensors were rounded to {}; --dtype float32 writes the numbers that their codes represent",
                    n, name_of(storage_.dtype)));
  }

  /// Finds smoothing factors as a load would. Written weights have the factors removed again, so they keep their original
  /// scale.
  Result<void> smooth() {
    if (!storage_.smoothing_alpha) return {};
    LATHE_TRY(const auto tokenizer, open_tokenizer(options_.tokenizer.empty() ? model_->folder.path() : options_.tokenizer));
    const auto observe = [this](std::int64_t bytes_done) { return report(bytes_done, LoadPhase::calibrating).has_value(); };
    LATHE_TRY(smoothing_, find_smoothing(*model_, tokenizer.get(), options_, observe));
    return {};
  }

  static tl::unexpected<Error> refuse(std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(message), "--output");
  }

  static Result<void> check_parent(const fs::path& output) {
    if (fs::is_directory(output.parent_path())) return {};
    return refuse(fmt::format("{} is not a folder", output.parent_path().string()));
  }

  Result<void> check_file(const fs::path& output, bool overwrite) const {
    if (!fs::exists(output)) return check_parent(output);
    if (!fs::is_regular_file(output)) return refuse(fmt::format("{} is not a file; nothing is replaced", output.string()));
    if (fs::equivalent(output, model_->folder.path())) return refuse("is the file of the model that is read");
    if (!overwrite) return refuse(fmt::format("{} exists; --overwrite replaces it", output.string()));
    return {};
  }

  Result<void> check_folder(const fs::path& output, bool overwrite) const {
    if (!fs::exists(output)) return check_parent(output);
    if (fs::equivalent(output, model_->folder.path())) return refuse("is the folder of the model that is read");
    if (!overwrite) return refuse(fmt::format("{} exists; --overwrite replaces its weights", output.string()));
    const bool is_replaceable = fs::is_directory(output) && (fs::is_empty(output) || fs::exists(output / kConfigFile));
    if (!is_replaceable)
      return refuse(fmt::format("{} is not the folder of a checkpoint; nothing is replaced", output.string()));
    return {};
  }

  Result<void> write_folder(const fs::path& folder) {
    LATHE_TRY(WeightsWriter writer, create_safetensors((folder / kWeightsFile).string(), plan_.tensors));
    LATHE_TRY_VOID(write_weights(writer));
    LATHE_TRY_VOID(writer.finish());
    LATHE_TRY(report_.notes, write_checkpoint_files(*model_, storage_.dtype, plan_.has_head_of_its_own, folder));
    return {};
  }

  Result<void> write_gguf(const fs::path& file) {
    LATHE_TRY(WeightsWriter writer, create_gguf(file.string(), described_.metadata, plan_.tensors));
    LATHE_TRY_VOID(write_weights(writer));
    for (const RopeFactors& rope : described_.rope_factors) {
      LATHE_TRY_VOID(writer.write(std::as_bytes(std::span(rope.factors))));
    }
    LATHE_TRY_VOID(writer.finish());
    LATHE_TRY_VOID(check_read_again(file));
    LATHE_TRY_VOID(note_vectors());
    return note_spaces(file);
  }

  /// Reads the written file and checks that it describes the same model.
  Result<void> check_read_again(const fs::path& file) const {
    LATHE_TRY(const ModelFolder written, ModelFolder::open(file.string()));
    LATHE_TRY(const Json json, read_config_json(written));
    LATHE_TRY(const ModelConfig config, read_model_config(json));
    ModelConfig meant = model_->config;
    meant.tied_embeddings = model_->plan.tied_embeddings && !plan_.has_head_of_its_own;
    if (meant.per_layer.exists() && model_->folder.gguf().empty()) {
      meant.per_layer.vocab_size = meant.vocab_size;  // rows of the written table
    }
    DeltaNetConfig& net = meant.delta_net;
    net.is_tiled = described_.family->tiles_value_heads && net.n_heads != net.n_key_heads;
    const std::vector<std::string> other = differences(config, meant);
    // Tensors are checked last: with a differing config, tensors would be reported as missing.
    if (other.empty()) {
      LATHE_TRY(const OpenedModel whole, open_model(file.string(), ModelUse::inspect));
      return {};
    }
    return fail(ErrorCode::unsupported,
                fmt::format("a GGUF file of this family cannot express its settings of {}", fmt::join(other, ", ")),
                fmt::format("{}: config.json", model_->folder.name()));
  }

  /// Adds notes about settings of a sentence-transformers folder that a GGUF file cannot hold.
  Result<void> note_vectors() {
    const ModelConfig& config = model_->config;
    if (config.is_causal || !model_->folder.gguf().empty()) return {};
    LATHE_TRY(const PoolingConfig pooling, read_pooling_config(model_->folder, Pooling::mean));
    if (!pooling.normalises) {
      report_.notes.emplace_back(
          "the folder does not normalise vectors (no Normalize in modules.json); GGUF cannot express that, so vectors "
          "computed from this file have length 1");
    }
    if (pooling.max_tokens > 0 && pooling.max_tokens < config.max_position_embeddings) {
      constexpr std::string_view kWords =
          "the folder limits texts to {} tokens (max_seq_length); GGUF cannot express that, so with this file they may have "
          "{}";
      report_.notes.push_back(fmt::format(kWords, pooling.max_tokens, config.max_position_embeddings));
    }
    return {};
  }

  /// Adds a note if a reader of the file adds a space after special tokens, as Llama tokenizers with "legacy" do, and the
  /// source does not.
  Result<void> note_spaces(const fs::path& file) {
    if (!model_->folder.gguf().empty()) return {};
    const auto meant = open_tokenizer(model_->folder.path()), written = open_tokenizer(file.string());
    if (!meant || !written || (*meant)->eos_ids().empty()) return {};
    const auto special_token = (*meant)->piece((*meant)->eos_ids().front());
    LATHE_TRY(const bool adds_space, adds_space_behind(**written, **meant, special_token));
    if (adds_space) {
      report_.notes.emplace_back(
          "the folder's tokenizer adds no space after special tokens (legacy: false); GGUF cannot express that, so with "
          "this file text after a special token is read with a space before it");
    }
    return {};
  }

  Result<void> write_weights(WeightsWriter& writer) {
    const std::int64_t bytes_total = bytes_to_read(*model_, options_);
    std::int64_t bytes_done = bytes_total - model_->plan.n_bytes;
    TensorConversion conversion(*model_, *backend_, smoothing_);
    for (const WrittenPart& part : plan_.parts) {
      const StoredTensor& stored = *part.source->tensor;
      LATHE_TRY_VOID(model_->checkpoint.prepare(stored));
      LATHE_TRY_VOID(conversion.write(part, writer));
      model_->checkpoint.drop(stored);
      bytes_done = std::min(bytes_done + static_cast<std::int64_t>(stored.bytes.size()), bytes_total);
      LATHE_TRY_VOID(report(bytes_done));
    }
    weight_warnings_ = conversion.warnings();
    return {};
  }

  const EngineOptions& options_;
  const LoadObserver& observer_;
  const SteadyTime::time_point start_ = SteadyTime::now();
  std::optional<OpenedModel> model_;
  std::unique_ptr<kernels::Backend> backend_;
  WeightStorage storage_ = Dtype::f32;
  ConversionPlan plan_;
  GgufDescription described_;
  Smoothing smoothing_;
  std::vector<std::string> weight_warnings_;
  ConvertReport report_;
};

}  // namespace

Result<ConvertReport> convert_checkpoint(const EngineOptions& options, const ConvertOptions& convert,
                                         const LoadObserver& observer) {
  try {
    return Conversion(options, observer).run(convert);
  } catch (const fs::filesystem_error& error) {
    return fail(ErrorCode::resource_exhausted, error.code().message(), error.path1().string());
  }
}

}  // namespace lathe::engine
