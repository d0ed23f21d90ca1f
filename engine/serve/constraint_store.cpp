// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/constraint_store.h"

#include <random>

#include "engine/api/answer_parser.h"
#include "engine/api/structured_outputs.h"

namespace lathe::engine {
namespace {

std::uint64_t drawn_salt() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

/// Tokens that are markers of any format of tool calls.
std::vector<std::int32_t> marker_ids(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  for (const std::string_view format : tool_call_format_names()) {
    for (const AnswerMarker& marker : answer_markers({.tool_calls = std::string(format), .reasoning = {}}, tokenizer))
      ids.push_back(marker.id);
  }
  return ids;
}

}  // namespace

Result<void> check_structured_outputs(std::string_view text) {
  const auto constraint = grammar::compile_constraint(text);
  if (!constraint) return tl::unexpected(constraint.error());
  return {};
}

ConstraintStore::ConstraintStore(const Tokenizer& tokenizer, std::int64_t n_logits)
    : tokenizer_(&tokenizer), n_logits_(n_logits), salt_(drawn_salt()) {}

Result<ReadyConstraint> ConstraintStore::get(const std::string& text) {
  std::call_once(made_vocabulary_, [this] {
    parts_ = {std::make_shared<const grammar::Vocabulary>(*tokenizer_, n_logits_, marker_ids(*tokenizer_)),
              std::make_shared<grammar::TokenSetCache>()};
  });
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = index_.find(text); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return ReadyConstraint{found->second->constraint, parts_, true};
    }
  }
  grammar::GrammarLimits limits;
  limits.salt = salt_;
  LATHE_TRY(grammar::Constraint made, grammar::compile_constraint(text, limits));
  const std::lock_guard lock(mutex_);
  if (!index_.contains(text)) {
    entries_.push_front({text, made});
    index_[text] = entries_.begin();
    n_bytes_ += entries_.front().n_bytes();
  }
  while (n_bytes_ > kMaxBytes && entries_.size() > 1) {
    n_bytes_ -= entries_.back().n_bytes();
    index_.erase(entries_.back().text);
    entries_.pop_back();
  }
  return ReadyConstraint{std::move(made), parts_, false};
}

}  // namespace lathe::engine
