// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/policies.h"

#include <array>

namespace lathe::engine {

extern const PolicyDescriptor kPagedPolicy;
extern const PolicyDescriptor kStaticPolicy;
extern const PolicyDescriptor kDynamicPolicy;
extern const PolicyDescriptor kContinuousPolicy;

namespace {
constexpr std::array<const PolicyDescriptor*, 4> kPolicies{
    &kPagedPolicy,
    &kStaticPolicy,
    &kDynamicPolicy,
    &kContinuousPolicy,
};
}  // namespace

std::span<const PolicyDescriptor* const> policy_table() { return kPolicies; }

const PolicyDescriptor* find_policy(std::string_view name) {
  for (const PolicyDescriptor* policy : kPolicies) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

}  // namespace lathe::engine
