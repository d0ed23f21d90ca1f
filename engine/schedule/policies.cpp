// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/policies.h"

#include "engine/api/table.h"

namespace lathe::engine {

// THE TABLE of policies, the default first: one file in policies/ and one line here for each.
LATHE_TABLE(PolicyDescriptor, kPolicies,
  kPagedPolicy,
  kStaticPolicy,
  kDynamicPolicy,
  kContinuousPolicy,
);

std::span<const PolicyDescriptor* const> policy_table() { return kPolicies; }

const PolicyDescriptor* find_policy(std::string_view name) {
  for (const PolicyDescriptor* policy : kPolicies) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

}  // namespace lathe::engine
