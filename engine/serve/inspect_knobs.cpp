// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "engine/api/model_knobs.h"
#include "engine/api/tokenizer.h"
#include "engine/model/model_knobs.h"
#include "engine/serve/opened_model.h"

namespace lathe::engine {

Result<OrderedJson> model_knobs(const std::string& path, const std::string& tokenizer) {
  LATHE_TRY(const OpenedModel model, open_model(path, ModelUse::inspect));
  OrderedJson knobs = knobs_of(model.config);
  const auto opened = open_tokenizer(tokenizer.empty() ? path : tokenizer);
  if (opened && (*opened)->bos_id()) knobs["bos_id"] = *(*opened)->bos_id();
  knobs["adds_bos"] = opened ? OrderedJson((*opened)->adds_bos()) : OrderedJson();
  // Joined as in the engine: config.json, generation_config.json and the tokenizer.
  std::vector<std::int32_t> ends = model.info.eos_ids;
  if (opened) ends.insert(ends.end(), (*opened)->eos_ids().begin(), (*opened)->eos_ids().end());
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  knobs["eos_ids"] = ends;
  knobs["suppressed_ids"] = model.generation.suppressed_ids;
  return knobs;
}

}  // namespace lathe::engine
