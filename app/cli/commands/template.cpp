// SPDX-License-Identifier: Apache-2.0
// lathe template: renders a chat template with given variables.
#include <fmt/format.h>

#include "app/cli/json_lines.h"
#include "app/cli/model_command.h"
#include "engine/api/text_template.h"

namespace lathe::app {
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

/// The variables of a line, over the names of the model's tokens.
Result<OrderedJson> variables_of(std::string_view line, const TemplateSource& source) {
  LATHE_TRY(OrderedJson variables, engine::parse_ordered_json(line, ""));
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

int render_template(const std::vector<std::string>& arguments, Terminal& terminal) {
  CLI::App parser(std::string(kTemplateCommand.help), program_name(kTemplateCommand));
  std::string file, model;
  parser.add_option("FILE", file, "The template.");
  parser.add_option("--model", model, "Folder of a checkpoint whose template it is; its bos_token and the like are set.")
      ->type_name("DIR");
  parser.footer(
      "Each line of stdin is a JSON object, the variables of one rendering: messages, tools, add_generation_prompt...\n"
      "Each line of stdout is {\"text\": ...}, or {\"error\": ..., \"line\": ..., \"column\": ...}, the place in the "
      "template.");
  if (const auto code = parse(parser, arguments, terminal)) return *code;
  const auto source = read_source(file, model);
  if (!source) return report(terminal, parser, source.error());
  const auto compiled = engine::compile_text_template(source->text);
  const int code = answer_lines(terminal, parser, [&](std::string_view line) -> Result<std::string> {
    LATHE_TRY(const OrderedJson variables, variables_of(line, *source));
    if (!compiled) return problem_line(compiled.error());
    const auto text = (*compiled)->render(variables);
    return text ? engine::dump_json(OrderedJson{{"text", *text}}) : problem_line(text.error());
  });
  if (compiled || code != kExitDone) return code;
  const TemplateProblem& problem = compiled.error();
  return report(
      terminal, parser,
      {ErrorCode::model_refused, problem.message, fmt::format("line {}, column {}", problem.line, problem.column)});
}

}  // namespace

constexpr Command kTemplateCommand = {
    .name = "template", .help = "Render a chat template with given variables.", .run = render_template};

}  // namespace lathe::app
