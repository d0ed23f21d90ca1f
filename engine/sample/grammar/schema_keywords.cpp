// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/schema_keywords.h"

#include <algorithm>
#include <iterator>

namespace lathe::engine::grammar {
namespace {

using enum KeywordFate;

constexpr SchemaKeyword kKeywords[] = {
    {"type", enforced},
    {"enum", enforced},
    {"const", enforced},
    {"nullable", enforced},
    {"anyOf", enforced},
    {"oneOf", enforced},
    {"allOf", enforced},
    {"$ref", enforced},
    {"properties", enforced, "object"},
    {"required", enforced, "object"},
    {"additionalProperties", enforced, "object"},
    {"patternProperties", enforced, "object"},
    {"propertyNames", enforced, "object"},
    {"minProperties", enforced, "object"},
    {"maxProperties", enforced, "object"},
    {"unevaluatedProperties", enforced, "object"},
    {"items", enforced, "array"},
    {"prefixItems", enforced, "array"},
    {"additionalItems", enforced, "array"},
    {"unevaluatedItems", enforced, "array"},
    {"minItems", enforced, "array"},
    {"maxItems", enforced, "array"},
    {"minLength", enforced, "string"},
    {"maxLength", enforced, "string"},
    {"pattern", enforced, "string"},
    {"format", enforced},
    {"minimum", enforced, "number"},
    {"maximum", enforced, "number"},
    {"exclusiveMinimum", enforced, "number"},
    {"exclusiveMaximum", enforced, "number"},
    {"multipleOf", enforced, "number"},
    {"$defs", annotation},
    {"definitions", annotation},
    {"$schema", annotation},
    {"$id", annotation},
    {"$anchor", annotation},
    {"$comment", annotation},
    {"$vocabulary", annotation},
    {"id", annotation},
    {"title", annotation},
    {"description", annotation},
    {"default", annotation},
    {"examples", annotation},
    {"example", annotation},
    {"deprecated", annotation},
    {"readOnly", annotation},
    {"writeOnly", annotation},
    {"discriminator", annotation},
    {"externalDocs", annotation},
    {"xml", annotation},
    {"contentMediaType", annotation},
    {"contentEncoding", annotation},
    {"contentSchema", annotation},
    {"errorMessage", annotation},
    {"markdownDescription", annotation},
    {"enumDescriptions", annotation},
    {"enumNames", annotation},
    {"propertyOrdering", annotation},
    {"not", refused},
    {"if", refused},
    {"then", refused},
    {"else", refused},
    {"uniqueItems", refused, "array"},
    {"contains", refused, "array"},
    {"minContains", refused, "array"},
    {"maxContains", refused, "array"},
    {"dependentRequired", refused, "object"},
    {"dependentSchemas", refused, "object"},
    {"dependencies", refused, "object"},
    {"$dynamicRef", refused},
    {"$dynamicAnchor", refused},
    {"$recursiveRef", refused},
    {"$recursiveAnchor", refused},
};

}  // namespace

std::span<const SchemaKeyword> schema_keywords() { return kKeywords; }

const SchemaKeyword* find_keyword(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKeywords), std::end(kKeywords), [&](const SchemaKeyword& one) { return one.name == name; });
  return found == std::end(kKeywords) ? nullptr : found;
}

}  // namespace lathe::engine::grammar
