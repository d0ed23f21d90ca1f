// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tiny_model.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/api/check.h"
#include "tests/support/shared_data.h"

namespace lathe::tests {

std::string tiny_model_path(std::string_view name) { return source_path("tests/fixtures/models/" + std::string(name)); }

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  LATHE_CHECK(stream.is_open());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::string_view content) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  LATHE_CHECK(stream.good());
}

engine::Json read_json_file(const std::string& path) {
  auto json = engine::parse_json(read_file(path), path);
  LATHE_CHECK(json.has_value());
  return std::move(*json);
}

TinyModelCopy::TinyModelCopy(std::string_view name) {
  LATHE_CHECK(folder_.isValid());
  std::filesystem::copy(tiny_model_path(name), path(), std::filesystem::copy_options::recursive);
}

void TinyModelCopy::edit(std::string_view name, const std::function<void(engine::Json&)>& change) const {
  engine::Json json = read_json_file(file(name));
  change(json);
  write_file(file(name), engine::dump_json(json));
}

void TinyModelCopy::set_config(std::string_view key, engine::Json value) const {
  edit("config.json", [&](engine::Json& config) { config[std::string(key)] = std::move(value); });
}

}  // namespace lathe::tests
