// SPDX-License-Identifier: Apache-2.0
// TextTemplate: a chat template rendered with any variables to one text. Engines use ChatTemplate instead, whose spans keep
// users' texts apart from the template's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/api/named_templates.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Error of a template, and its position in the source. Units: line and column from 1; 0: not known.
struct TemplateProblem {
  std::string message;
  int line = 0, column = 0;
};

/// A compiled template. Immutable. Thread: any.
class TextTemplate {
 public:
  virtual ~TextTemplate() = default;
  /// Renders the template. Requires: `variables` is an object; templates see its keys in their order.
  virtual tl::expected<std::string, TemplateProblem> render(const OrderedJson& variables) const = 0;
};

tl::expected<std::unique_ptr<TextTemplate>, TemplateProblem> compile_text_template(std::string source);

/// The templates of a checkpoint, and the texts of the named tokens that templates use: "bos_token", "eos_token"...
struct TemplateSource {
  NamedTemplates templates;
  OrderedJson token_names = OrderedJson::object();
  std::vector<std::string> warnings;  ///< warnings about files that were left out
};
/// Reads a file's text as the default template. Errors: not_found, model_refused.
Result<TemplateSource> read_template_file(const std::string& path);
/// Reads the templates of a checkpoint's folder. Errors: model_refused, also if it has no template.
Result<TemplateSource> read_template_of_model(const std::string& folder);

/// The templates that the option chat_template selects. Empty: the model's. Otherwise one template, as the default: the
/// model's template of that name, the text itself if it is a template, or the text of a file.
/// Errors: not_found with the names of the model's templates; those of read_template_file.
Result<NamedTemplates> choose_templates(const NamedTemplates& of_model, const std::string& option);

}  // namespace lathe::engine
