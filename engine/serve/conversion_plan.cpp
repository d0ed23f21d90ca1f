// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/conversion_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "engine/load/gguf/gguf_types.h"
#include "engine/model/tensor_layout.h"
#include "kernels/api/roofline.h"

namespace lathe::engine {
namespace {

using kernels::Dtype;
using kernels::WeightFormat;
using Form = WrittenPart::Form;

/// The part of planning that both file formats share.
class Planner {
 public:
  Planner(const OpenedModel& model, const ConversionChoice& choice) : model_(model), choice_(choice) {
    const bool is_other = choice.storage.head != WeightStorage(choice.storage.dtype).head;
    plan_.has_head_of_its_own = model.plan.tied_embeddings && is_other;
  }

 protected:
  WeightFormat format_of(WeightRole role) const {
    const WeightStorage& storage = choice_.storage;
    if (role == WeightRole::head) return storage.head;
    if (is_expert_matrix(role)) return storage.experts;
    if (is_layer_matrix(role)) return storage.matrices;
    return role == WeightRole::embedding ? WeightStorage(storage.dtype).matrices : WeightFormat::f32;
  }

  const DeltaNetConfig& net() const { return model_.config.delta_net; }
  NamePrefix prefix() const { return {model_.plan.prefix.body, model_.plan.prefix.head}; }

  /// Sorts the parts, so that parts of one tensor are adjacent, and lists the tensors.
  ConversionPlan collected() {
    const auto place = [](const WrittenPart& part) { return std::tie(part.source->layer, part.tensor.name, part.place); };
    std::sort(plan_.parts.begin(), plan_.parts.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    for (const WrittenPart& part : plan_.parts) {
      std::vector<WrittenTensor>& tensors = plan_.tensors;
      if (!part.whole.empty() && !tensors.empty() && tensors.back().name == part.tensor.name) continue;
      tensors.push_back(part.tensor);
      if (!part.whole.empty()) tensors.back().shape = part.whole;
    }
    return std::move(plan_);
  }

  /// Shape of the tensor that stacks all parts of a role; empty if the role has no parts. `shape`: the shape of one part.
  std::vector<std::int64_t> stacked(WeightRole role, std::vector<std::int64_t> shape) const {
    const std::int64_t n = n_parts_of(role, model_.config);
    if (n == 0) return {};
    shape.insert(shape.begin(), n);
    return shape;
  }

  /// Whether the weight is the shared embedding, which is also written as a separate head.
  bool is_shared(const PlannedWeight& weight) const {
    return weight.role == WeightRole::embedding && plan_.has_head_of_its_own;
  }

  const OpenedModel& model_;
  const ConversionChoice& choice_;
  ConversionPlan plan_;
};

class FolderPlanner : public Planner {
 public:
  using Planner::Planner;

  ConversionPlan plan() {
    for (const PlannedWeight& weight : model_.plan.weights) {
      if (weight.role == WeightRole::latent_head_k || weight.role == WeightRole::latent_head_v) {
        add_to_heads(weight);
        continue;
      }
      if (weight.role == WeightRole::delta_qkv || weight.role == WeightRole::delta_z) {
        if (add_to_key_heads(weight)) continue;
      }
      // A shared matrix may have either name in the files.
      add(weight, is_shared(weight) ? name_of_role(WeightRole::embedding) : name_of(weight), format_of(weight.role));
      if (is_shared(weight)) add(weight, name_of_role(WeightRole::head), choice_.storage.head);
    }
    return collected();
  }

 private:
  /// Vectors keep their stored type, since they are computed in f32.
  Dtype dtype_of(const PlannedWeight& weight) const {
    if (weight.tensor->shape.size() > 1 || choice_.storage.dtype == Dtype::f32) return choice_.storage.dtype;
    return weight.tensor->type->dtype.value_or(Dtype::f32);
  }

  void add(const PlannedWeight& weight, std::string name, WeightFormat format) {
    std::vector<std::int64_t> shape = stored_shape(weight.usual, shape_of(weight.role, model_.config, weight.layer));
    const bool is_conv = weight.role == WeightRole::delta_conv || weight.role == WeightRole::short_conv;
    if (is_conv) shape.insert(shape.begin() + 1, 1);  // as a depthwise convolution has it
    std::vector<std::int64_t> whole;
    if (weight.tensor->is_of_stack) whole = stacked(weight.role, shape);
    plan_.parts.push_back({.tensor = {std::move(name), dtype_of(weight), std::move(shape)},
                           .source = &weight,
                           .format = format,
                           .layout = net().is_tiled ? with_other_value_heads(weight.role, weight.usual) : weight.usual,
                           .whole = std::move(whole),
                           .place = weight.expert});
  }

  /// Adds a head's K or V to the tensor of all heads, as in the family's own files: in each head, rows of K precede rows of
  /// V.
  void add_to_heads(const PlannedWeight& weight) {
    const bool is_k = weight.role == WeightRole::latent_head_k;
    const TensorLayout layout = is_k ? TensorLayout::transposed : TensorLayout::plain;
    std::string name = tensor_name(name_of_role(WeightRole::latent_kv), weight.layer, -1);
    plan_.parts.push_back({.tensor = {std::move(name), dtype_of(weight),
                                      stored_shape(layout, shape_of(weight.role, model_.config, weight.layer))},
                           .source = &weight,
                           .format = format_of(weight.role),
                           .layout = layout,
                           .whole = shape_of(WeightRole::latent_kv, model_.config),
                           .place = 2 * weight.expert + (is_k ? 0 : 1)});
  }

  /// Adds Q, K and V, or the gate, to the tensor of both, where the family's own files have one: key head after key head.
  bool add_to_key_heads(const PlannedWeight& weight) {
    constexpr std::int64_t kParts = 4;  // of a key head: Q, K, heads of V, their gates
    if (pattern_of(WeightRole::delta_qkvz, *model_.config.architecture).empty()) return false;
    const std::string name = tensor_name(name_of_role(WeightRole::delta_qkvz), weight.layer, -1);
    const std::vector<std::int64_t> whole = shape_of(WeightRole::delta_qkvz, model_.config);
    const auto add_rows = [&](std::int64_t place, std::int64_t first_row, std::int64_t n_rows) {
      plan_.parts.push_back({.tensor = {name, dtype_of(weight), {n_rows, whole[1]}},
                             .source = &weight,
                             .format = format_of(weight.role),
                             .whole = whole,
                             .place = place,
                             .first_row = first_row,
                             .n_rows = n_rows});
    };
    const std::int64_t n_values = net().v_size() / net().n_key_heads;
    for (std::int64_t head = 0; head < net().n_key_heads; ++head) {
      if (weight.role == WeightRole::delta_z) {
        add_rows(kParts * head + 3, head * n_values, n_values);
        continue;
      }
      add_rows(kParts * head, head * net().key_dim, net().key_dim);
      add_rows(kParts * head + 1, net().k_size() + head * net().key_dim, net().key_dim);
      add_rows(kParts * head + 2, 2 * net().k_size() + head * n_values, n_values);
    }
    return true;
  }

  /// The tensor's name in files: for an expert of a stack, the name of the stack.
  static std::string name_of(const PlannedWeight& weight) {
    std::string name = weight.tensor->name;
    const std::string number = fmt::format(".{}.", weight.expert);
    if (weight.tensor->is_of_stack) name.replace(name.rfind(number), number.size(), ".");
    return name;
  }

  std::string name_of_role(WeightRole role) const {
    return with_prefix(role, pattern_of(role, *model_.config.architecture), prefix());
  }
};

class GgufPlanner : public Planner {
 public:
  GgufPlanner(const OpenedModel& model, const ConversionChoice& choice, const GgufFamily& family)
      : Planner(model, choice), family_(family) {}

  Result<ConversionPlan> plan() {
    for (const PlannedWeight& weight : model_.plan.weights) {
      for (const RowsOfRole& rows : rows_of(weight)) LATHE_TRY_VOID(add(weight, rows, format_of(weight.role)));
      add_for_sharing_layers(weight);
      if (is_shared(weight)) LATHE_TRY_VOID(add(weight, {WeightRole::head, weight.role}, choice_.storage.head));
    }
    return collected();
  }

 private:
  /// Rows of a tensor that are written under the name of another role.
  struct RowsOfRole {
    WeightRole role, like;  ///< the role that gives the name, and the role that gives the shape
    std::int64_t first_row = 0, n_rows = -1;
    std::int64_t part = -1;  ///< index of the part that the rows become; -1: as the tensor
    bool is_transposed = false;
    std::int64_t n_parts = 0;  ///< tensors in a stack; 0: as many as the role has
    bool is_section = false;   ///< the part is these rows of the tensor that the role has, not a tensor in a stack
  };

  /// Splits a fused QKV tensor for families whose GGUF files have Q, K and V separately.
  std::vector<RowsOfRole> thirds(const PlannedWeight& weight, WeightRole q, WeightRole k, WeightRole v) const {
    if (!family_.splits_qkv) return {{weight.role, weight.role}};
    const std::int64_t n_q = model_.config.q_size(), n_kv = model_.config.kv_size();
    return {{q, q, 0, n_q}, {k, k, n_q, n_kv}, {v, v, n_q + n_kv, n_kv}};
  }

  /// Splits kv_b_proj: newer GGUF files have separate tensors for K (transposed) and V of each head. A GGUF source with the
  /// fused tensor is an older file; it stays fused, so that its size keys remain valid.
  std::vector<RowsOfRole> heads() const {
    if (!model_.folder.gguf().empty()) return {{WeightRole::latent_kv, WeightRole::latent_kv}};
    const LatentConfig& latent = model_.config.latent;
    std::vector<RowsOfRole> rows;
    for (std::int64_t head = 0; head < model_.config.n_heads; ++head) {
      const std::int64_t k = head * (latent.qk_nope_head_dim + latent.v_dim), v = k + latent.qk_nope_head_dim;
      rows.push_back({WeightRole::latent_head_k, WeightRole::latent_head_k, k, latent.qk_nope_head_dim, head, true});
      rows.push_back({WeightRole::latent_head_v, WeightRole::latent_head_v, v, latent.v_dim, head});
    }
    return rows;
  }

  /// Splits the inputs of gated delta net, key head after key head in the family's own files, into Q, K and V of all heads
  /// and the gate.
  std::vector<RowsOfRole> key_heads() const {
    const std::int64_t n_heads = net().n_key_heads, k = net().key_dim, v = net().v_size() / n_heads;
    std::vector<RowsOfRole> rows;
    const auto add_rows = [&](WeightRole role, std::int64_t first, std::int64_t n, std::int64_t place) {
      rows.push_back({.role = role, .like = role, .first_row = first, .n_rows = n, .part = place, .is_section = true});
    };
    for (std::int64_t head = 0; head < n_heads; ++head) {
      const std::int64_t q = head * 2 * (k + v);
      add_rows(WeightRole::delta_qkv, q, k, head);
      add_rows(WeightRole::delta_qkv, q + k, k, n_heads + head);
      add_rows(WeightRole::delta_qkv, q + 2 * k, v, 2 * n_heads + head);
      add_rows(WeightRole::delta_z, q + 2 * k + v, v, head);
    }
    return rows;
  }

  /// Splits gate and up of experts, which are separate in GGUF files, and stacks the norms of all heads in one tensor.
  std::vector<RowsOfRole> rows_of(const PlannedWeight& weight) const {
    const std::int64_t inner = model_.config.moe.expert_size;
    const auto halves = [&](WeightRole gate, WeightRole up) {
      return std::vector<RowsOfRole>{{gate, gate, 0, inner}, {up, up, inner, inner}};
    };
    switch (weight.role) {
      case WeightRole::expert_gate_up:
        if (pattern_of(WeightRole::expert_gate, *model_.config.architecture).empty()) break;  // one tensor there too
        return halves(WeightRole::expert_gate, WeightRole::expert_up);
      case WeightRole::expert_gate_up_bias: return halves(WeightRole::expert_gate_bias, WeightRole::expert_up_bias);
      case WeightRole::qkv: return thirds(weight, WeightRole::q, WeightRole::k, WeightRole::v);
      case WeightRole::qkv_bias: return thirds(weight, WeightRole::q_bias, WeightRole::k_bias, WeightRole::v_bias);
      case WeightRole::latent_kv: return heads();
      case WeightRole::delta_qkvz: return key_heads();
      case WeightRole::altup_proj_1:
      case WeightRole::altup_proj_2:
      case WeightRole::altup_proj_3: return stream(weight.role, WeightRole::altup_proj_1);
      case WeightRole::altup_unembed_1:
      case WeightRole::altup_unembed_2:
      case WeightRole::altup_unembed_3: return stream(weight.role, WeightRole::altup_unembed_1);
      case WeightRole::q_head_norm: return {{WeightRole::q_norm, weight.role}};
      case WeightRole::k_head_norm: return {{WeightRole::k_norm, weight.role}};
      default: break;
    }
    return {{weight.role, weight.role}};
  }

  Result<void> add(const PlannedWeight& weight, const RowsOfRole& rows, WeightFormat format) {
    const std::int64_t place = rows.part >= 0 ? rows.part : weight.expert;
    LATHE_TRY(std::string name, name_of(weight, rows.role, place));
    const TensorLayout usual = rows.is_transposed ? TensorLayout::transposed : TensorLayout::plain;
    TensorLayout layout = layout_of(stored_form_of(family_, name), usual);
    if (moves_value_heads()) layout = with_other_value_heads(rows.role, layout);
    std::vector<std::int64_t> shape = shape_of(rows.like, model_.config, weight.layer);
    std::vector<std::int64_t> whole = rows.is_section ? shape : stacked(rows.like, shape);
    if (rows.is_section) shape.front() = rows.n_rows;
    if (rows.n_parts > 0) whole = {rows.n_parts, shape[0], shape[1]};
    // Other readers want a row of per-layer embeddings for each token.
    const bool is_per_token = rows.role == WeightRole::per_layer_embedding && model_.folder.gguf().empty();
    const std::int64_t n_tokens = model_.config.vocab_size, n_copies = is_per_token ? n_tokens - shape[0] : 0;
    if (n_copies > 0) whole = {n_tokens, shape[1]};
    if (n_copies < 0) shape[0] = n_tokens;
    WrittenPart part{.tensor = {std::move(name), choice_.storage.dtype, std::move(shape)},
                     .source = &weight,
                     .format = format,
                     .layout = layout,
                     .whole = std::move(whole),
                     .place = place,
                     .first_row = rows.first_row,
                     .n_rows = n_copies < 0 ? n_tokens : rows.n_rows,
                     .n_copies = std::max<std::int64_t>(n_copies, 0)};
    LATHE_TRY_VOID(choose_form(part, rows.role));
    plan_.parts.push_back(std::move(part));
    return {};
  }

  /// The projection of one residual stream, which is in a stack of all but the first.
  static std::vector<RowsOfRole> stream(WeightRole role, WeightRole first) {
    const auto place = static_cast<std::int64_t>(role) - static_cast<std::int64_t>(first);
    return {{.role = role, .like = role, .part = place, .n_parts = kAltUpStreams - 1}};
  }

  /// Adds K, V and the norm of K for the layers that use those of the weight's layer, where files of the family have them.
  void add_for_sharing_layers(const PlannedWeight& weight) {
    const bool is_shared = weight.role == WeightRole::k || weight.role == WeightRole::v || weight.role == WeightRole::k_norm;
    if (!is_shared || !family_.repeats_shared_kv || !model_.folder.gguf().empty()) return;
    const WrittenPart own = plan_.parts.back();
    const std::string from = fmt::format("blk.{}.", weight.layer);
    for (std::size_t i = 0; i < model_.config.layers.size(); ++i) {
      if (model_.config.layers[i].kv_source != weight.layer) continue;
      plan_.parts.push_back(own);
      plan_.parts.back().tensor.name.replace(0, from.size(), fmt::format("blk.{}.", i));
    }
  }

  /// True for a model of a folder whose heads of V are tiled in GGUF files.
  bool moves_value_heads() const {
    return family_.tiles_value_heads && !net().is_tiled && net().n_heads != net().n_key_heads;
  }

  static bool is_always_f32(WeightRole role) {
    constexpr std::array kRoles = {WeightRole::router,        WeightRole::shared_expert_gate, WeightRole::positions,
                                   WeightRole::token_types,   WeightRole::delta_conv,         WeightRole::short_conv,
                                   WeightRole::altup_predict, WeightRole::altup_correct};
    return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
  }

  /// Vectors, norms, routers, positions, token types and convolutions are f32 in GGUF files for every type of the matrices.
  Result<void> choose_form(WrittenPart& part, WeightRole role) const {
    const StoredTensor& stored = *part.source->tensor;
    if (choice_.keeps_codes && !model_.folder.gguf().empty()) return take_as_it_is(part);
    if (part.tensor.shape.size() == 1 || is_always_f32(role) || part.tensor.name.ends_with("_norm.weight")) {
      part.tensor.dtype = Dtype::f32;
      return {};
    }
    if (choice_.keeps_codes && stored.coded != nullptr) return take_codes(part);
    return choice_.writes_codes && is_coded(part.format) ? round_to_codes(part) : Result<void>();
  }

  static Result<void> take_as_it_is(WrittenPart& part) {
    const StoredType& type = *part.source->tensor->type;
    part.form = Form::as_it_is;
    if (type.dtype) {
      part.tensor.dtype = *type.dtype;
    } else {
      part.tensor.blocks = &type;
    }
    return {};
  }

  Result<void> take_codes(WrittenPart& part) const {
    if (has_input_order(*part.source->tensor)) return refuse(part, "codes in activation order (desc_act) have");
    const auto formats = formats_of(*part.source->tensor);
    for (const WeightFormat format : formats_of_gguf()) {
      if (std::find(formats.begin(), formats.end(), format) == formats.end()) continue;
      const bool moves_codes = moves_rows_at_most(part.layout) || part.layout == TensorLayout::value_head_columns;
      if (!moves_rows_at_most(part.source->layout) || !moves_codes) break;
      part.format = format;
      part.form = Form::kept_codes;
      return take_blocks(part);
    }
    return refuse(
        part, formats.empty() ? std::string("these codes have") : fmt::format("codes of {} have", name(formats.front())));
  }

  Result<void> round_to_codes(WrittenPart& part) const {
    const auto formats = formats_of_gguf();
    if (std::find(formats.begin(), formats.end(), part.format) == formats.end()) {
      return refuse(part, fmt::format("codes of {} have", name(part.format)));
    }
    part.form = Form::rounded_codes;
    return take_blocks(part);
  }

  Result<void> take_blocks(WrittenPart& part) const {
    part.tensor.blocks = find_gguf_type(part.format);
    const std::int64_t k = part.tensor.shape.back(), block = part.tensor.blocks->block;
    if (part.layout == TensorLayout::value_head_columns && net().value_dim % block != 0) {
      return refuse(part, fmt::format("{} has blocks of {}, and heads of {} numbers, which are in another order there, have",
                                      part.tensor.blocks->name, block, net().value_dim));
    }
    if (k % block == 0) return {};
    return refuse(part, fmt::format("{} has blocks of {}, and rows of {} numbers have", part.tensor.blocks->name, block, k));
  }

  static std::string_view name(WeightFormat format) { return kernels::name_of(format); }

  static tl::unexpected<Error> refuse(const WrittenPart& part, std::string_view what_has) {
    std::vector<std::string> held;
    for (const WeightFormat format : formats_of_gguf())
      held.push_back(fmt::format("{} as {}", name(format), find_gguf_type(format)->name));
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} no equivalent in a GGUF file, which can hold {}; --quantization int8_g32 or int4_g32 rounds "
                            "to such codes, --dequantize writes the numbers",
                            what_has, fmt::join(held, ", ")),
                part.source->tensor->name);
  }

  /// The GGUF name of a role's tensor: derived from its name in the source, else from another spelling of the family.
  /// Errors: unsupported.
  Result<std::string> name_of(const PlannedWeight& weight, WeightRole role, std::int64_t part) const {
    const std::string usual = usual_name(weight, role);
    if (const auto name = role == weight.role || is_end(role) ? gguf_name_of(family_, usual) : std::nullopt) return *name;
    for (const TensorName& spelling : model_.config.architecture->tensors) {
      if (spelling.role != role) continue;
      const std::string tensor = tensor_name(spelling.pattern, weight.layer, part);
      const auto name = gguf_name_of(family_, with_prefix(role, tensor, first_prefix()));
      if (name) return *name;
    }
    return fail(ErrorCode::unsupported, "has no name in GGUF files", usual);
  }

  const NamePrefix& first_prefix() const { return model_.config.architecture->prefixes.front(); }

  static bool is_end(WeightRole role) { return role == WeightRole::embedding || role == WeightRole::head; }

  /// The tensor's name with the prefix that checkpoints with a head have.
  std::string usual_name(const PlannedWeight& weight, WeightRole role) const {
    const Architecture& architecture = *model_.config.architecture;
    if (is_end(role)) return with_prefix(role, pattern_of(role, architecture), first_prefix());
    const std::size_t n_prefix = with_prefix(role, "", prefix()).size();
    return with_prefix(role, weight.tensor->name.substr(n_prefix), first_prefix());
  }

  const GgufFamily& family_;
};

}  // namespace

bool is_coded(WeightFormat format) {
  return format != WeightFormat::f32 && format != WeightFormat::f16 && format != WeightFormat::bf16;
}

ConversionPlan plan_folder(const OpenedModel& model, const ConversionChoice& choice) {
  return FolderPlanner(model, choice).plan();
}

Result<ConversionPlan> plan_gguf(const OpenedModel& model, const ConversionChoice& choice, const GgufFamily& family) {
  return GgufPlanner(model, choice, family).plan();
}

}  // namespace lathe::engine
