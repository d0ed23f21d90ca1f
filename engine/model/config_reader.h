// SPDX-License-Identifier: Apache-2.0
// ConfigReader: the fields of config.json, and the list of settings that a checkpoint needs and its family does not support.
#pragma once

#include "engine/base/json_field_reader.h"

namespace lathe::engine {

class ConfigReader : public JsonFieldReader {
 public:
  using JsonFieldReader::JsonFieldReader;

  bool is_list(std::string_view key) const;
  /// A switch, which some files give as a number.
  bool switch_or(std::string_view key, bool fallback);

  /// Records every setting that changes the arithmetic and that no read_config() has read.
  void note_unread_knobs();
};

}  // namespace lathe::engine
