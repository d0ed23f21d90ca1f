// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint in the numbers that an engine would compute with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

#include "engine/api/convert.h"
#include "engine/load/safetensors_writer.h"
#include "engine/model/tensor_layout.h"
#include "engine/model/weight_storage.h"
#include "engine/run/open_backend.h"
#include "engine/serve/gguf_description.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/opened_model.h"
#include "engine/serve/partial_folder.h"
#include "kernels/api/rounded_tensor.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using kernels::Dtype;
using kernels::TensorView;
using kernels::WeightFormat;

// What is decoded before it is written: bounds the memory beside the tensor.
constexpr std::int64_t kBytesAtATime = 16LL << 20;
constexpr std::string_view kWeightsFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kGgufEnding = ".gguf";
// What a checkpoint has beside its weights and is of use to whoever reads the new one.
constexpr std::array<std::string_view, 9> kOtherFiles = {"generation_config.json",
                                                         "tokenizer.json",
                                                         "tokenizer.model",
                                                         "tokenizer_config.json",
                                                         "special_tokens_map.json",
                                                         "added_tokens.json",
                                                         "chat_template.jinja",
                                                         "vocab.json",
                                                         "merges.txt"};
constexpr std::int64_t kMaxOtherFile = 256LL << 20;

/// A tensor that is to be written, or an expert's part of one.
struct Output {
  WrittenTensor tensor;
  const PlannedWeight* source = nullptr;
  WeightFormat format = WeightFormat::f32;  ///< that its numbers are rounded to
  TensorLayout layout = TensorLayout::plain;
  std::int64_t n_parts = 0;                 ///< that the tensor is made of, this is one of them; 0: it is all
  std::int64_t first_row = 0, n_rows = -1;  ///< of the source in plain order; -1: all
};

/// Writes a number in a floating type.
void store(float number, Dtype dtype, std::byte* out) {
  const std::uint16_t half = dtype == Dtype::f16 ? kernels::f32_to_f16(number) : kernels::f32_to_bf16(number);
  dtype == Dtype::f32 ? std::memcpy(out, &number, sizeof number) : std::memcpy(out, &half, sizeof half);
}

class Conversion {
 public:
  Conversion(const EngineOptions& options, const LoadObserver& observer) : options_(options), observer_(observer) {}

  Result<ConvertReport> run(const ConvertOptions& convert) {
    LATHE_TRY_VOID(validate(options_));
    LATHE_TRY(model_, open_model(options_.model));
    LATHE_TRY(backend_, open_backend(options_.isa, options_.threads));
    storage_ = storage_of(options_, model_->plan.stored.dtype);  // numbers, also of what is codes in the files
    if (!model_->folder.gguf().empty()) {
      return fail(ErrorCode::unsupported, "a GGUF file is loaded, not converted; convert the folder that it was made of",
                  model_->folder.name());
    }
    // A load cuts and turns the matrix of K and V: rounded as it lies in files, it would be another one.
    if (model_->config.latent.exists() && options_.quantization != "none") {
      return fail(ErrorCode::unsupported, "a model with latent attention is quantized at load only, not converted",
                  model_->folder.name());
    }
    fs::path output = fs::absolute(convert.output).lexically_normal();
    if (output.filename().empty()) output = output.parent_path();  // a slash at the end
    const bool to_gguf = output.extension() == kGgufEnding;
    LATHE_TRY_VOID(to_gguf ? check_file(output, convert.overwrite) : check_folder(output, convert.overwrite));
    LATHE_TRY_VOID(to_gguf ? plan_gguf() : plan_folder());
    LATHE_TRY_VOID(smooth());
    LATHE_TRY(PartialFolder partial, PartialFolder::make(output));
    LATHE_TRY_VOID(to_gguf ? write_gguf(partial.path() / output.filename()) : write_folder(partial.path()));
    to_gguf ? partial.become_file(output) : partial.take_place_of(output, {kOtherFiles.begin(), kOtherFiles.end()});
    ConvertReport report{.output = output.string(), .n_tensors = static_cast<std::int64_t>(outputs_.size())};
    for (const Output& out : outputs_) report.n_bytes += static_cast<std::int64_t>(out.tensor.n_bytes());
    return report;
  }

 private:
  Result<void> report(std::int64_t bytes_done, LoadPhase phase = LoadPhase::converting) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (observer_ && !observer_({phase, bytes_done, bytes_to_read(*model_, options_), seconds})) {
      return fail(ErrorCode::cancelled, "converting was cancelled");
    }
    return {};
  }

  /// Finds factors as a load would. What is written has them taken out again: weights lie in the scale that they came in.
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
    return refuse(fmt::format("{} is no folder", output.parent_path().string()));
  }

  static Result<void> check_file(const fs::path& output, bool overwrite) {
    if (!fs::exists(output)) return check_parent(output);
    if (!fs::is_regular_file(output)) return refuse(fmt::format("{} is no file: nothing is replaced", output.string()));
    if (!overwrite) return refuse(fmt::format("{} exists; --overwrite replaces it", output.string()));
    return {};
  }

  Result<void> check_folder(const fs::path& output, bool overwrite) const {
    if (!fs::exists(output)) return check_parent(output);
    if (fs::equivalent(output, model_->folder.path())) return refuse("is the folder of the model that is read");
    if (!overwrite) return refuse(fmt::format("{} exists; --overwrite replaces its weights", output.string()));
    const bool is_replaceable = fs::is_directory(output) && (fs::is_empty(output) || fs::exists(output / kConfigFile));
    if (!is_replaceable) return refuse(fmt::format("{} is no folder of a checkpoint: nothing is replaced", output.string()));
    return {};
  }

  WeightFormat format_of(WeightRole role) const {
    if (role == WeightRole::head) return storage_.head;
    if (is_expert_matrix(role)) return storage_.experts;
    if (is_layer_matrix(role)) return storage_.matrices;
    return role == WeightRole::embedding ? WeightStorage(storage_.dtype).matrices : WeightFormat::f32;
  }

  /// Vectors are computed with in f32: they keep their numbers.
  Dtype dtype_of_output(const PlannedWeight& weight) const {
    if (weight.tensor->shape.size() > 1 || storage_.dtype == Dtype::f32) return storage_.dtype;
    return *weight.tensor->type->dtype;
  }

  void add_output(const PlannedWeight& weight, std::string name, WeightFormat format) {
    const std::vector<std::int64_t> shape = stored_shape(weight.usual, shape_of(weight.role, model_->config));
    outputs_.push_back({{std::move(name), dtype_of_output(weight), shape},
                        &weight,
                        format,
                        weight.usual,
                        weight.tensor->is_of_stack ? n_parts_of(weight.role, model_->config) : 0});
  }

  Result<void> plan_folder() {
    for (const PlannedWeight& weight : model_->plan.weights) {
      const bool is_shared = weight.role == WeightRole::embedding && has_head_of_its_own();
      // What two share may lie under the name of either.
      add_output(weight, is_shared ? name_of_role(WeightRole::embedding) : name_in_folder(weight), format_of(weight.role));
      if (is_shared) add_output(weight, name_of_role(WeightRole::head), storage_.head);
    }
    collect_tensors();
    return {};
  }

  /// Of an expert out of a stack the name that all of them have.
  static std::string name_in_folder(const PlannedWeight& weight) {
    std::string name = weight.tensor->name;
    const std::string number = fmt::format(".{}.", weight.expert);
    if (weight.tensor->is_of_stack) name.replace(name.rfind(number), number.size(), ".");
    return name;
  }

  /// Parts of one tensor follow each other.
  void collect_tensors() {
    const auto place = [](const Output& out) { return std::tie(out.source->layer, out.tensor.name, out.source->expert); };
    std::sort(outputs_.begin(), outputs_.end(), [&](const Output& a, const Output& b) { return place(a) < place(b); });
    for (const Output& out : outputs_) {
      if (out.n_parts > 0 && !tensors_.empty() && tensors_.back().name == out.tensor.name) continue;
      tensors_.push_back(out.tensor);
      std::vector<std::int64_t>& shape = tensors_.back().shape;
      if (out.n_parts > 0) shape.insert(shape.begin(), out.n_parts);
    }
  }

  Result<void> plan_gguf() {
    LATHE_TRY(described_, describe_for_gguf(*model_, storage_.dtype));
    for (const PlannedWeight& weight : model_->plan.weights) {
      for (const GgufPart& part : gguf_parts_of(weight))
        LATHE_TRY_VOID(add_gguf_output(weight, part, format_of(weight.role)));
      const bool is_shared = weight.role == WeightRole::embedding && has_head_of_its_own();
      if (is_shared) LATHE_TRY_VOID(add_gguf_output(weight, {WeightRole::head, weight.role}, storage_.head));
    }
    collect_tensors();
    for (const RopeFactors& rope : described_.rope_factors) {
      tensors_.push_back({rope.name, Dtype::f32, {static_cast<std::int64_t>(rope.factors.size())}});
    }
    return {};
  }

  /// Some rows of a tensor under the name of another role.
  struct GgufPart {
    WeightRole role, like;  ///< what it is called after, what has its shape
    std::int64_t first_row = 0, n_rows = -1;
  };

  /// Gate and up of experts lie apart there, and the norms of all heads in one.
  std::vector<GgufPart> gguf_parts_of(const PlannedWeight& weight) const {
    const std::int64_t inner = model_->config.moe.expert_size;
    const auto halves = [&](WeightRole gate, WeightRole up) {
      return std::vector<GgufPart>{{gate, gate, 0, inner}, {up, up, inner, inner}};
    };
    switch (weight.role) {
      case WeightRole::expert_gate_up: return halves(WeightRole::expert_gate, WeightRole::expert_up);
      case WeightRole::expert_gate_up_bias: return halves(WeightRole::expert_gate_bias, WeightRole::expert_up_bias);
      case WeightRole::q_head_norm: return {{WeightRole::q_norm, weight.role}};
      case WeightRole::k_head_norm: return {{WeightRole::k_norm, weight.role}};
      default: return {{weight.role, weight.role}};
    }
  }

  /// Vectors and routers are f32 in GGUF files, whatever the matrices are.
  Result<void> add_gguf_output(const PlannedWeight& weight, const GgufPart& part, WeightFormat format) {
    LATHE_TRY(std::string name, gguf_name(weight, part.role));
    const std::vector<std::int64_t> shape = shape_of(part.like, model_->config);
    const bool is_f32 = shape.size() == 1 || part.role == WeightRole::router;
    const TensorLayout layout = layout_of(stored_form_of(*described_.family, name), TensorLayout::plain);
    outputs_.push_back({{std::move(name), is_f32 ? Dtype::f32 : storage_.dtype, shape},
                        &weight,
                        format,
                        layout,
                        n_parts_of(weight.role, model_->config),
                        part.first_row,
                        part.n_rows});
    return {};
  }

  /// By the name that the tensor has, else by another that the family has for it. Errors: unsupported.
  Result<std::string> gguf_name(const PlannedWeight& weight, WeightRole role) const {
    const std::string usual = usual_name(weight, role);
    if (const auto name = role == weight.role || is_end(role) ? gguf_name_of(*described_.family, usual) : std::nullopt) {
      return *name;
    }
    for (const TensorName& spelling : model_->config.architecture->tensors) {
      if (spelling.role != role) continue;
      const std::string tensor = tensor_name(spelling.pattern, weight.layer, weight.expert);
      const auto name = gguf_name_of(*described_.family, with_prefix(role, tensor, kUsualPrefixes.front()));
      if (name) return *name;
    }
    return fail(ErrorCode::unsupported, "has no name in GGUF files", usual);
  }

  static bool is_end(WeightRole role) { return role == WeightRole::embedding || role == WeightRole::head; }

  /// Behind the prefix that checkpoints with a head have.
  std::string usual_name(const PlannedWeight& weight, WeightRole role) const {
    const Architecture& architecture = *model_->config.architecture;
    if (is_end(role)) return with_prefix(role, pattern_of(role, architecture), kUsualPrefixes.front());
    const std::size_t n_prefix = with_prefix(role, "", model_->plan.prefix).size();
    return with_prefix(role, weight.tensor->name.substr(n_prefix), kUsualPrefixes.front());
  }

  std::string name_of_role(WeightRole role) const {
    return with_prefix(role, pattern_of(role, *model_->config.architecture), model_->plan.prefix);
  }

  /// The head computes with other numbers than the embeddings that it shares.
  bool has_head_of_its_own() const {
    return model_->plan.tied_embeddings && storage_.head != WeightStorage(storage_.dtype).head;
  }

  Result<void> write_folder(const fs::path& folder) {
    LATHE_TRY(WeightsWriter writer, create_safetensors((folder / kWeightsFile).string(), tensors_));
    LATHE_TRY_VOID(write_weights(writer));
    LATHE_TRY_VOID(writer.finish());
    return write_other_files(folder);
  }

  Result<void> write_gguf(const fs::path& file) {
    LATHE_TRY(WeightsWriter writer, create_gguf(file.string(), described_.metadata, tensors_));
    LATHE_TRY_VOID(write_weights(writer));
    for (const RopeFactors& rope : described_.rope_factors) {
      LATHE_TRY_VOID(writer.write(std::as_bytes(std::span(rope.factors))));
    }
    LATHE_TRY_VOID(writer.finish());
    return check_read_again(file);
  }

  /// A reader must find the model that was meant.
  Result<void> check_read_again(const fs::path& file) const {
    LATHE_TRY(const OpenedModel written, open_model(file.string()));
    ModelConfig meant = model_->config;
    meant.tied_embeddings = model_->plan.tied_embeddings && !has_head_of_its_own();
    const std::vector<std::string> other = differences(written.config, meant);
    if (other.empty()) return {};
    return fail(ErrorCode::unsupported,
                fmt::format("a GGUF file of this family has no place for what it says of {}", fmt::join(other, ", ")),
                fmt::format("{}: config.json", model_->folder.name()));
  }

  Result<void> write_weights(WeightsWriter& writer) {
    const std::int64_t bytes_total = bytes_to_read(*model_, options_);
    std::int64_t bytes_done = bytes_total - model_->plan.n_bytes;
    for (const Output& out : outputs_) {
      const StoredTensor& stored = *out.source->tensor;
      LATHE_TRY_VOID(model_->checkpoint.check_whole(stored));
      LATHE_TRY_VOID(write_tensor(out, writer));
      model_->checkpoint.drop(stored);
      bytes_done = std::min(bytes_done + static_cast<std::int64_t>(stored.bytes.size()), bytes_total);
      LATHE_TRY_VOID(report(bytes_done));
    }
    return {};
  }

  Result<void> write_tensor(const Output& out, WeightsWriter& writer) {
    TensorView source =
        to_plain(*backend_, out.source->layout, model_->config, view_of(*out.source->tensor, aligned_), ordered_);
    if (out.n_rows >= 0) source = source.rows(out.first_row, out.n_rows);
    std::span<const float> factors;
    if (source.rank == 1) {
      source = TensorView(source.data, source.dtype, {1, source.dim(0)});
    } else {
      factors = smoothing_.factors_of(out.source->role, out.source->layer);
      source = smoothing_.applied(*backend_, *out.source, source, smooth_);
    }
    const std::int64_t n_rows = source.dim(0), k = source.dim(1);
    const auto element_bytes = static_cast<std::int64_t>(size_of(out.tensor.dtype));
    const std::int64_t rows_at_a_time =
        std::max<std::int64_t>(1, kBytesAtATime / std::max<std::int64_t>(1, k * element_bytes));
    const auto parallel_for = [this](std::int64_t n, const auto& body) { backend_->parallel_for(n, body); };
    const kernels::RoundedTensor rounded(out.format, source, parallel_for);
    const bool is_plain = out.layout == TensorLayout::plain;
    std::vector<std::byte> bytes, all;  // what lies otherwise in files is put in order once all of it is there
    for (std::int64_t begin = 0; begin < n_rows; begin += rows_at_a_time) {
      const std::int64_t count = std::min(rows_at_a_time, n_rows - begin);
      bytes.resize(static_cast<std::size_t>(count * k * element_bytes));
      parallel_for(count, [&](std::int64_t first, std::int64_t end) {
        std::vector<float> row(static_cast<std::size_t>(k));
        for (std::int64_t r = first; r < end; ++r) {
          rounded.row(begin + r, row);
          for (std::size_t i = 0; i < factors.size(); ++i) row[i] /= factors[i];
          std::byte* const to = bytes.data() + r * k * element_bytes;
          for (std::int64_t i = 0; i < k; ++i)
            store(row[static_cast<std::size_t>(i)], out.tensor.dtype, to + i * element_bytes);
        }
      });
      if (is_plain) {
        LATHE_TRY_VOID(writer.write(bytes));
      } else {
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
    }
    if (is_plain) return {};
    TensorView rounded_all(all.data(), out.tensor.dtype, {n_rows, k});
    if (out.tensor.shape.size() == 1) rounded_all = TensorView(all.data(), out.tensor.dtype, {k});
    const TensorView stored = to_stored(*backend_, out.layout, model_->config, rounded_all, bytes);
    return writer.write({stored.as<std::byte>(), stored.n_bytes()});
  }

  Result<void> write_other_files(const fs::path& folder) const {
    LATHE_TRY(Json config, model_->folder.read_json(kConfigFile));
    config.erase("dtype");
    for (const char* key : {"quantization_config", "compression_config"}) {
      config.erase(key);
      if (config.contains("text_config")) config["text_config"].erase(key);
    }
    config["torch_dtype"] = name_of(storage_.dtype);
    if (has_head_of_its_own()) config["tie_word_embeddings"] = false;
    LATHE_TRY_VOID(write_file(folder / kConfigFile, dump_json(config, 2) + "\n"));
    for (const std::string_view name : kOtherFiles) {
      if (!model_->folder.has(name)) continue;
      LATHE_TRY(const std::string text, model_->folder.read_text(name, kMaxOtherFile));
      LATHE_TRY_VOID(write_file(folder / name, text));
    }
    return {};
  }

  static Result<void> write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.close();
    if (!file) return fail(ErrorCode::resource_exhausted, "cannot be written", path.string());
    return {};
  }

  const EngineOptions& options_;
  const LoadObserver& observer_;
  const Clock::time_point start_ = Clock::now();
  std::optional<OpenedModel> model_;
  std::unique_ptr<kernels::Backend> backend_;
  WeightStorage storage_ = Dtype::f32;
  std::vector<Output> outputs_;
  std::vector<WrittenTensor> tensors_;
  GgufDescription described_;
  Smoothing smoothing_;
  std::vector<std::byte> aligned_, ordered_;
  std::vector<float> smooth_;
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
