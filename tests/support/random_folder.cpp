// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_folder.h"

#include <filesystem>
#include <vector>

#include "engine/load/safetensors_writer.h"
#include "engine/model/random_checkpoint.h"
#include "kernels/api/check.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {

void write_random_folder(const std::string& folder, const engine::Json& config) {
  const auto model = engine::read_model_config(config);
  LATHE_CHECK(model.has_value());
  const auto checkpoint = engine::random_checkpoint(*model, "random");
  LATHE_CHECK(checkpoint.has_value());
  std::vector<engine::WrittenTensor> tensors;
  for (const engine::StoredTensor& tensor : checkpoint->tensors()) {
    tensors.push_back({tensor.name, *tensor.type->dtype, tensor.shape});
  }
  std::filesystem::create_directory(folder);
  write_file(folder + "/config.json", config.dump());
  auto writer = engine::create_safetensors(folder + "/model.safetensors", tensors);
  LATHE_CHECK(writer.has_value());
  for (const engine::StoredTensor& tensor : checkpoint->tensors()) LATHE_CHECK(writer->write(tensor.bytes).has_value());
  LATHE_CHECK(writer->finish().has_value());
}

}  // namespace lathe::tests
