// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/gguf_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/load/gguf/gguf_family_table.h"
#include "engine/load/unread_families.h"

namespace lathe::engine {
namespace {

std::string listed(std::string_view GgufFamily::*name) {
  std::vector<std::string_view> names;
  for (const GgufFamily& family : kGgufFamilies) {
    if (std::find(names.begin(), names.end(), family.*name) == names.end()) names.push_back(family.*name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The rest of the name after the row's prefix; digits match the row's "{}". Nothing if the prefix differs.
std::optional<std::string_view> behind(std::string_view row, std::string_view tensor) {
  const std::size_t hole = row.find("{}");
  if (hole == row.npos) return tensor.starts_with(row) ? std::optional(tensor.substr(row.size())) : std::nullopt;
  if (!tensor.starts_with(row.substr(0, hole))) return std::nullopt;
  const std::string_view number = tensor.substr(hole), rest = row.substr(hole + 2);
  const std::size_t end = number.find_first_not_of("0123456789");
  if (end == 0 || end == number.npos || !number.substr(end).starts_with(rest)) return std::nullopt;
  return number.substr(end + rest.size());
}

/// The GGUF name from the first row that knows the tensor; the family's own rows come before the usual rows.
std::optional<std::string> gguf_name(std::span<const GgufName> own, std::span<const GgufName> usual,
                                     std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (const auto rest = behind(name.other, tensor)) return fmt::format("{}{}", name.gguf, *rest);
    }
  }
  return std::nullopt;
}

/// The first row whose GGUF prefix begins the name; the family's own rows come before the usual rows.
const GgufName* find_name(std::span<const GgufName> own, std::span<const GgufName> usual, std::string_view tensor) {
  for (const std::span<const GgufName> names : {own, usual}) {
    for (const GgufName& name : names) {
      if (tensor.starts_with(name.gguf)) return &name;
    }
  }
  return nullptr;
}

bool wants_mark(const GgufFamily& family) {
  return !family.marker.empty() || !family.key.empty() || family.router_score != 0;
}

Result<bool> has_mark(const GgufHeader& header, const GgufFamily& family) {
  const auto tensors = header.tensors();
  if (!family.key.empty()) {
    const std::string key = fmt::format("{}.{}", family.gguf, family.key);
    return header.values().contains(key);
  }
  if (family.router_score != 0) {
    LATHE_TRY(const auto score, header.integer(fmt::format("{}.expert_gating_func", family.gguf)));
    if (score) return score == family.router_score;
    // Early files of GLM-4.7-Flash have no such key. Only routers of sigmoids have a correction bias.
    return family.router_score == kSigmoidScore && std::any_of(tensors.begin(), tensors.end(), [](const GgufTensor& tensor) {
             return tensor.name.ends_with(".exp_probs_b.bias");
           });
  }
  return std::any_of(tensors.begin(), tensors.end(), [&](const GgufTensor& tensor) { return tensor.name == family.marker; });
}

/// Kinds of GGUF files that hold no model, by general.type, and the advice for the user.
struct OtherGgufType {
  std::string_view name, advice;
};
constexpr std::array kOtherGgufTypes = {
    OtherGgufType{"adapter", "this is an adapter (LoRA), not a model; merge it into its base model, and open that"},
    OtherGgufType{"imatrix", "this is an importance matrix, not a model; open the model's own file"},
    OtherGgufType{"mmproj", "this is the vision or audio part of a model; open the file of its text part"},
};

Result<void> check_type(const GgufHeader& header) {
  constexpr std::string_view kKey = "general.type";
  LATHE_TRY(const auto type, header.text(kKey));
  for (const OtherGgufType& other : kOtherGgufTypes) {
    if (type && *type == other.name)
      return fail(ErrorCode::model_refused, std::string(other.advice), fmt::format("{}: {}", header.file(), kKey));
  }
  return {};
}

}  // namespace

Result<const GgufFamily*> family_of(const GgufHeader& header) {
  LATHE_TRY_VOID(check_type(header));
  constexpr std::string_view kKey = "general.architecture";
  const std::string where = fmt::format("{}: {}", header.file(), kKey);
  LATHE_TRY(const auto name, header.text(kKey));
  if (!name) return fail(ErrorCode::model_refused, "is missing", where);
  LATHE_TRY(const auto n_experts, header.integer(fmt::format("{}.expert_count", *name)));
  const bool has_experts = n_experts.value_or(0) > 0;
  const GgufFamily* found = nullptr;
  bool is_known = false;
  for (const GgufFamily& family : kGgufFamilies) {
    if (family.gguf != *name) continue;
    is_known = true;
    if (family.has_experts != has_experts) continue;
    // A row with a mark (marker, router_score) takes precedence for files that have it.
    LATHE_TRY(const bool is_meant, has_mark(header, family));
    if (is_meant || (!wants_mark(family) && found == nullptr)) found = &family;
  }
  if (found != nullptr) return found;
  if (is_known) {
    return fail(ErrorCode::model_refused,
                fmt::format("\"{:.60}\" {} experts cannot be read from GGUF files", *name, has_experts ? "with" : "without"),
                where);
  }
  const UnreadFamily* const unread = find_unread_gguf(*name);
  if (unread != nullptr) return fail(ErrorCode::model_refused, refusal_of(*unread, *name), where);
  return fail(
      ErrorCode::model_refused,
      fmt::format("\"{:.60}\" cannot be read from GGUF files (supported: {}); use the folder of its Hugging Face checkpoint",
                  *name, listed(&GgufFamily::gguf)),
      where);
}

Result<const GgufFamily*> family_of_architecture(std::string_view name, bool has_experts) {
  const GgufFamily* found = nullptr;
  for (const GgufFamily& family : kGgufFamilies) {
    if (family.name != name && family.also != name) continue;
    if (found == nullptr || (family.has_experts == has_experts && found->has_experts != has_experts)) found = &family;
  }
  if (found != nullptr) return found;
  return fail(ErrorCode::unsupported,
              fmt::format("{} cannot be written to GGUF files (supported: {})", name, listed(&GgufFamily::name)),
              "architectures");
}

Json& place_of(Json& config, std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == key.npos) return config[std::string(key)];
  Json& object = config[std::string(key.substr(0, dot))];
  if (!object.is_object()) object = Json::object();
  return object[std::string(key.substr(dot + 1))];
}

std::span<const GgufKey> common_gguf_keys() { return kCommonKeys; }

FamilyName family_name_of(const GgufFamily& family, std::string_view tensor) {
  constexpr std::string_view kBlock = "blk.";
  if (const GgufName* name = find_name(family.ends, kUsualEnds, tensor)) {
    return {.name = fmt::format("{}{}", name->other, tensor.substr(name->gguf.size())),
            .is_of_experts = name->other.find("{}") != name->other.npos};
  }
  const std::size_t dot = tensor.starts_with(kBlock) ? tensor.find('.', kBlock.size()) : tensor.npos;
  if (dot == tensor.npos) return {.name = std::string(tensor)};
  const std::string_view layer = tensor.substr(kBlock.size(), dot - kBlock.size()), rest = tensor.substr(dot + 1);
  const GgufName* name = find_name(family.names, kUsualNames, rest);
  if (name == nullptr) return {.name = std::string(tensor)};
  return {.name = fmt::format("{}{}.{}{}", family.layers, layer, name->other, rest.substr(name->gguf.size())),
          .is_of_experts = name->other.find("{}") != name->other.npos,
          .is_row = name->is_row};
}

std::optional<std::string> gguf_name_of(const GgufFamily& family, std::string_view tensor) {
  const std::string_view layers = family.layers;
  if (!tensor.starts_with(layers)) return gguf_name(family.ends, kUsualEnds, tensor);
  const std::size_t dot = tensor.find('.', layers.size());
  if (dot == tensor.npos) return std::nullopt;
  const auto name = gguf_name(family.names, kUsualNames, tensor.substr(dot + 1));
  if (!name) return std::nullopt;
  return fmt::format("blk.{}.{}", tensor.substr(layers.size(), dot - layers.size()), *name);
}

bool is_rope_factor(std::string_view tensor) {
  return tensor.starts_with("rope_freqs.") || tensor.starts_with("rope_factors_");
}

StoredForm stored_form_of(const GgufFamily& family, std::string_view tensor) {
  const bool turns = tensor.find(".attn_q.") != tensor.npos || tensor.find(".attn_k.") != tensor.npos;
  if (family.rotary_pairs && turns) return StoredForm::rotary_pairs;
  const bool is_of_half = tensor.starts_with("blk.") && !turns && tensor.find("_q_norm.") == tensor.npos &&
                          tensor.find("_k_norm.") == tensor.npos;
  const bool has_one = family.norm_plus_one || (family.layer_norm_plus_one && is_of_half);
  const bool is_norm = tensor.ends_with("_norm.weight") && !tensor.ends_with(".ssm_norm.weight");
  if (has_one && is_norm) return StoredForm::plus_one;
  if (tensor.ends_with(".ssm_a")) return StoredForm::minus_exp;
  return family.is_plain ? StoredForm::plain : StoredForm::usual;
}

}  // namespace lathe::engine
