// SPDX-License-Identifier: Apache-2.0
#include "app/server/embed/vector_request.h"

namespace lathe::app {
namespace {

using enum FieldFate;

// Sources: OpenAI's openapi.yaml; vLLM's EmbeddingCompletionRequest, PoolingCompletionRequest, ScoreRequest and
// RerankRequest; Jina's and Cohere's rerankers; ollama, api/types.go.
constexpr KnownField kVectorFields[] = {
    {.name = "model", .fate = served},
    {.name = "input", .fate = served},
    {.name = "encoding_format", .fate = served},
    {.name = "dimensions", .fate = served},
    {.name = "truncate_prompt_tokens", .fate = served},
    {.name = "truncation_side", .fate = served, .neutral = R"("right")"},
    {.name = "add_special_tokens", .fate = served, .neutral = "true"},
    {.name = "normalize", .fate = served},
    {.name = "task", .fate = served},
    {.name = "use_activation", .fate = served, .neutral = "true"},
    // Scores: two lists of texts under several names.
    {.name = "text_1", .fate = served},
    {.name = "text_2", .fate = served},
    {.name = "queries", .fate = alias, .as = "text_1"},
    {.name = "data_1", .fate = alias, .as = "text_1"},
    {.name = "documents", .fate = served},
    {.name = "items", .fate = alias, .as = "text_2"},
    {.name = "data_2", .fate = alias, .as = "text_2"},
    // Ranks.
    {.name = "query", .fate = served},
    {.name = "top_n", .fate = served, .neutral = "0"},
    {.name = "return_documents", .fate = served, .neutral = "true"},
    {.name = "max_tokens_per_doc", .fate = served},
    // Ollama.
    {.name = "prompt", .fate = served},
    {.name = "truncate", .fate = served, .neutral = "true"},
    // Other texts, models and numbers.
    {.name = "messages", .fate = refused},
    {.name = "chat_template", .fate = refused},
    {.name = "chat_template_kwargs", .fate = refused},
    {.name = "instruction", .fate = refused},
    {.name = "images", .fate = refused},
    {.name = "prompt_embeds", .fate = refused},
    {.name = "mm_processor_kwargs", .fate = refused},
    {.name = "rank_fields", .fate = refused, .neutral = R"(["text"])"},
    {.name = "embed_dtype", .fate = refused, .neutral = R"("float32")"},
    {.name = "endianness", .fate = refused, .neutral = R"("native" "little")"},
    {.name = "embedding_types", .fate = refused, .neutral = R"(["float"])"},
    {.name = "output_dtype", .fate = refused, .neutral = R"("float")"},
    {.name = "late_chunking", .fate = refused},
    // Settings that change no vector.
    {.name = "options", .fate = warned},
    {.name = "input_type", .fate = warned},
    {.name = "priority", .fate = warned, .neutral = "0"},
    {.name = "cache_salt", .fate = warned},
    {.name = "keep_alive", .fate = harmless},
    {.name = "user", .fate = harmless},
    {.name = "request_id", .fate = harmless},
    {.name = "metadata", .fate = harmless},
    {.name = "extra_body", .fate = warned},
};

}  // namespace

std::span<const KnownField> vector_fields() { return kVectorFields; }

engine::Result<void> check_vector_model(RequestFields& body, const ServerContext& context, engine::Engine& engine,
                                        std::string_view tag) {
  const std::string asked = body.text("model").value_or("");
  LATHE_TRY_VOID(body.verdict());
  if (asked.empty()) return {};
  const std::vector<std::string> names = context.vector_names(engine);
  const bool has_tag = !tag.empty() && asked.ends_with(tag);
  if (has_tag && context.check_name(asked.substr(0, asked.size() - tag.size()), names)) return {};
  return context.check_name(asked, names);
}

std::string vector_model_name(const ServerContext& context, engine::Engine& engine) {
  return context.vector_names(engine).front();
}

engine::Result<std::vector<FieldWarning>> end_reading(const ServerContext& context, RequestFields& body,
                                                      const RequestBody& given) {
  refuse_unserved_fields(body, {}, vector_fields());
  warn_of_unread_fields(body, vector_fields());
  LATHE_TRY_VOID(body.verdict());
  return all_warnings(context, body, given);
}

engine::Result<http::Reply> submit_texts(const ServerContext& context, const http::Request& request,
                                         const EngineLease& lease, std::vector<VectorText> texts,
                                         const engine::PoolingParams& pooling, VectorForm form) {
  LATHE_TRY(auto set,
            VectorSet::submit(context, request, lease, vector_model_name(context, *lease), std::move(texts), pooling));
  return http::Reply(std::make_unique<VectorReply>(std::move(set), std::move(form)));
}

std::vector<VectorText> single_texts(std::vector<std::vector<std::int32_t>> texts) {
  std::vector<VectorText> single;
  for (auto& ids : texts) single.push_back({.ids = std::move(ids)});
  return single;
}

engine::OrderedJson usage_of(const VectorSet& set) {
  return {{"prompt_tokens", set.n_tokens()}, {"total_tokens", set.n_tokens()}};
}

}  // namespace lathe::app
