// SPDX-License-Identifier: Apache-2.0
// GET /v1/models and GET /v1/models/{id}
#include <algorithm>
#include <chrono>

#include "app/server/dialects/openai/openai.h"
#include "engine/api/json.h"

namespace lathe::app::openai {
namespace {

using engine::OrderedJson;

OrderedJson model_card(const ServerContext& context, const engine::LoadedModel& model, const std::string& name) {
  using namespace std::chrono;
  const std::int64_t now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  OrderedJson permission;
  permission["id"] = "modelperm-" + context.ids.next();
  permission["object"] = "model_permission";
  permission["created"] = now;
  permission["allow_create_engine"] = false;
  permission["allow_sampling"] = true;
  permission["allow_logprobs"] = true;
  permission["allow_search_indices"] = false;
  permission["allow_view"] = true;
  permission["allow_fine_tuning"] = false;
  permission["organization"] = "*";
  permission["group"] = nullptr;
  permission["is_blocking"] = false;
  OrderedJson card;
  card["id"] = name;
  card["object"] = "model";
  card["created"] = now;
  card["owned_by"] = "lathe";
  card["root"] = model.info.name;  // only the folder's name: its path is private
  card["parent"] = nullptr;
  card["max_model_len"] = model.max_model_len;
  card["permission"] = OrderedJson::array({std::move(permission)});
  return card;
}

/// Removes the slashes that a request path loses: a served name may be a folder's path, which begins with one.
std::string as_in_path(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '/' || (!out.empty() && out.back() != '/')) out += c;
  }
  if (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace

/// Without a model the list is empty and no error.
engine::Result<http::Reply> answer_models(const ServerContext& context, const http::Request&) {
  OrderedJson list;
  list["object"] = "list";
  list["data"] = OrderedJson::array();
  if (const EngineLease engine = context.models.lease()) {
    for (const std::string& name : context.served_names(engine->model())) {
      list["data"].push_back(model_card(context, engine->model(), name));
    }
    const engine::Engine& embedder = engine->embedder();
    if (&embedder != &*engine) list["data"].push_back(model_card(context, embedder.model(), embedder.model().name));
  }
  return http::Response{200, "application/json", {}, engine::dump_json(list)};
}

engine::Result<http::Reply> answer_model(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  const std::string_view asked = std::string_view(request.path).substr(std::string_view("/v1/models/").size());
  const engine::Engine& embedder = engine->embedder();
  const std::string& embedder_name = embedder.model().name;
  if (&embedder != &*engine && as_in_path(asked) == as_in_path(embedder_name)) {
    return http::Response{
        200, "application/json", {}, engine::dump_json(model_card(context, embedder.model(), embedder_name))};
  }
  const std::vector<std::string> names = context.served_names(engine->model());
  const auto named = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return as_in_path(asked) == as_in_path(name); });
  if (named == names.end()) LATHE_TRY_VOID(context.check_model_name(asked, engine->model()));
  const std::string name = named == names.end() ? std::string(asked) : *named;
  return http::Response{200, "application/json", {}, engine::dump_json(model_card(context, engine->model(), name))};
}

}  // namespace lathe::app::openai
