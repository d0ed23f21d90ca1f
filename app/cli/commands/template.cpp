// SPDX-License-Identifier: Apache-2.0
// lathe template: renders a chat template with given variables.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/cli/json_lines.h"
#include "app/cli/model_command.h"
#include "app/log/printable.h"
#include "engine/api/exact_json.h"
#include "engine/api/text_template.h"

namespace lathe::app {

extern const Command kTemplateCommand;

namespace {

using engine::ErrorCode;
using engine::OrderedJson;
using engine::Result;
using engine::TemplateProblem;
using engine::TemplateSource;

std::string problem_line(const TemplateProblem& problem) {
  const auto number = [](int n) { return n > 0 ? OrderedJson(n) : OrderedJson(nullptr); };
  return engine::dump_json(
      OrderedJson{{"error", problem.message}, {"line", number(problem.line)}, {"column", number(problem.column)}});
}

/// Returns the variables of a line; the names of the model's tokens are added unless the line sets them.
Result<OrderedJson> variables_of(std::string_view line, const TemplateSource& source) {
  LATHE_TRY(OrderedJson variables, engine::parse_exact_json(line, ""));
  if (!variables.is_object()) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be a JSON object of variables, not a {}", variables.type_name()));
  }
  for (const auto& [name, text] : source.token_names.items()) {
    if (!variables.contains(name)) variables[name] = text;
  }
  return variables;
}

Result<TemplateSource> read_source(const std::string& file, const std::string& model) {
  if (file.empty() == model.empty()) return engine::fail(ErrorCode::invalid_argument, "give either FILE or --model DIR");
  return file.empty() ? engine::read_template_of_model(model) : engine::read_template_file(file);
}

using Compiled = tl::expected<std::unique_ptr<engine::TextTemplate>, TemplateProblem>;

/// The compiled templates by name.
class Templates {
 public:
  explicit Templates(const engine::NamedTemplates& sources) {
    for (const engine::NamedTemplate& one : sources.all()) {
      const auto [made, added] = compiled_.emplace(one.name, engine::compile_text_template(one.text));
      if (added && !made->second && sources.all().size() == 1) problem_ = &made->second.error();
    }
  }

  /// Returns the template of this name; without a name the one that the engine uses for a chat with or without tools.
  Result<const Compiled*> choose(const std::string& name, bool has_tools) const {
    for (const std::string_view wanted : wanted_names(name, has_tools)) {
      if (const auto found = compiled_.find(wanted); found != compiled_.end()) return &found->second;
    }
    std::string names;
    for (const auto& [known, compiled] : compiled_) names.append(names.empty() ? "" : ", ").append(known);
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("there is no chat template \"{}\" (there are: {})",
                                    name.empty() ? std::string(engine::NamedTemplates::kDefault) : name, names),
                        "--name");
  }
  /// Compile error of a single template, after which no line can be rendered; with several templates a line may use another
  /// one.
  const TemplateProblem* problem() const { return problem_; }

 private:
  static std::vector<std::string_view> wanted_names(const std::string& name, bool has_tools) {
    if (!name.empty()) return {name};
    if (has_tools) return {engine::NamedTemplates::kToolUse, engine::NamedTemplates::kDefault};
    return {engine::NamedTemplates::kDefault};
  }

  std::map<std::string, Compiled, std::less<>> compiled_;
  const TemplateProblem* problem_ = nullptr;
};

bool has_tools(const OrderedJson& variables) {
  const auto tools = variables.find("tools");
  return tools != variables.end() && !tools->is_null();
}

int render_template(const std::vector<std::string>& arguments, Terminal& terminal) {
  CLI::App parser(std::string(kTemplateCommand.help), program_name(kTemplateCommand));
  std::string file, model, name;
  parser.add_option("FILE", file, "File with the template.");
  parser.add_option("--model", model, "Folder of a checkpoint whose template is rendered, with its bos_token and so on.")
      ->type_name("DIR");
  parser.add_option("--name", name,
                    "Name of one of the checkpoint's templates; default: tool_use for a line with tools if there is such a "
                    "template, else default.");
  parser.footer(
      "Each line of stdin is a JSON object with the variables of one rendering: messages, tools, add_generation_prompt and "
      "so on.\nEach line of stdout is {\"text\": ...}, or {\"error\": ..., \"line\": ..., \"column\": ...}, with the "
      "position in the template.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;
  const auto source = read_source(file, model);
  if (!source) return report(terminal, parser, source.error());
  for (const std::string& warning : source->warnings) terminal.err << "Warning: " << printable(warning) << "\n";
  const Templates templates(source->templates);
  const TemplateProblem* problem = templates.problem();
  const int code = answer_lines(terminal, parser, [&](std::string_view line) -> Result<std::string> {
    LATHE_TRY(const OrderedJson variables, variables_of(line, *source));
    LATHE_TRY(const Compiled* compiled, templates.choose(name, has_tools(variables)));
    if (!*compiled) {
      problem = &compiled->error();
      return problem_line(*problem);
    }
    const auto text = (**compiled)->render(variables);
    return text ? engine::dump_json(OrderedJson{{"text", *text}}) : problem_line(text.error());
  });
  if (problem == nullptr || code != kExitDone) return code;
  return report(
      terminal, parser,
      {ErrorCode::model_refused, problem->message, fmt::format("line {}, column {}", problem->line, problem->column)});
}

}  // namespace

extern constexpr Command kTemplateCommand = {
    .name = "template", .help = "Render a chat template with given variables.", .run = render_template};

}  // namespace lathe::app
