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
    {"$defs", note},
    {"definitions", note},
    {"$schema", note},
    {"$id", note},
    {"$anchor", note},
    {"$comment", note},
    {"$vocabulary", note},
    {"id", note},
    {"title", note},
    {"description", note},
    {"default", note},
    {"examples", note},
    {"example", note},
    {"deprecated", note},
    {"readOnly", note},
    {"writeOnly", note},
    {"discriminator", note},
    {"externalDocs", note},
    {"xml", note},
    {"contentMediaType", note},
    {"contentEncoding", note},
    {"contentSchema", note},
    {"errorMessage", note},
    {"markdownDescription", note},
    {"enumDescriptions", note},
    {"enumNames", note},
    {"propertyOrdering", note},
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
