// SPDX-License-Identifier: Apache-2.0
// GET /api/tags, GET /api/ps, POST /api/show, GET /api/version and GET /
#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>

#include "app/api/workbench.h"
#include "app/server/dialects/ollama/ollama.h"
#include "app/server/generate/infill.h"
#include "engine/api/generic_tools.h"

namespace lathe::app::ollama {
namespace {

using engine::LoadedModel;
using engine::OrderedJson;

/// Version of the protocol, which clients compare with the one that brought a route or a field.
constexpr const char* kProtocolVersion = "0.12.6";

/// Returns "qwen2" for "Qwen2ForCausalLM".
std::string family_of(const LoadedModel& model) {
  std::string family = model.info.architecture.substr(0, model.info.architecture.find("For"));
  std::transform(family.begin(), family.end(), family.begin(), [](unsigned char c) { return std::tolower(c); });
  return family;
}

/// Returns a count as "7.6B", "134.52M" or "960K".
std::string short_count(std::int64_t n) {
  const auto count = static_cast<double>(n);
  if (count >= 1e9) return fmt::format("{:.1f}B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f}M", count / 1e6);
  return fmt::format("{:.0f}K", count / 1e3);
}

OrderedJson details_of(const LoadedModel& model) {
  const std::string family = family_of(model);
  const std::string& quantization = model.running_quantization();
  OrderedJson details;
  details["parent_model"] = "";
  details["format"] = model.info.file_format;
  details["family"] = family;
  details["families"] = OrderedJson::array({family});
  details["parameter_size"] = short_count(model.info.n_parameters);
  details["quantization_level"] = quantization == "none" ? model.dtype : quantization;
  return details;
}

/// Identifies the loaded model: SHA-256 of its name and its sizes. The files are not read for it.
std::string digest_of(const LoadedModel& model, const std::string& name) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}", name, model.info.architecture, model.info.n_parameters, model.info.file_bytes);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string out;
  for (const unsigned char byte : hash) out += fmt::format("{:02x}", byte);
  return out;
}

/// Returns the time at which the model's files changed; 1970 if the system does not say.
std::string modified_at(const LoadedModel& model) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(model.info.path, error);
  if (error) return time_text(0);
  const auto system = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return time_text(std::chrono::duration_cast<std::chrono::microseconds>(system).count());
}

OrderedJson capabilities_of(const engine::Engine& engine) {
  const LoadedModel& model = engine.model();
  if (model.labels) return OrderedJson::array();  // the protocol has no capability for classifiers
  if (!model.generates) return OrderedJson::array({"embedding"});
  OrderedJson list = OrderedJson::array({"completion"});
  const bool calls = !model.answer_formats_with_tools.tool_calls.empty() || engine::has_generic_tools(engine);
  if (calls && model.options.enable_auto_tool_choice) list.push_back("tools");
  if (!model.answer_formats.reasoning.empty()) list.push_back("thinking");
  if (can_infill(engine.tokenizer())) list.push_back("insert");
  return list;
}

OrderedJson entry_of(const engine::Engine& engine, const std::string& name) {
  const LoadedModel& model = engine.model();
  OrderedJson entry;
  entry["name"] = name;
  entry["model"] = name;
  entry["modified_at"] = modified_at(model);
  entry["size"] = model.info.file_bytes;
  entry["digest"] = digest_of(model, name);
  entry["details"] = details_of(model);
  entry["capabilities"] = capabilities_of(engine);
  return entry;
}

/// Returns the entry of a model that is loaded until the server ends.
OrderedJson running_entry(const engine::Engine& engine, const std::string& name) {
  const LoadedModel& model = engine.model();
  constexpr std::int64_t century_us = 100LL * 365 * 24 * 3600 * 1'000'000;
  OrderedJson entry = entry_of(engine, name);
  entry.erase("modified_at");
  entry.erase("capabilities");
  entry["size"] = model.memory.total();
  entry["expires_at"] = time_text(now_us() + century_us);
  entry["size_vram"] = model.device == "cpu" ? 0 : model.memory.total();
  entry["context_length"] = model.max_model_len;
  return entry;
}

/// Returns the list of the loaded model under all of its names; empty while none is loaded.
http::Response list_of(const ServerContext& context,
                       const std::function<OrderedJson(const engine::Engine&, const std::string&)>& entry) {
  OrderedJson list;
  list["models"] = OrderedJson::array();
  if (const EngineLease engine = context.models.lease()) {
    for (const std::string& name : context.served_names(engine->model())) {
      list["models"].push_back(entry(*engine, name));
    }
    const engine::Engine& embedder = engine->embedder();
    if (&embedder != &*engine) list["models"].push_back(entry(embedder, embedder.model().name));
  }
  return {200, "application/json", {}, engine::dump_json(list)};
}

/// Returns the keys of a GGUF file that clients read, whatever the format of the file.
OrderedJson model_info_of(const LoadedModel& model) {
  const std::string family = family_of(model);
  const engine::ModelInfo& info = model.info;
  OrderedJson keys;
  keys["general.architecture"] = family;
  keys["general.basename"] = info.name;
  keys["general.parameter_count"] = info.n_parameters;
  keys[family + ".context_length"] = model.max_model_len;
  keys[family + ".embedding_length"] = info.hidden_size;
  keys[family + ".block_count"] = info.n_layers;
  keys[family + ".feed_forward_length"] = info.intermediate_size;
  keys[family + ".attention.head_count"] = info.n_heads;
  keys[family + ".attention.head_count_kv"] = info.n_kv_heads;
  keys[family + ".attention.key_length"] = info.head_dim;
  keys[family + ".attention.value_length"] = info.head_dim;
  keys[family + ".vocab_size"] = info.vocab_size;
  return keys;
}

/// Returns the defaults of requests as lines of a Modelfile.
std::string parameters_of(const LoadedModel& model) {
  const engine::SamplingParams& sampling = model.default_sampling;
  std::string lines =
      fmt::format("num_ctx {}\ntemperature {}\ntop_p {}", model.max_model_len, sampling.temperature, sampling.top_p);
  if (sampling.top_k > 0) lines += fmt::format("\ntop_k {}", sampling.top_k);
  if (sampling.repetition_penalty != 1.0) lines += fmt::format("\nrepeat_penalty {}", sampling.repetition_penalty);
  return lines;
}

}  // namespace

engine::Result<http::Reply> answer_tags(const ServerContext& context, const http::Request&) {
  return list_of(context, entry_of);
}

engine::Result<http::Reply> answer_ps(const ServerContext& context, const http::Request&) {
  return list_of(context, running_entry);
}

engine::Result<http::Reply> answer_show(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(RequestBody given, RequestBody::read(request.body, request_fields()));
  if (!given.fields().contains("model") && given.fields().contains("name")) {
    given.set("model", given.fields()["name"], "name");
  }
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  RequestFields body = given.reader();
  const std::string asked = body.text("model").value_or(""), &embedder_name = engine->embedder().model().name;
  const bool is_embedder =
      &engine->embedder() != &*engine && (asked == embedder_name || asked == embedder_name + std::string(kTag));
  if (!is_embedder) LATHE_TRY_VOID(check_tagged_model(body, context, engine->model()));
  const engine::Engine& shown = is_embedder ? engine->embedder() : *engine;
  const LoadedModel& model = shown.model();
  OrderedJson answer;
  answer["modelfile"] = "FROM " + (is_embedder ? embedder_name : context.served_name(model)) + "\n";
  answer["parameters"] = parameters_of(model);
  answer["template"] = shown.chat_template() == nullptr ? "" : shown.chat_template()->source(false);
  answer["details"] = details_of(model);
  answer["model_info"] = model_info_of(model);
  answer["capabilities"] = capabilities_of(shown);
  answer["modified_at"] = modified_at(model);
  return http::Response{200, "application/json", {}, engine::dump_json(answer)};
}

engine::Result<http::Reply> answer_version(const ServerContext&, const http::Request&) {
  const OrderedJson answer = {{"version", kProtocolVersion}, {"lathe", version()}};
  return http::Response{200, "application/json", {}, engine::dump_json(answer)};
}

/// Clients ask the root whether a server runs.
engine::Result<http::Reply> answer_root(const ServerContext&, const http::Request&) {
  return http::Response{200, "text/plain; charset=utf-8", {}, "Lathe is running"};
}

}  // namespace lathe::app::ollama
