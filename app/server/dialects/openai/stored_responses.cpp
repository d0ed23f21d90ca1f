// SPDX-License-Identifier: Apache-2.0
// GET and DELETE /v1/responses/{id}, POST /v1/responses/{id}/cancel and GET /v1/responses/{id}/input_items
#include <algorithm>
#include <charconv>

#include "app/log/printable.h"
#include "app/server/dialects/openai/response_reply.h"
#include "app/server/dialects/openai/responses.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::OrderedJson;

constexpr std::size_t kDefaultItems = 20, kMaxItems = 100;

/// Returns the id in the path "/v1/responses/{id}/...".
std::string id_of(const http::Request& request) {
  const std::string_view rest = std::string_view(request.path).substr(std::string_view("/v1/responses/").size());
  return std::string(rest.substr(0, rest.find('/')));
}

tl::unexpected<engine::Error> not_found(const std::string& id) {
  return engine::fail(ErrorCode::not_found,
                      "there is no response \"" + printable(id, 80) +
                          "\": it was not stored, was deleted, or was the oldest beyond the limit",
                      "response_id");
}

engine::Result<std::shared_ptr<ResponseRun>> find_run(const ServerContext& context, const http::Request& request) {
  const std::string id = id_of(request);
  auto run = std::dynamic_pointer_cast<ResponseRun>(context.answers.find(id));
  if (run == nullptr) return not_found(id);
  run->poll();
  return run;
}

http::Response answered(const OrderedJson& json) { return {200, "application/json", {}, engine::dump_json(json)}; }

/// Returns the value of a parameter of the query, as it is written; empty: the parameter is absent.
std::string_view parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=') return pair.substr(name.size() + 1);
  }
  return {};
}

/// Reads a whole number of the query from `least` to `most`.
engine::Result<std::size_t> number_in(std::string_view query, const char* name, std::size_t fallback, std::size_t least,
                                      std::size_t most) {
  const std::string_view text = parameter(query, name);
  if (text.empty()) return fallback;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least && number <= most) return number;
  return engine::fail(ErrorCode::invalid_argument,
                      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", got \"" +
                          printable(text, 40) + "\"",
                      name);
}

}  // namespace

/// With "stream=true" the events of a response in the background are sent from "starting_after" on.
engine::Result<http::Reply> answer_stored_response(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const std::shared_ptr<ResponseRun> run, find_run(context, request));
  if (parameter(request.query, "stream") != "true") return answered(run->json());
  if (!run->request().stream || !run->request().background) {
    return engine::fail(ErrorCode::invalid_argument,
                        "only a response that was created with \"background\" and \"stream\" can be streamed again",
                        "stream");
  }
  std::size_t next = 0;
  if (!parameter(request.query, "starting_after").empty()) {
    LATHE_TRY(const std::size_t after, number_in(request.query, "starting_after", 0, 0, 1'000'000'000));
    next = after + 1;
  }
  return http::Reply(std::make_unique<StreamedResponse>(run, next, false));
}

/// Lists the items of the request's own input, newest first unless "order=asc".
engine::Result<http::Reply> answer_input_items(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const std::shared_ptr<ResponseRun> run, find_run(context, request));
  LATHE_TRY(const std::size_t limit, number_in(request.query, "limit", kDefaultItems, 1, kMaxItems));
  const std::string_view order = parameter(request.query, "order"), after = parameter(request.query, "after");
  if (!order.empty() && order != "asc" && order != "desc")
    return engine::fail(ErrorCode::invalid_argument, "must be \"asc\" or \"desc\"", "order");
  std::vector<OrderedJson> items(run->request().input_items.begin(), run->request().input_items.end());
  if (order != "asc") std::reverse(items.begin(), items.end());
  if (!after.empty()) {
    const auto found =
        std::find_if(items.begin(), items.end(), [&](const OrderedJson& item) { return item["id"] == std::string(after); });
    if (found == items.end()) return engine::fail(ErrorCode::invalid_argument, "is no item of this response", "after");
    items.erase(items.begin(), found + 1);
  }
  const bool has_more = items.size() > limit;
  if (has_more) items.resize(limit);
  OrderedJson list;
  list["object"] = "list";
  list["data"] = items;
  list["first_id"] = items.empty() ? OrderedJson(nullptr) : items.front()["id"];
  list["last_id"] = items.empty() ? OrderedJson(nullptr) : items.back()["id"];
  list["has_more"] = has_more;
  return answered(list);
}

engine::Result<http::Reply> answer_cancel_response(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const std::shared_ptr<ResponseRun> run, find_run(context, request));
  if (!run->request().background) {
    return engine::fail(
        ErrorCode::invalid_argument,
        "only a response that was created with \"background\" can be cancelled; close the connection of another",
        "response_id");
  }
  run->cancel();
  return answered(run->json());
}

/// A response that is still being generated is cancelled.
engine::Result<http::Reply> answer_delete_response(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const std::shared_ptr<ResponseRun> run, find_run(context, request));
  run->cancel();
  if (!context.answers.erase(run->id())) return not_found(run->id());
  return answered({{"id", run->id()}, {"object", "response"}, {"deleted", true}});
}

}  // namespace lathe::app::openai
