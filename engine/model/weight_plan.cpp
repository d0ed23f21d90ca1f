// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "engine/model/decoding_cause.h"
#include "engine/model/left_out_tensors.h"
#include "engine/model/tensor_layout.h"
#include "kernels/api/coded_rows.h"

namespace lathe::engine {

namespace {

/// Element types of weights that can be read without decoding.
constexpr std::array kFloatingTypes = {kernels::Dtype::f32, kernels::Dtype::f16, kernels::Dtype::bf16};

/// Type to which quantized blocks are decoded, unless an option names another.
constexpr kernels::Dtype kDecodedType = kernels::Dtype::bf16;

bool is_readable(const StoredTensor& tensor) {
  const StoredType& type = *tensor.type;
  if (tensor.coded != nullptr) return true;
  if (!type.dtype) return type.decode != nullptr;
  return std::find(kFloatingTypes.begin(), kFloatingTypes.end(), *type.dtype) != kFloatingTypes.end();
}

tl::unexpected<Error> refuse(std::string message, const std::string& file, std::string_view tensor) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}: {}", file, tensor));
}

/// Formats that each of several tensors can have, in the order of the first tensor.
class CommonFormats {
 public:
  void intersect(std::span<const kernels::WeightFormat> formats) {
    if (!formats_) formats_.emplace(formats.begin(), formats.end());
    std::erase_if(*formats_, [&](kernels::WeightFormat format) {
      return std::find(formats.begin(), formats.end(), format) == formats.end();
    });
  }
  /// Drops formats that only files bring: matrices that are decoded and rounded again cannot be rounded to them.
  void drop_file_only() { std::erase_if(*formats_, kernels::is_load_only); }
  bool is_met() const { return formats_.has_value(); }
  std::optional<kernels::WeightFormat> first() const {
    return formats_ && !formats_->empty() ? std::optional(formats_->front()) : std::nullopt;
  }

 private:
  std::optional<std::vector<kernels::WeightFormat>> formats_;
};

/// Collects the plan of one checkpoint.
class WeightPlanner {
 public:
  WeightPlanner(const Checkpoint& checkpoint, const ModelConfig& config)
      : checkpoint_(checkpoint), config_(config), architecture_(*config.architecture) {}

  Result<WeightPlan> plan() {
    plan_.prefix = find_prefix(checkpoint_, config_);
    settle_tie();
    settle_stacks();
    for (const TensorName& name : architecture_.tensors) {
      if (&stored_name_of(name.role) == &name && !is_stored_as_other_roles(name.role)) LATHE_TRY_VOID(take_all(name));
    }
    LATHE_TRY_VOID(settle_absent());
    note_dtypes();
    warn_of_extra_tensors();
    std::sort(plan_.weights.begin(), plan_.weights.end(), [](const PlannedWeight& a, const PlannedWeight& b) {
      return std::pair(a.tensor->file, a.tensor->bytes.data()) < std::pair(b.tensor->file, b.tensor->bytes.data());
    });
    return std::move(plan_);
  }

 private:
  /// The source of sizes, as messages name it.
  std::string_view config_file() const { return checkpoint_.file_format() == "gguf" ? "its metadata" : "config.json"; }

  NamePrefix prefix() const { return {plan_.prefix.body, plan_.prefix.head}; }
  std::string name_of_role(WeightRole role) const { return with_prefix(role, pattern_of(role, architecture_), prefix()); }
  /// True if the files have the tensor of a role that belongs to no layer: embeddings or head.
  bool is_stored(WeightRole role) const { return checkpoint_.find(name_of_role(role)) != nullptr; }

  /// Finds whether stacks of experts are [experts, inputs, outputs]: one of the two is never square.
  void settle_stacks() {
    for (const WeightRole role : {WeightRole::expert_gate_up, WeightRole::expert_down}) {
      if (!config_.has_experts() || !is_named_by_architecture(role)) continue;
      const TensorName& name = stored_name_of(role);
      const StoredTensor* const tensor =
          checkpoint_.find(with_prefix(role, tensor_name(name.pattern, first_layer_of(role), 0), prefix()));
      const std::vector<std::int64_t> plain = shape_of(role, config_),
                                      turned = stored_shape(TensorLayout::transposed, plain);
      const bool is_stack = tensor != nullptr && tensor->is_of_stack && name.layout == TensorLayout::plain;
      if (is_stack && plain != turned && tensor->shape == turned) stacks_are_turned_ = true;
    }
  }

  TensorLayout usual_layout(const TensorName& rule, const StoredTensor* tensor) const {
    const bool is_turned =
        stacks_are_turned_ && tensor != nullptr && tensor->is_of_stack && rule.layout == TensorLayout::plain;
    return is_turned ? TensorLayout::transposed : rule.layout;
  }

  /// True if the files store the role's weights under the roles of the other spelling (Spellings).
  bool is_stored_as_other_roles(WeightRole role) const {
    const auto contains = [](std::span<const WeightRole> roles, WeightRole one) {
      return std::find(roles.begin(), roles.end(), one) != roles.end();
    };
    for (const Spellings& both : spellings()) {
      const bool is_first = contains(both.first, role);
      if (!is_first && !contains(both.second, role)) continue;
      if (!is_named_by_architecture(both.first.front()) || !is_named_by_architecture(both.second.front())) return false;
      return is_first != is_stored_for_first_layer(both.first.front());
    }
    return false;
  }

  /// True if the architecture has a tensor name for the role.
  bool is_named_by_architecture(WeightRole role) const { return !pattern_of(role, architecture_).empty(); }

  /// True if the files have the role's tensor for the first layer that needs the role.
  bool is_stored_for_first_layer(WeightRole role) const {
    const TensorName& name = stored_name_of(role);
    const std::string first = tensor_name(name.pattern, first_layer_of(role), 0);
    return checkpoint_.find(with_prefix(role, first, prefix())) != nullptr;
  }

  std::int64_t first_layer_of(WeightRole role) const {
    std::int64_t layer = 0;
    while (layer + 1 < config_.n_layers && !is_wanted(role, config_, layer, plan_.tied_embeddings)) ++layer;
    return layer;
  }

  /// The first of the role's names that the files have; else the first of all.
  const TensorName& stored_name_of(WeightRole role) const {
    const TensorName* first = nullptr;
    const std::int64_t layer = first_layer_of(role);
    for (const TensorName& name : architecture_.tensors) {
      if (name.role != role) continue;
      if (checkpoint_.find(with_prefix(role, tensor_name(name.pattern, layer, 0), prefix())) != nullptr) return name;
      if (first == nullptr) first = &name;
    }
    return *first;
  }

  /// Files and config may disagree about a tied head: the config decides, unless the files have no head.
  void settle_tie() {
    const bool has_head = is_stored(WeightRole::head), has_embedding = is_stored(WeightRole::embedding);
    const std::string head = name_of_role(WeightRole::head);
    if (!config_.has_head) {
      seen_.insert(head);
      return;
    }
    plan_.tied_embeddings = config_.tied_embeddings;
    if (config_.tied_embeddings && has_head && has_embedding) {
      plan_.warnings.push_back(fmt::format(
          "{} is ignored, because {} has tie_word_embeddings: the embeddings are the output head", head, config_file()));
      seen_.insert(head);
    }
    if (!config_.tied_embeddings && !has_head && has_embedding) {
      plan_.tied_embeddings = true;
      plan_.warnings.push_back(
          fmt::format("{} is missing although {} does not have tie_word_embeddings: the embeddings are used instead", head,
                      config_file()));
    }
  }

  /// Finds a tensor. A tied embedding may be stored under the head's name.
  const StoredTensor* find(WeightRole role, const std::string& name) const {
    const StoredTensor* tensor = checkpoint_.find(name);
    if (tensor == nullptr && role == WeightRole::embedding && plan_.tied_embeddings) {
      tensor = checkpoint_.find(name_of_role(WeightRole::head));
    }
    return tensor;
  }

  /// Plans the tensor of every layer that has the role, and of every expert or head.
  Result<void> take_all(const TensorName& name) {
    const bool is_layered = is_of_layer(name.role);
    const std::int64_t n_parts = n_parts_of(name.role, config_);
    for (std::int64_t layer = is_layered ? 0 : -1; layer < (is_layered ? config_.n_layers : 0); ++layer) {
      if (!is_wanted(name.role, config_, layer, plan_.tied_embeddings)) continue;
      for (std::int64_t part = n_parts > 0 ? 0 : -1; part < n_parts; ++part) {
        LATHE_TRY_VOID(take(name, layer, part));
      }
    }
    return {};
  }

  Result<void> take(const TensorName& rule, std::int64_t layer, std::int64_t expert) {
    const std::string name = with_prefix(rule.role, tensor_name(rule.pattern, layer, expert), prefix());
    const StoredTensor* tensor = find(rule.role, name);
    const TensorLayout usual = usual_layout(rule, tensor);
    const TensorLayout layout = tensor != nullptr ? layout_of(tensor->form, usual) : usual;
    const std::vector<std::int64_t> expected = stored_shape(layout, shape_of(rule.role, config_, layer));
    // The tensor may be in a file that is missing. Files with another layout (all experts in one tensor, other spellings)
    // have it under another name: then the message adds the name that the model needs.
    if (tensor == nullptr && !checkpoint_.absent().empty()) {
      Error error = checkpoint_.absence(name);
      if (!checkpoint_.absent().contains(name)) error.message += fmt::format("; the model needs {:.200}", name);
      return tl::unexpected(std::move(error));
    }
    if (tensor == nullptr) {
      return refuse(fmt::format("missing tensor: shape {} is expected by {}", to_string(expected), config_file()),
                    std::string(checkpoint_.file_format()), name);
    }
    const std::string& file = checkpoint_.file_of(*tensor);
    if (plain_shape(*tensor) != expected) {
      return refuse(
          fmt::format("shape: got {}, expected {} by {}", to_string(tensor->shape), to_string(expected), config_file()),
          file, tensor->name);
    }
    // A row of per-layer embeddings is read alone: blocks can be, codes of several tensors cannot.
    const bool is_in_parts = tensor->coded != nullptr && tensor->type->decode == nullptr;
    if (!is_readable(*tensor) || (rule.role == WeightRole::per_layer_embedding && is_in_parts)) {
      return refuse(fmt::format("dtype: got {}, expected one of {}", tensor->type->name, allowed_names()), file,
                    tensor->name);
    }
    seen_.insert(tensor->name);
    plan_.weights.push_back({tensor, rule.role, layer, expert, layout, usual});
    plan_.n_bytes += n_bytes_of(*tensor);
    return {};
  }

  std::string allowed_names() const {
    std::vector<std::string_view> names;
    for (const kernels::Dtype dtype : kFloatingTypes) names.push_back(name_of(dtype));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void note_dtypes() {
    note_blocks();
    std::map<kernels::Dtype, std::int64_t> parameters;
    for (const PlannedWeight& weight : plan_.weights) {
      const std::int64_t n = n_numbers(weight);
      plan_.n_parameters += n;
      if (weight.role == WeightRole::per_layer_embedding) {
        plan_.stored.per_layer_table = weight.tensor->type;
        continue;  // stays as it is stored, whatever the type of the others
      }
      // Weights that stay codes do not count for the type of the others.
      if (!kept_format(weight, storage_of({}, plan_.stored), config_)) {
        parameters[weight.tensor->type->dtype.value_or(kDecodedType)] += n;
      }
    }
    const auto most = std::max_element(parameters.begin(), parameters.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != parameters.end()) plan_.stored.dtype = most->first;
    warn_of_decoding();
    for (const StoredTensor& tensor : checkpoint_.tensors()) {
      const StoredType& type = *tensor.type;
      ++plan_.tensors_by_dtype[std::string(type.dtype ? name_of(*type.dtype) : type.name)];
    }
  }

  static std::int64_t n_numbers(const PlannedWeight& weight) {
    std::int64_t n = 1;
    for (const std::int64_t size : weight.tensor->shape) n *= size;
    return n;
  }

  /// Records the parts of layers whose matrices read the same activations (packed once for all of them) in different input
  /// orders. The matrices of such parts are decoded.
  void note_orders() {
    std::map<std::tuple<std::int64_t, std::int64_t, WeightRole>, std::span<const std::int32_t>> firsts;
    for (const PlannedWeight& weight : plan_.weights) {
      const auto part = part_of(weight.role);
      if (!part) continue;
      const auto groups = has_input_order(*weight.tensor) ? std::span<const std::int32_t>(weight.tensor->coded->group_of)
                                                          : std::span<const std::int32_t>();
      const auto first = firsts.try_emplace({weight.layer, weight.expert, fused_leader(weight.role)}, groups).first->second;
      if (!std::equal(groups.begin(), groups.end(), first.begin(), first.end())) disordered_.emplace(weight.layer, *part);
    }
  }

  bool orders_agree(const PlannedWeight& weight) const {
    const auto part = part_of(weight.role);
    return !part || !disordered_.contains({weight.layer, *part});
  }

  /// Formats in which a layer's matrix can stay as it is stored.
  std::span<const kernels::WeightFormat> lasting_formats(const PlannedWeight& weight) const {
    const bool finds_inputs = orders_agree(weight) && !config_.latent.exists();
    return finds_inputs || !has_input_order(*weight.tensor) ? formats_of(*weight.tensor)
                                                            : std::span<const kernels::WeightFormat>();
  }

  /// The part whose format a matrix takes. All projections of latent attention have one format.
  MatrixPart format_part(const PlannedWeight& weight, MatrixPart part) const {
    return is_latent_projection(weight, config_) ? MatrixPart::attention_in : part;
  }

  void note_blocks() {
    note_orders();
    CommonFormats of_matrices, of_experts;
    std::vector<std::array<CommonFormats, kMatrixParts>> of_layers(static_cast<std::size_t>(config_.n_layers));
    for (const PlannedWeight& weight : plan_.weights) {
      const bool is_head = weight.role == (plan_.tied_embeddings ? WeightRole::embedding : WeightRole::head);
      if (is_head && !has_input_order(*weight.tensor) && !formats_of(*weight.tensor).empty()) {
        plan_.stored.head = formats_of(*weight.tensor).front();
        if (config_.normalises_head && kernels::is_load_only(*plan_.stored.head)) plan_.stored.head.reset();
      }
      const auto part = part_of(weight.role);
      if (!part) continue;
      const auto formats = lasting_formats(weight);
      if (!formats.empty() && has_input_order(*weight.tensor)) {
        (is_of_experts(*part) ? plan_.stored.experts_are_ordered : plan_.stored.matrices_are_ordered) = true;
      }
      const auto place = static_cast<std::size_t>(format_part(weight, *part));
      for (CommonFormats* common :
           {is_of_experts(*part) ? &of_experts : &of_matrices, &of_layers[static_cast<std::size_t>(weight.layer)][place]}) {
        common->intersect(formats);
        if (is_latent_projection(weight, config_)) common->drop_file_only();
      }
    }
    plan_.stored.matrices = of_matrices.first();
    plan_.stored.experts = of_experts.first();
    const bool matrices_differ = settle_kind(of_layers, false, plan_.stored.matrices);
    const bool experts_differ = settle_kind(of_layers, true, plan_.stored.experts);
    if (!matrices_differ && !experts_differ) return;
    for (const auto& of_layer : of_layers) {
      StoredLayer& layer = plan_.stored.layers.emplace_back();
      for (std::size_t i = 0; i < kMatrixParts; ++i) {
        const bool is_expert = is_of_experts(static_cast<MatrixPart>(i));
        const bool differ = is_expert ? experts_differ : matrices_differ;
        layer[i] = differ ? of_layer[i].first() : is_expert ? plan_.stored.experts : plan_.stored.matrices;
      }
    }
  }

  /// Settles the format of a kind of matrices: of the experts, or of all others. The kind has one format if every part's
  /// best format is the same, or if the best common format has no minimums. Else each part keeps its own format, because a
  /// common one with minimums would mean wider codes for some parts. Returns whether parts keep different formats.
  static bool settle_kind(std::span<const std::array<CommonFormats, kMatrixParts>> of_layers, bool of_experts,
                          std::optional<kernels::WeightFormat>& format) {
    std::set<std::optional<kernels::WeightFormat>> kept;
    for (const auto& layer : of_layers) {
      for (std::size_t i = 0; i < kMatrixParts; ++i) {
        if (is_of_experts(static_cast<MatrixPart>(i)) == of_experts && layer[i].is_met()) kept.insert(layer[i].first());
      }
    }
    const bool differ = kept.size() > 1 && (!format || kernels::has_minimums(*format));
    if (differ) format.reset();
    if (kept.size() == 1) format = *kept.begin();
    return differ;
  }

  void warn_of_decoding() {
    const WeightStorage as_it_is = storage_of({}, plan_.stored);
    std::int64_t n = 0, bytes = 0;
    std::map<std::string, std::int64_t> n_by_cause;
    for (const PlannedWeight& weight : plan_.weights) {
      const bool stays = weight.role == WeightRole::per_layer_embedding || kept_format(weight, as_it_is, config_);
      if (weight.tensor->type->dtype || stays) continue;
      n += n_numbers(weight);
      bytes += n_bytes_of(*weight.tensor);
      ++n_by_cause[decoding_cause(weight, config_, orders_agree(weight))];
    }
    if (n == 0) return;
    std::string causes;
    for (const auto& [cause, count] : n_by_cause)
      causes += fmt::format("{}{} tensor{}: {}", causes.empty() ? "" : "; ", count, count == 1 ? "" : "s", cause);
    // The message names no other format: the size of each depends on the shapes, which lathe inspect shows.
    plan_.warnings.push_back(fmt::format("quantized weights of {} bytes become {} of {} bytes while they are loaded ({})",
                                         bytes, name_of(kDecodedType), n * static_cast<std::int64_t>(size_of(kDecodedType)),
                                         causes));
  }

  bool is_ignored(const std::string& name) const {
    // Classifier reads these.
    if (config_.has_classifier && (name.starts_with("classifier.") || name.starts_with("score."))) return true;
    return std::any_of(architecture_.ignored_suffixes.begin(), architecture_.ignored_suffixes.end(),
                       [&](std::string_view suffix) { return name.ends_with(suffix); });
  }

  /// "layers.0.mlp.up_proj" of "layers.0.mlp.up_proj.weight".
  static std::string_view module_of(std::string_view name) { return name.substr(0, name.rfind('.')); }

  /// An absent tensor is needed if another tensor of its module is read (zero points and orders of quantized matrices are
  /// read where they exist), or if it is the head.
  Result<void> settle_absent() {
    std::set<std::string_view> modules;
    const std::string head = name_of_role(WeightRole::head);
    if (config_.has_head && !config_.tied_embeddings) modules.insert(module_of(head));
    for (const PlannedWeight& weight : plan_.weights) modules.insert(module_of(weight.tensor->name));
    std::vector<std::string_view> dispensable;
    for (const auto& [name, why] : checkpoint_.absent()) {
      if (is_ignored(name)) continue;
      if (modules.contains(module_of(name))) return tl::unexpected(checkpoint_.absence(name));
      dispensable.push_back(name);
    }
    if (dispensable.empty()) return {};
    const Error first = checkpoint_.absence(dispensable.front());
    const std::string more = dispensable.size() > 1 ? fmt::format(" (and {} more)", dispensable.size() - 1) : "";
    plan_.warnings.push_back(fmt::format("a tensor is missing that {} does not need{}: {}: {:.300}", architecture_.name,
                                         more, first.where, first.message));
    return {};
  }

  /// Files of models whose last layers read the K and V of others may have matrices for these layers, which nobody uses.
  void ignore_shared_kv() {
    for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
      if (!config_.layers[static_cast<std::size_t>(layer)].shares_kv()) continue;
      for (const WeightRole role : {WeightRole::k, WeightRole::v, WeightRole::k_norm}) {
        const std::string name = tensor_name(pattern_of(role, architecture_), layer, -1);
        const StoredTensor* const unused = checkpoint_.find(with_prefix(role, name, prefix()));
        if (unused != nullptr) seen_.insert(unused->name);
      }
    }
  }

  void warn_of_extra_tensors() {
    for (const StoredTensor& tensor : checkpoint_.tensors()) {
      if (is_ignored(tensor.name)) seen_.insert(tensor.name);
    }
    ignore_shared_kv();
    std::string warning = left_out_tensors(checkpoint_, seen_, architecture_.name);
    if (!warning.empty()) plan_.warnings.push_back(std::move(warning));
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const Architecture& architecture_;
  WeightPlan plan_;
  std::set<std::pair<std::int64_t, MatrixPart>> disordered_;
  TensorNames seen_;
  bool stacks_are_turned_ = false;
};

}  // namespace

namespace {

std::optional<kernels::WeightFormat> if_kept(const PlannedWeight& weight, const MatrixForm& form) {
  if (!moves_rows_at_most(weight.layout) || weight.tensor->shape.size() != 2) return std::nullopt;
  if (has_input_order(*weight.tensor) && !form.is_ordered) return std::nullopt;
  const auto formats = formats_of(*weight.tensor);
  return std::find(formats.begin(), formats.end(), form.format) != formats.end() ? std::optional(form.format) : std::nullopt;
}

}  // namespace

bool is_latent_projection(const PlannedWeight& weight, const ModelConfig& config) {
  const auto part = part_of(weight.role);
  return config.latent.exists() && (part == MatrixPart::attention_in || part == MatrixPart::attention_out);
}

std::optional<kernels::WeightFormat> kept_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                 const ModelConfig& config) {
  if (weight.role == WeightRole::head) return kept_head_format(weight, storage, config);
  const auto part = part_of(weight.role);
  if (!part || is_latent_projection(weight, config) || storage.smoothing_alpha) return std::nullopt;
  return if_kept(weight, storage.of_layer(weight.layer).of(*part));
}

std::optional<kernels::WeightFormat> kept_head_format(const PlannedWeight& weight, const WeightStorage& storage,
                                                      const ModelConfig& config) {
  if (config.normalises_head || storage.smoothing_alpha) return std::nullopt;
  return if_kept(weight, storage.head);
}

Result<WeightPlan> plan_weights(const Checkpoint& checkpoint, const ModelConfig& config) {
  return WeightPlanner(checkpoint, config).plan();
}

}  // namespace lathe::engine
