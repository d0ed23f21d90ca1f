// SPDX-License-Identifier: Apache-2.0
#include "engine/api/text_template.h"

#include <fmt/format.h>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/to_json.h"
#include "engine/text/template/interpreter.h"
#include "engine/text/template/syntax/parser.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxTextTemplateBytes = 1u << 20;

TemplateProblem problem_of(const jinja::Failure& failure) {
  return {failure.message(), failure.at().line, failure.at().column};
}

class CompiledTextTemplate final : public TextTemplate {
 public:
  explicit CompiledTextTemplate(jinja::Body body) : body_(std::move(body)) {}

  tl::expected<std::string, TemplateProblem> render(const OrderedJson& variables) const override {
    try {
      jinja::Variables given;
      for (const auto& [name, value] : variables.items()) {
        given.emplace_back(name, jinja::from_json(value, jinja::Source::model));
      }
      return jinja::render(body_, std::move(given), jinja::Limits{}).text();
    } catch (const jinja::Failure& failure) {
      return tl::unexpected(problem_of(failure));
    } catch (const std::bad_alloc&) {
      return tl::unexpected(TemplateProblem{"not enough memory to render the template"});
    }
  }

 private:
  jinja::Body body_;
};

}  // namespace

tl::expected<std::unique_ptr<TextTemplate>, TemplateProblem> compile_text_template(std::string source) {
  if (source.size() > kMaxTextTemplateBytes) {
    return tl::unexpected(
        TemplateProblem{fmt::format("{} bytes, more than the {} allowed", source.size(), kMaxTextTemplateBytes)});
  }
  if (!is_valid_utf8(source)) return tl::unexpected(TemplateProblem{"the template is not UTF-8"});
  try {
    return std::make_unique<CompiledTextTemplate>(jinja::parse_template(source));
  } catch (const jinja::Failure& failure) {
    return tl::unexpected(problem_of(failure));
  }
}

}  // namespace lathe::engine
