// SPDX-License-Identifier: Apache-2.0
#include "engine/api/call_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/api/printable.h"
#include "engine/text/tool_calls/call_arguments.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/call_text.h"
#include "engine/text/tool_calls/harmony_parser.h"
#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

bool is_harmony_format(const CallFormat& format) { return format.parse == nullptr && format.tags == nullptr; }

/// The text that the row of a format gives for a model with these tokens.
const CallText& call_text_of(const CallFormat& format, const CallTextWriter& writer) {
  const CallText& first = format.texts.front();
  return first.needs.empty() || writer.is_token(first.needs) ? first : format.texts.back();
}

class CallGrammarWriter {
 public:
  CallGrammarWriter(const CallDemand& demand, const AnswerReading& reading, const CallFormat& format)
      : demand_(demand),
        format_(format),
        writer_(reading.markers),
        text_(call_text_of(format, writer_)),
        types_(reading.tools) {}

  Result<OrderedJson> write() {
    for (std::size_t i = 0; i < demand_.tools.size(); ++i) {
      const OrderedJson& function = demand_.tools[i].at("function");
      if (!demand_.may_call(function.at("name").get<std::string>())) continue;
      LATHE_TRY_VOID(add_calls_of(function, fmt::format("tools[{}].function", i)));
    }
    return demand_.is_required ? tag_sequence({leads(), calls()}) : calls_or_content();
  }

 private:
  /// Adds the ways in which one tool may be called.
  Result<void> add_calls_of(const OrderedJson& function, const std::string& path) {
    const std::string name = function.at("name").get<std::string>();
    const bool is_in_json = text_.call.find("\"name\"") != std::string_view::npos;
    if (!is_in_json && !is_plain_call_name(name, text_.style == ValueStyle::python)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the call format {} cannot write the name \"{}\"; use letters, digits, \"_\", \"-\" and \".\"",
                              format_.name, printable(name, 60)),
                  path + ".name");
    }
    CallArguments arguments(format_, text_, writer_, types_);
    LATHE_TRY(const CallTextWriter::Parts parts, arguments.parts_of(function, demand_.follows_schema(function), path));
    // A name that the other way has itself, between two markers, would be read as that way.
    const bool is_ambiguous = text_.other_call.find(fmt::format(">{}<", name)) != std::string_view::npos;
    if (!is_ambiguous) one_call_.push_back(writer_.expand(text_.call, parts));
    if (!text_.other_call.empty()) one_call_.push_back(writer_.expand(text_.other_call, parts));
    return {};
  }

  OrderedJson calls() const {
    OrderedJson parts = OrderedJson::array({writer_.expand(text_.before, {}), tag_choice(one_call_)});
    // gpt-oss ends its turn with a call.
    if (demand_.is_parallel && !is_harmony_format(format_))
      parts.push_back(tag_repeat("star", tag_sequence({writer_.expand(text_.between, {}), tag_choice(one_call_)})));
    parts.push_back(writer_.expand(text_.after, {}));
    return tag_sequence(std::move(parts));
  }

  /// Messages of gpt-oss that may precede its calls; of other models blanks.
  OrderedJson leads() const {
    if (text_.lead.empty()) return writer_.blanks();
    return tag_repeat("star", writer_.expand(text_.lead, {.text = free_text()}));
  }

  OrderedJson calls_or_content() const {
    const OrderedJson content = demand_.content.is_null() ? free_text() : demand_.content;
    if (!text_.content.empty()) {
      const OrderedJson answer = writer_.expand(text_.content, {.text = content});
      return tag_sequence({leads(), tag_choice(OrderedJson::array({calls(), answer}))});
    }
    if (!demand_.content.is_null()) return tag_choice(OrderedJson::array({tag_sequence({leads(), calls()}), content}));
    if (!format_.bare.empty()) return bare_calls_or_text();
    const OrderedJson next = tag_sequence({calls(), free_text()});
    return tag_sequence({free_text(), tag_repeat(demand_.is_parallel ? "star" : "optional", next)});
  }

  /// Where calls have no marker, an answer that does not begin as calls do has none.
  OrderedJson bare_calls_or_text() const {
    const OrderedJson begin = {{"type", "regex"}, {"pattern", "[ \\n\\r\\t]*[^ \\n\\r\\t{\\[]"}};
    const OrderedJson text = tag_repeat("optional", tag_sequence({begin, free_text()}));
    return tag_choice(OrderedJson::array({tag_sequence({leads(), calls()}), text}));
  }

  /// Any text without the markers that begin calls.
  OrderedJson free_text() const {
    std::set<std::string> excluded;
    const auto exclude = [&](const auto& markers) {
      for (const std::string_view marker : markers) {
        if (!marker.empty() && !writer_.is_token(marker)) excluded.emplace(marker);
      }
    };
    if (is_harmony_format(format_)) exclude(kHarmonyMarkers);
    exclude(format_.begins);
    exclude(format_.wraps);
    OrderedJson text = {{"type", "any_text"}};
    if (!excluded.empty()) text["excludes"] = excluded;
    return text;
  }

  const CallDemand& demand_;
  const CallFormat& format_;
  const CallTextWriter writer_;
  const CallText& text_;
  const ArgumentTypes types_;
  OrderedJson one_call_ = OrderedJson::array();  ///< the ways to write one call
};

}  // namespace

bool CallDemand::may_call(std::string_view name) const {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool CallDemand::follows_schema(const OrderedJson& function) const {
  return is_required || is_strict || function.value("strict", OrderedJson(false)) == true;
}

Result<OrderedJson> call_grammar(const CallDemand& demand, const AnswerReading& reading) {
  const CallFormat* format = find_call_format(reading.formats.tool_calls);
  LATHE_CHECK(format != nullptr);
  LATHE_TRY(const OrderedJson tag, CallGrammarWriter(demand, reading, *format).write());
  return OrderedJson{{"structural_tag", {{"format", tag}}}};
}

std::optional<Error> call_schema_error(const CallDemand& demand) {
  for (std::size_t i = 0; i < demand.tools.size(); ++i) {
    const OrderedJson& function = demand.tools[i].at("function");
    if (!demand.may_call(function.at("name").get<std::string>())) continue;
    if (auto error = schema_error_of(call_schema(function, demand.follows_schema(function)))) {
      error->where = fmt::format("tools[{}].function.parameters{}", i, error->where);
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace lathe::engine
