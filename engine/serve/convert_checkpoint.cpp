// SPDX-License-Identifier: Apache-2.0
// Writes a checkpoint in the numbers that an engine would compute with.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "engine/api/convert.h"
#include "engine/load/safetensors_writer.h"
#include "engine/model/tensor_layout.h"
#include "engine/model/weight_storage.h"
#include "engine/run/open_backend.h"
#include "engine/serve/load_runner.h"
#include "engine/serve/opened_model.h"
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
// What a checkpoint has beside its weights and is of use to whoever reads the new one.
constexpr std::array<std::string_view, 9> kOtherFiles = {
    "generation_config.json", "tokenizer.json",      "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json",      "chat_template.jinja", "vocab.json",      "merges.txt"};
constexpr std::int64_t kMaxOtherFile = 256LL << 20;

/// A tensor that is to be written.
struct Output {
  SafetensorsTensor tensor;
  const PlannedWeight* source = nullptr;
  WeightFormat format = WeightFormat::f32;  ///< that its numbers are rounded to
};

/// Writes a number in a floating type.
void store(float number, Dtype dtype, std::byte* out) {
  const std::uint16_t half = dtype == Dtype::f16 ? kernels::f32_to_f16(number) : kernels::f32_to_bf16(number);
  dtype == Dtype::f32 ? std::memcpy(out, &number, sizeof number) : std::memcpy(out, &half, sizeof half);
}

/// A folder on the output's disk, whose files take their places at the end. Removed unless that fails half way.
class PartialFolder {
 public:
  /// Inside the output if that exists, else beside it.
  static Result<PartialFolder> make(const fs::path& output) {
    const std::string ending = ".partial-" + std::string(6, 'X');  // mkdtemp puts its own letters there
    std::string name = (fs::exists(output) ? output / ending : fs::path(output).concat(ending)).string();
    if (::mkdtemp(name.data()) == nullptr) {
      return fail(ErrorCode::resource_exhausted, fmt::format("cannot be made: {}", std::strerror(errno)), name);
    }
    return PartialFolder(name);
  }
  PartialFolder(PartialFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PartialFolder& operator=(PartialFolder&&) = delete;
  ~PartialFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

  /// What belongs to the checkpoint that lay there goes once all that is new is in its place; other files stay.
  void take_place_of(const fs::path& output) {
    const fs::path made = std::exchange(path_, {});  // from here on nothing of it is removed, whatever happens
    if (!fs::exists(output)) {
      fs::permissions(made, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                                fs::perms::others_exec);
      return fs::rename(made, output);
    }
    std::set<std::string> is_new;
    for (const fs::directory_entry& entry : fs::directory_iterator(made)) is_new.insert(entry.path().filename().string());
    for (const std::string& name : is_new) fs::rename(made / name, output / name);
    fs::remove(made);
    for (const fs::directory_entry& entry : fs::directory_iterator(output)) {
      const std::string name = entry.path().filename().string();
      const bool is_weights = entry.path().extension() == ".safetensors" || name == kIndexFile;
      const bool is_other = std::find(kOtherFiles.begin(), kOtherFiles.end(), name) != kOtherFiles.end();
      if ((is_weights || is_other) && !is_new.contains(name)) fs::remove(entry.path());
    }
  }

 private:
  explicit PartialFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

class Conversion {
 public:
  Conversion(const EngineOptions& options, const LoadObserver& observer) : options_(options), observer_(observer) {}

  Result<ConvertReport> run(const ConvertOptions& convert) {
    LATHE_TRY_VOID(validate(options_));
    LATHE_TRY(model_, open_model(options_.model));
    LATHE_TRY(backend_, open_backend(options_.isa, options_.threads));
    storage_ = storage_of(options_, model_->plan.stored_dtype);
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
    LATHE_TRY_VOID(check_output(output, convert.overwrite));
    LATHE_TRY_VOID(smooth());
    LATHE_TRY(PartialFolder partial, PartialFolder::make(output));
    plan_outputs();
    LATHE_TRY_VOID(write_weights(partial.path() / kWeightsFile));
    LATHE_TRY_VOID(write_other_files(partial.path()));
    partial.take_place_of(output);
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

  Result<void> check_output(const fs::path& output, bool overwrite) const {
    if (!fs::exists(output)) {
      if (fs::is_directory(output.parent_path())) return {};
      return refuse(fmt::format("{} is no folder", output.parent_path().string()));
    }
    if (fs::equivalent(output, model_->folder.path())) return refuse("is the folder of the model that is read");
    if (!overwrite) return refuse(fmt::format("{} exists; --overwrite replaces its weights", output.string()));
    const bool is_replaceable = fs::is_directory(output) && (fs::is_empty(output) || fs::exists(output / kConfigFile));
    if (!is_replaceable) return refuse(fmt::format("{} is no folder of a checkpoint: nothing is replaced", output.string()));
    return {};
  }

  WeightFormat format_of(WeightRole role) const {
    if (role == WeightRole::head) return storage_.head;
    if (is_layer_matrix(role)) return storage_.matrices;
    return role == WeightRole::embedding ? WeightStorage(storage_.dtype).matrices : WeightFormat::f32;
  }

  /// Vectors are computed with in f32: they keep their numbers.
  Dtype dtype_of_output(const PlannedWeight& weight) const {
    if (weight.tensor->shape.size() > 1 || storage_.dtype == Dtype::f32) return storage_.dtype;
    return *weight.tensor->type->dtype;
  }

  void add_output(const PlannedWeight& weight, std::string name, WeightFormat format) {
    outputs_.push_back({{std::move(name), dtype_of_output(weight), weight.tensor->shape}, &weight, format});
  }

  void plan_outputs() {
    for (const PlannedWeight& weight : model_->plan.weights) {
      const bool is_shared = weight.role == WeightRole::embedding && has_head_of_its_own();
      // What two share may lie under the name of either.
      add_output(weight, is_shared ? name_of_role(WeightRole::embedding) : weight.tensor->name, format_of(weight.role));
      if (is_shared) add_output(weight, name_of_role(WeightRole::head), storage_.head);
    }
  }

  std::string name_of_role(WeightRole role) const {
    return with_prefix(role, pattern_of(role, *model_->config.architecture), model_->plan.prefix);
  }

  /// The head computes with other numbers than the embeddings that it shares.
  bool has_head_of_its_own() const {
    return model_->plan.tied_embeddings && storage_.head != WeightStorage(storage_.dtype).head;
  }

  Result<void> write_weights(const fs::path& path) {
    std::vector<SafetensorsTensor> tensors;
    for (const Output& out : outputs_) tensors.push_back(out.tensor);
    LATHE_TRY(SafetensorsWriter writer, SafetensorsWriter::create(path.string(), tensors));
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
    return writer.finish();
  }

  Result<void> write_tensor(const Output& out, SafetensorsWriter& writer) {
    TensorView source =
        to_plain(*backend_, out.source->layout, model_->config, view_of(*out.source->tensor, aligned_), ordered_);
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
    const bool is_plain = out.source->layout == TensorLayout::plain;
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
    const TensorView stored = to_stored(*backend_, out.source->layout, model_->config, rounded_all, bytes);
    return writer.write({stored.as<std::byte>(), stored.n_bytes()});
  }

  Result<void> write_other_files(const fs::path& folder) const {
    LATHE_TRY(Json config, model_->folder.read_json(kConfigFile));
    config.erase("dtype");
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
