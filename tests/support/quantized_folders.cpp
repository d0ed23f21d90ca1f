// SPDX-License-Identifier: Apache-2.0
#include "tests/support/quantized_folders.h"

#include <cstring>

#include "tests/support/safetensors_bytes.h"

namespace lathe::tests {

using engine::Json;

QuantizedCopy::QuantizedCopy(std::string_view name) {
  for (const char* file : {"/config.json", "/model.safetensors"}) {
    write_file(path() + file, read_file(quantized_path(name) + file));
  }
}

void QuantizedCopy::edit(const std::function<void(Json&)>& change) const {
  Json config = read_json_file(path() + "/config.json");
  change(config["quantization_config"]);
  write_file(path() + "/config.json", config.dump());
}

void QuantizedCopy::edit_header(const std::function<void(Json&)>& change) const {
  Weights weights = read();
  change(weights.header);
  write(weights);
}

std::string QuantizedCopy::data_of(const std::string& tensor) const {
  const Weights weights = read();
  const Json& offsets = weights.header.at(tensor).at("data_offsets");
  const auto begin = offsets[0].get<std::size_t>();
  return weights.data.substr(begin, offsets[1].get<std::size_t>() - begin);
}

void QuantizedCopy::edit_data(const std::string& tensor, std::size_t offset, const std::string& bytes) const {
  Weights weights = read();
  weights.data.replace(weights.header.at(tensor).at("data_offsets")[0].get<std::size_t>() + offset, bytes.size(), bytes);
  write(weights);
}

QuantizedCopy::Weights QuantizedCopy::read() const {
  const std::string bytes = read_file(path() + "/model.safetensors");
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  return {Json::parse(bytes.substr(sizeof n_header, n_header)), bytes.substr(sizeof n_header + n_header)};
}

void QuantizedCopy::write(const Weights& weights) const {
  const std::string header = weights.header.dump();
  write_file(path() + "/model.safetensors", length_prefix(header.size()) + header + weights.data);
}

}  // namespace lathe::tests
