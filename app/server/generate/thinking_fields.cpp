// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/thinking_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "app/server/generate/template_variables.h"
#include "app/server/request_body.h"

namespace lathe::app {
namespace {

using engine::Json;

constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
/// Variables that switch thinking: the first of Qwen, GLM and Nemotron, the second of DeepSeek, Kimi and Granite.
constexpr std::array<const char*, 2> kSwitches = {"enable_thinking", "thinking"};

/// A requested value and the field that requested it.
template <class Value>
struct Wish {
  std::optional<Value> value;
  std::string field;
};

class ThinkingReader {
 public:
  explicit ThinkingReader(RequestFields& body) : body_(body) {}

  void read() {
    want(on_, body_.flag("enable_thinking"), "enable_thinking");
    read_switch_or_effort("think");
    read_thinking();
    read_reasoning();
    want_effort(body_.text("reasoning_effort"), "reasoning_effort");
  }
  const Wish<bool>& on() const { return on_; }
  const Wish<std::string>& effort() const { return effort_; }
  const Wish<std::int64_t>& budget() const { return budget_; }

 private:
  template <class Value>
  void want(Wish<Value>& wish, std::optional<Value> value, const std::string& field) {
    if (!value) return;
    if (wish.value && *wish.value != *value) {
      body_.refuse(field, "contradicts \"" + wish.field + "\"; send one of them");
    } else if (!wish.value) {
      wish = {std::move(value), field};
    }
  }

  void want_effort(const std::optional<std::string>& effort, const std::string& field) {
    if (!effort) return;
    if (std::find(kEfforts.begin(), kEfforts.end(), *effort) == kEfforts.end()) {
      body_.refuse(field, "must be none, minimal, low, medium, high, xhigh or max");
      return;
    }
    want(effort_, effort, field);
    want(on_, std::optional(*effort != "none"), field);
  }

  /// Reads ollama's form: true, false, or an effort.
  void read_switch_or_effort(const char* name) {
    const Json* value = body_.any(name);
    if (value != nullptr && value->is_string()) want_effort(body_.text(name), name);
    else want(on_, body_.flag(name), name);
  }

  /// Reads Anthropic's {"type": "enabled", "budget_tokens": 1024}; other servers' true or false.
  void read_thinking() {
    const Json* value = body_.any("thinking");
    if (value == nullptr || !value->is_object()) return read_switch_or_effort("thinking");
    RequestFields reader(*value, "thinking");
    const std::string type = reader.text("type").value_or("");
    if (type == "enabled" || type == "disabled") {
      want(on_, std::optional(type == "enabled"), "thinking");
    } else if (type != "adaptive" && type != "auto") {
      reader.refuse("type", "must be \"enabled\", \"disabled\", \"adaptive\" or \"auto\"");
    }
    want(budget_, reader.integer("budget_tokens"), "thinking.budget_tokens");
    warn_of_unread_fields(reader);
    body_.take_over(reader);
  }

  void read_reasoning() {
    const Json* value = body_.object("reasoning");
    if (value == nullptr) return;
    RequestFields reader(*value, "reasoning");
    want(on_, reader.flag("enabled"), "reasoning.enabled");
    want(on_, reader.flag("enable"), "reasoning.enable");
    want_effort(reader.text("effort"), "reasoning.effort");
    want(budget_, reader.integer("max_tokens"), "reasoning.max_tokens");
    reader.flag("exclude");  // concerns the answer, not the prompt
    warn_of_unread_fields(reader);
    body_.take_over(reader);
  }

  RequestFields& body_;
  Wish<bool> on_;
  Wish<std::string> effort_;
  Wish<std::int64_t> budget_;
};

}  // namespace

void read_thinking(RequestFields& body, bool thinks, std::string_view template_source, Json& variables) {
  ThinkingReader wishes(body);
  wishes.read();
  if (body.failed()) return;
  const auto set = [&](const char* name, const Json& value) {
    if (!reads_variable(template_source, name)) return false;
    if (!variables.contains(name)) variables[name] = value;
    return true;
  };
  const auto& [effort, effort_field] = wishes.effort();
  const bool has_effort = effort && set("reasoning_effort", *effort);
  if (const auto& [on, field] = wishes.on(); on) {
    bool has_switch = false;
    for (const char* name : kSwitches) has_switch = set(name, *on) || has_switch;
    const bool obeyed = has_switch || has_effort || thinks == *on;
    if (!obeyed && *on && !effort) body.warn(field, "was ignored: this model's chat template has no reasoning to switch on");
    if (!obeyed && !*on)
      body.refuse(field, "this model's chat template cannot switch reasoning; send the request without this field");
  }
  if (effort && *effort != "none" && !has_effort)
    body.warn(effort_field, "was ignored: this model's chat template does not use reasoning_effort");
  if (const auto& [budget, field] = wishes.budget(); budget && !set("thinking_budget", *budget))
    body.warn(field, "was ignored: this model's chat template does not use thinking_budget");
}

}  // namespace lathe::app
