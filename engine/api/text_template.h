// SPDX-License-Identifier: Apache-2.0
// A chat template as the text that it is: any variables in, one text out. Engines use ChatTemplate, which keeps apart what
// users wrote.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/api/named_templates.h"
#include "engine/api/result.h"

namespace lathe::engine {

/// Why a template gave no text, and where in its source. Units: from 1; 0 is not known.
struct TemplateProblem {
  std::string message;
  int line = 0, column = 0;
};

/// Immutable. Thread: any.
class TextTemplate {
 public:
  virtual ~TextTemplate() = default;
  /// Variables keep the order of their keys. Requires: an object.
  virtual tl::expected<std::string, TemplateProblem> render(const OrderedJson& variables) const = 0;
};

tl::expected<std::unique_ptr<TextTemplate>, TemplateProblem> compile_text_template(std::string source);

/// The templates of a checkpoint, and the texts of its named tokens, which templates use: "bos_token", "eos_token"...
struct TemplateSource {
  NamedTemplates templates;
  OrderedJson token_names = OrderedJson::object();
  std::vector<std::string> warnings;  ///< of files that were left out
};
/// The default of a file, whatever its name. Errors: not_found, model_refused.
Result<TemplateSource> read_template_file(const std::string& path);
/// Of a checkpoint's folder. Errors: model_refused, also when it has none.
Result<TemplateSource> read_template_of_model(const std::string& folder);

/// The templates that the option chat_template means: those of the model when it is empty; else one as the default, which is
/// named among the model's, is a file, or is the text of a template itself. Errors: not_found with the names there are, and
/// those of reading the file.
Result<NamedTemplates> choose_templates(const NamedTemplates& of_model, const std::string& option);

}  // namespace lathe::engine
