// SPDX-License-Identifier: Apache-2.0
// Sources: OpenAI's openapi.yaml; vLLM's ChatCompletionRequest and CompletionRequest; llama.cpp,
// tools/server/server-schema.cpp; ollama, api/types.go; TGI's GenerateParameters; SGLang's openai/protocol.py.
#include "app/server/known_fields.h"

#include <algorithm>
#include <iterator>

#include "engine/api/word_list.h"

namespace lathe::app {
namespace {

using engine::Json;
using enum FieldFate;

constexpr std::string_view kPenalties = "repetition_penalty repeat_penalty presence_penalty frequency_penalty";

// Fields other than the sampling parameters. A field that becomes served gets the fate `served`, and a dialect reads it; one
// that becomes a sampling parameter is served by its row there.
constexpr KnownField kKnownFields[] = {
    // Fields of OpenAI and vLLM.
    {.name = "model", .fate = served},
    {.name = "prompt", .fate = served},
    {.name = "messages", .fate = served},
    {.name = "max_completion_tokens", .fate = served},
    {.name = "top_logprobs", .fate = served, .neutral = "0"},
    {.name = "n", .fate = served, .neutral = "1"},
    {.name = "best_of", .fate = served, .neutral = "1"},
    {.name = "stream", .fate = served},
    {.name = "stream_options", .fate = served},
    {.name = "echo", .fate = served},
    {.name = "suffix", .fate = served},
    {.name = "add_special_tokens", .fate = served, .neutral = "true"},
    {.name = "add_generation_prompt", .fate = served, .neutral = "true"},
    {.name = "continue_final_message", .fate = served},
    {.name = "chat_template_kwargs", .fate = served},
    {.name = "tools", .fate = served},
    {.name = "tool_choice", .fate = served, .neutral = R"("none" "auto")"},
    {.name = "parallel_tool_calls", .fate = served, .neutral = "true"},
    {.name = "return_token_ids", .fate = served},
    {.name = "return_tokens_as_token_ids", .fate = served},
    {.name = "cache_salt", .fate = served},
    {.name = "include_reasoning", .fate = served, .neutral = "true"},
    {.name = "reasoning_effort", .fate = served},
    {.name = "return_token_strs", .fate = served},
    {.name = "tokens", .fate = served},
    // Fields that switch thinking: those of Qwen, Anthropic, ollama and OpenRouter.
    {.name = "enable_thinking", .fate = served},
    {.name = "thinking", .fate = served},
    {.name = "think", .fate = served},
    {.name = "reasoning", .fate = served},
    // Greedy decoding: transformers and TGI.
    {.name = "do_sample", .fate = served, .neutral = "true"},
    // Fields served under another name.
    {.name = "repeat_penalty", .fate = alias, .as = "repetition_penalty"},
    {.name = "n_predict", .fate = alias, .as = "max_tokens", .as_null = "-1 -2"},
    {.name = "num_predict", .fate = alias, .as = "max_tokens", .as_null = "-1 -2"},
    {.name = "max_new_tokens", .fate = alias, .as = "max_tokens"},
    {.name = "max_output_tokens", .fate = alias, .as = "max_tokens"},
    {.name = "min_new_tokens", .fate = alias, .as = "min_tokens"},
    {.name = "stop_sequences", .fate = alias, .as = "stop"},
    {.name = "n_cmpl", .fate = alias, .as = "n"},
    {.name = "random_seed", .fate = alias, .as = "seed"},
    {.name = "sampling_seed", .fate = alias, .as = "seed"},
    {.name = "return_full_text", .fate = alias, .as = "echo"},
    {.name = "return_tokens", .fate = alias, .as = "return_token_ids"},
    {.name = "no_stop_trim", .fate = alias, .as = "include_stop_str_in_output"},
    // Options of ollama.
    {.name = "options", .fate = options},
    // Constraints of the answer.
    {.name = "response_format", .fate = served},
    {.name = "guided_json", .fate = served, .empty_asks = true},
    {.name = "guided_regex", .fate = served},
    {.name = "guided_choice", .fate = served},
    {.name = "guided_grammar", .fate = served},
    {.name = "guided_whitespace_pattern", .fate = served},
    {.name = "json_schema", .fate = served, .empty_asks = true},
    {.name = "grammar", .fate = served},
    {.name = "regex", .fate = served},
    {.name = "ebnf", .fate = served},
    {.name = "structural_tag", .fate = served},
    {.name = "format", .fate = refused, .empty_asks = true},
    {.name = "output_format", .fate = refused},
    {.name = "grammar_string", .fate = refused},
    {.name = "regex_pattern", .fate = refused},
    {.name = "allowed_token_ids", .fate = refused},
    {.name = "bad_words", .fate = refused},
    {.name = "banned_tokens", .fate = refused},
    {.name = "banned_strings", .fate = refused},
    {.name = "custom_token_bans", .fate = refused},
    {.name = "force_words_ids", .fate = refused},
    {.name = "stop_regex", .fate = refused},
    {.name = "watermark", .fate = refused},
    // Other decoding methods.
    {.name = "use_beam_search", .fate = refused},
    {.name = "logits_processors", .fate = refused},
    {.name = "custom_logit_processor", .fate = refused},
    {.name = "num_beams", .fate = refused, .neutral = "1"},
    {.name = "length_penalty", .fate = refused, .neutral = "1"},
    {.name = "penalty_alpha", .fate = refused, .neutral = "0"},
    {.name = "guidance_scale", .fate = refused, .neutral = "1"},
    {.name = "repetition_detection", .fate = refused},
    {.name = "thinking_token_budget", .fate = refused, .neutral = "-1"},
    {.name = "priority", .fate = refused, .neutral = "0"},
    // Fields that change the prompt or the model.
    {.name = "functions", .fate = refused},
    {.name = "function_call", .fate = refused, .neutral = R"("none" "auto")"},
    {.name = "prompt_embeds", .fate = refused},
    {.name = "input_embeds", .fate = refused},
    {.name = "input_ids", .fate = refused},
    {.name = "system", .fate = refused},
    {.name = "template", .fate = refused},
    {.name = "context", .fate = refused},
    {.name = "chat_template", .fate = refused},
    {.name = "documents", .fate = refused},
    {.name = "tool_prompt", .fate = refused},
    {.name = "truncate_prompt_tokens", .fate = refused, .neutral = "0"},
    {.name = "truncate", .fate = refused, .neutral = "0"},
    {.name = "n_discard", .fate = refused, .neutral = "0"},
    {.name = "lora", .fate = refused},
    {.name = "lora_request", .fate = refused},
    {.name = "lora_path", .fate = refused},
    {.name = "adapter_id", .fate = refused},
    {.name = "control_vectors", .fate = refused},
    {.name = "modalities", .fate = refused, .neutral = R"(["text"])"},
    {.name = "audio", .fate = refused},
    {.name = "images", .fate = refused},
    {.name = "image_data", .fate = refused},
    {.name = "audio_data", .fate = refused},
    {.name = "video_data", .fate = refused},
    {.name = "mm_processor_kwargs", .fate = refused},
    {.name = "media_io_kwargs", .fate = refused},
    {.name = "web_search_options", .fate = refused, .empty_asks = true},
    {.name = "session_params", .fate = refused},
    {.name = "kv_transfer_params", .fate = refused},
    {.name = "ec_transfer_params", .fate = refused},
    {.name = "vllm_xargs", .fate = refused},
    {.name = "custom_params", .fate = refused},
    {.name = "logprob_token_ids", .fate = refused},
    // Sampling of other servers that the engine does not have.
    {.name = "typical_p", .fate = warned, .neutral = "1"},
    {.name = "typical", .fate = warned, .neutral = "1"},
    {.name = "tfs_z", .fate = warned, .neutral = "1"},
    {.name = "tfs", .fate = warned, .neutral = "1"},
    {.name = "top_a", .fate = warned, .neutral = "0"},
    {.name = "top_n_sigma", .fate = warned, .neutral = "-1 0"},
    {.name = "nsigma", .fate = warned, .neutral = "0"},
    {.name = "mirostat", .fate = warned, .neutral = "0"},
    {.name = "mirostat_mode", .fate = warned, .neutral = "0"},
    {.name = "mirostat_tau", .fate = warned, .with = "mirostat mirostat_mode"},
    {.name = "mirostat_eta", .fate = warned, .with = "mirostat mirostat_mode"},
    {.name = "dry_multiplier", .fate = warned, .neutral = "0"},
    {.name = "dry_base", .fate = warned, .with = "dry_multiplier"},
    {.name = "dry_allowed_length", .fate = warned, .with = "dry_multiplier"},
    {.name = "dry_penalty_last_n", .fate = warned, .with = "dry_multiplier"},
    {.name = "dry_range", .fate = warned, .with = "dry_multiplier"},
    {.name = "dry_sequence_breakers", .fate = warned, .with = "dry_multiplier"},
    {.name = "xtc_probability", .fate = warned, .neutral = "0"},
    {.name = "xtc_threshold", .fate = warned, .with = "xtc_probability"},
    {.name = "dynatemp_range", .fate = warned, .neutral = "0"},
    {.name = "dynatemp_exponent", .fate = warned, .with = "dynatemp_range"},
    {.name = "dynamic_temperature", .fate = warned},
    {.name = "dynatemp_low", .fate = warned, .with = "dynamic_temperature"},
    {.name = "dynatemp_high", .fate = warned, .with = "dynamic_temperature"},
    {.name = "smoothing_factor", .fate = warned, .neutral = "0"},
    {.name = "smoothing_curve", .fate = warned, .with = "smoothing_factor"},
    {.name = "epsilon_cutoff", .fate = warned, .neutral = "0"},
    {.name = "eta_cutoff", .fate = warned, .neutral = "0"},
    {.name = "adaptive_target", .fate = warned, .neutral = "-1"},
    {.name = "adaptive_decay", .fate = warned, .with = "adaptive_target"},
    {.name = "skew", .fate = warned, .neutral = "0"},
    {.name = "repeat_last_n", .fate = warned, .neutral = "-1", .with = kPenalties},
    {.name = "penalize_nl", .fate = warned, .neutral = "true", .with = kPenalties},
    {.name = "rep_pen", .fate = warned, .neutral = "1"},
    {.name = "rep_pen_range", .fate = warned, .neutral = "0"},
    {.name = "repetition_penalty_range", .fate = warned, .neutral = "0"},
    {.name = "encoder_repetition_penalty", .fate = warned, .neutral = "1"},
    {.name = "no_repeat_ngram_size", .fate = warned, .neutral = "0"},
    {.name = "min_keep", .fate = warned, .neutral = "0"},
    {.name = "samplers", .fate = warned},
    {.name = "sampler_order", .fate = warned},
    {.name = "sampler_priority", .fate = warned},
    {.name = "temperature_last", .fate = warned},
    {.name = "top_n_tokens", .fate = warned, .neutral = "0"},
    {.name = "n_probs", .fate = warned, .neutral = "0"},
    {.name = "post_sampling_probs", .fate = warned, .with = "n_probs"},
    {.name = "early_stopping", .fate = warned},
    {.name = "min_length", .fate = warned, .neutral = "0"},
    {.name = "negative_prompt", .fate = warned, .with = "guidance_scale"},
    {.name = "backend_sampling", .fate = warned},
    {.name = "verbosity", .fate = warned, .neutral = R"("medium")"},
    // Settings of constraints.
    {.name = "guided_decoding_backend", .fate = warned},
    {.name = "grammar_lazy", .fate = refused, .with = "grammar"},
    {.name = "grammar_triggers", .fate = warned, .with = "grammar_lazy"},
    {.name = "grammar_type", .fate = warned, .with = "grammar_lazy"},
    {.name = "preserved_tokens", .fate = warned, .with = "grammar_lazy"},
    // Limits.
    {.name = "n_keep", .fate = warned, .neutral = "0"},
    {.name = "num_keep", .fate = warned, .neutral = "0"},
    {.name = "n_indent", .fate = warned, .neutral = "0"},
    {.name = "t_max_predict_ms", .fate = warned, .neutral = "0 -1"},
    {.name = "t_max_prompt_ms", .fate = warned, .neutral = "0 -1"},
    {.name = "max_time", .fate = warned, .neutral = "0"},
    {.name = "reasoning_budget_tokens", .fate = warned, .neutral = "-1"},
    {.name = "reasoning_budget_message", .fate = warned, .with = "reasoning_budget_tokens"},
    {.name = "reasoning_budget_start_tag", .fate = warned, .with = "reasoning_budget_tokens"},
    {.name = "reasoning_budget_end_tag", .fate = warned, .with = "reasoning_budget_tokens"},
    {.name = "reasoning_budget_end_tags", .fate = warned, .with = "reasoning_budget_tokens"},
    {.name = "reasoning_control", .fate = warned},
    {.name = "shift", .fate = warned},
    // Parsing and additional contents of the answer.
    {.name = "separate_reasoning", .fate = served, .neutral = "true"},
    {.name = "stream_reasoning", .fate = warned, .neutral = "true"},
    {.name = "reasoning_format", .fate = warned, .neutral = R"("auto" "deepseek")"},
    {.name = "thinking_forced_open", .fate = warned},
    {.name = "parse_tool_calls", .fate = warned, .neutral = "true"},
    {.name = "chat_format", .fate = warned},
    {.name = "chat_parser", .fate = warned},
    {.name = "generation_prompt", .fate = warned},
    {.name = "detokenize", .fate = warned, .neutral = "true"},
    {.name = "details", .fate = warned},
    {.name = "decoder_input_details", .fate = warned},
    {.name = "return_hidden_states", .fate = warned},
    {.name = "return_routed_experts", .fate = warned},
    {.name = "routed_experts_start_len", .fate = warned, .with = "return_routed_experts"},
    {.name = "return_cached_tokens_details", .fate = warned},
    {.name = "return_prompt_token_ids", .fate = warned},
    {.name = "return_prompt_text", .fate = warned},
    {.name = "return_meta_info", .fate = warned},
    {.name = "return_token_offsets", .fate = warned},
    {.name = "return_text_in_logprobs", .fate = warned},
    {.name = "timings_per_token", .fate = warned},
    {.name = "return_progress", .fate = warned},
    {.name = "response_fields", .fate = warned},
    {.name = "verbose", .fate = warned},
    {.name = "_debug_render_only", .fate = warned},
    {.name = "raw", .fate = warned},
    {.name = "task", .fate = warned},
    {.name = "prediction", .fate = warned},
    {.name = "sampling_params", .fate = warned},
    {.name = "parameters", .fate = warned},
    {.name = "extra_body", .fate = warned},
    // Computation: caches, slots, ranks.
    {.name = "cache_prompt", .fate = served, .neutral = "true"},
    {.name = "n_cache_reuse", .fate = warned, .neutral = "0"},
    {.name = "id_slot", .fate = warned, .neutral = "-1"},
    {.name = "keep_alive", .fate = warned},
    {.name = "sse_ping_interval", .fate = warned},
    {.name = "truncation_side", .fate = warned, .with = "truncate_prompt_tokens"},
    {.name = "images_config", .fate = warned},
    {.name = "max_dynamic_patch", .fate = warned, .with = "images"},
    {.name = "min_dynamic_patch", .fate = warned, .with = "images"},
    {.name = "use_audio_in_video", .fate = warned},
    {.name = "bootstrap_host", .fate = warned},
    {.name = "bootstrap_port", .fate = warned},
    {.name = "bootstrap_room", .fate = warned},
    {.name = "routed_dp_rank", .fate = warned},
    {.name = "disagg_prefill_dp_rank", .fate = warned},
    {.name = "data_parallel_rank", .fate = warned},
    {.name = "ngram_corpus_id", .fate = warned},
    {.name = "token_healing", .fate = warned},
    {.name = "prefill_assistant", .fate = warned},
    // Concerns tokenizers of transformers' older kind alone: texts of this server never have such spaces.
    {.name = "spaces_between_special_tokens", .fate = harmless},
    // Names and accounts.
    {.name = "user", .fate = harmless},
    {.name = "store", .fate = harmless},
    {.name = "metadata", .fate = harmless},
    {.name = "service_tier", .fate = harmless},
    {.name = "safety_identifier", .fate = harmless},
    {.name = "prompt_cache_key", .fate = harmless},
    {.name = "prompt_cache_retention", .fate = harmless},
    {.name = "request_id", .fate = harmless},
    {.name = "rid", .fate = harmless},
    {.name = "extra_key", .fate = harmless},
    {.name = "session_id", .fate = harmless},
    {.name = "custom_labels", .fate = harmless},
};

constexpr KnownField kOptionFields[] = {
    {.name = "temperature", .fate = served},
    {.name = "top_k", .fate = served},
    {.name = "top_p", .fate = served},
    {.name = "min_p", .fate = served},
    {.name = "seed", .fate = served},
    {.name = "stop", .fate = served},
    {.name = "presence_penalty", .fate = served, .neutral = "0"},
    {.name = "frequency_penalty", .fate = served, .neutral = "0"},
    {.name = "repeat_penalty", .fate = served, .as = "repetition_penalty", .neutral = "1"},
    {.name = "num_predict", .fate = served, .as = "max_tokens", .as_null = "-1 -2"},
    {.name = "typical_p", .fate = warned, .neutral = "1"},
    {.name = "tfs_z", .fate = warned, .neutral = "1"},
    {.name = "mirostat", .fate = warned, .neutral = "0"},
    {.name = "mirostat_tau", .fate = warned, .with = "mirostat"},
    {.name = "mirostat_eta", .fate = warned, .with = "mirostat"},
    {.name = "repeat_last_n", .fate = warned, .neutral = "-1", .with = "repeat_penalty presence_penalty frequency_penalty"},
    {.name = "penalize_newline",
     .fate = warned,
     .neutral = "true",
     .with = "repeat_penalty presence_penalty frequency_penalty"},
    {.name = "num_keep", .fate = warned, .neutral = "0"},
    {.name = "draft_num_predict", .fate = warned, .neutral = "0"},
    // Settings of a load.
    {.name = "num_ctx", .fate = warned},
    {.name = "num_batch", .fate = warned},
    {.name = "num_gpu", .fate = warned},
    {.name = "main_gpu", .fate = warned},
    {.name = "low_vram", .fate = warned},
    {.name = "f16_kv", .fate = warned, .neutral = "true"},
    {.name = "logits_all", .fate = warned},
    {.name = "vocab_only", .fate = warned},
    {.name = "use_mmap", .fate = warned, .neutral = "true"},
    {.name = "use_mlock", .fate = warned},
    {.name = "num_thread", .fate = warned},
    {.name = "numa", .fate = warned},
    {.name = "shift", .fate = warned},
    {.name = "truncate", .fate = warned},
};

constexpr KnownField kMessageFields[] = {
    {.name = "role", .fate = served},
    {.name = "content", .fate = served},
    {.name = "name", .fate = served},
    {.name = "tool_name", .fate = served},
    {.name = "tool_call_id", .fate = served},
    {.name = "tool_calls", .fate = served},
    {.name = "reasoning", .fate = served},
    {.name = "reasoning_content", .fate = served},
    {.name = "thinking", .fate = served},
    {.name = "refusal", .fate = served},
    // Contents that no template shows to the model, and the request to write on from a message.
    {.name = "images", .fate = refused},
    {.name = "audio", .fate = refused},
    {.name = "videos", .fate = refused},
    {.name = "files", .fate = refused},
    {.name = "function_call", .fate = refused},
    {.name = "prefix", .fate = refused},
    {.name = "partial", .fate = refused},
    // Members of answers, which clients send back as they came.
    {.name = "id", .fate = harmless},
    {.name = "type", .fate = harmless},
    {.name = "object", .fate = harmless},
    {.name = "status", .fate = harmless},
    {.name = "created_at", .fate = harmless},
    {.name = "annotations", .fate = harmless},
    {.name = "reasoning_details", .fate = harmless},
    {.name = "reasoning_signature", .fate = harmless},
    {.name = "thinking_blocks", .fate = harmless},
    {.name = "provider_specific_fields", .fate = harmless},
    {.name = "cache_control", .fate = harmless},
};

}  // namespace

std::vector<KnownField> known_fields(engine::SamplingTable sampling) {
  std::vector<KnownField> fields;
  for (const engine::SamplingField& field : sampling)
    fields.push_back({.name = field.option.name, .fate = served, .neutral = field.neutral});
  for (const KnownField& field : kKnownFields) {
    if (find_sampling_field(sampling, field.name) == nullptr) fields.push_back(field);
  }
  return fields;
}

std::span<const KnownField> known_fields() {
  static const std::vector<KnownField> fields = known_fields(engine::sampling_fields());
  return fields;
}

std::vector<KnownField> dialect_fields(std::span<const KnownField> own) {
  std::vector<KnownField> fields(own.begin(), own.end());
  for (const KnownField& field : known_fields()) {
    if (find_field(own, field.name) == nullptr) fields.push_back(field);
  }
  return fields;
}

std::span<const KnownField> option_fields() {
  static const std::vector<KnownField> fields = [] {
    std::vector<KnownField> made(std::begin(kOptionFields), std::end(kOptionFields));
    for (KnownField& field : made) {
      if (engine::find_sampling_field(engine::sampling_fields(), field.name) != nullptr) field.fate = served;
    }
    return made;
  }();
  return fields;
}

std::span<const KnownField> message_fields() { return kMessageFields; }

const KnownField* find_field(std::span<const KnownField> table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const KnownField& field) { return field.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool is_among(std::string_view values, const Json& value) {
  return engine::any_word(values, [&](std::string_view text) { return Json::parse(text) == value; });
}

bool asks(std::span<const KnownField> table, const Json& object, std::string_view name) {
  const auto found = object.find(std::string(name));
  if (found == object.end() || found->is_null() || *found == "") return false;
  const KnownField* field = find_field(table, name);
  if (*found == false && (field == nullptr || !is_among(field->neutral, true))) return false;
  if (found->is_array() && found->empty()) return false;
  if (found->is_object() && found->empty()) return field != nullptr && field->empty_asks;
  if (field == nullptr) return true;
  if (is_among(field->neutral, *found)) return false;
  const auto asks_too = [&](std::string_view other) { return asks(table, object, other); };
  return field->with.empty() || engine::any_word(field->with, asks_too);
}

}  // namespace lathe::app
