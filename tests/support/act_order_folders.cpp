// SPDX-License-Identifier: Apache-2.0
#include "tests/support/act_order_folders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <vector>

#include "engine/api/json.h"
#include "kernels/api/dtype.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

namespace lathe::tests {
namespace {

using engine::Json;

constexpr std::int64_t kGroup = 32, kPerWord = 8;
constexpr std::array<std::string_view, 12> kMatrices = {"q_proj",    "k_proj",   "v_proj",       "o_proj",
                                                        "gate_proj", "up_proj",  "down_proj",    "w1",
                                                        "w2",        "qkv_proj", "gate_up_proj", "w3"};

/// A file in the making.
class Writer {
 public:
  void add(const std::string& name, const Json& dtype, const Json& shape, std::string_view bytes) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
  }
  template <class T>
  void add(const std::string& name, const char* dtype, const std::vector<std::int64_t>& shape,
           const std::vector<T>& values) {
    add(name, dtype, Json(shape), {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  void write(const std::string& folder, const Json& config) const {
    std::filesystem::create_directories(folder);
    const std::string header = header_.dump();
    write_file(folder + "/model.safetensors", length_prefix(header.size()) + header + data_);
    write_file(folder + "/config.json", config.dump());
  }

 private:
  Json header_;
  std::string data_;
};

struct Matrix {
  std::int64_t n, k;
  std::vector<float> weights;
};

Matrix matrix_of(const Json& tensor, std::string_view bytes) {
  Matrix matrix{tensor.at("shape")[0].get<std::int64_t>(), tensor.at("shape")[1].get<std::int64_t>(), {}};
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + i, sizeof half);
    matrix.weights.push_back(kernels::bf16_to_f32(half));
  }
  return matrix;
}

/// The group of each input: the places of a random order are cut into groups.
std::vector<std::int32_t> mixed_groups(std::int64_t k, kernels::RandomNumbers& random) {
  std::vector<std::int32_t> groups(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / kGroup);
  for (std::size_t i = groups.size(); i > 1; --i) {
    std::swap(groups[i - 1], groups[static_cast<std::size_t>(random.below(static_cast<std::int32_t>(i)))]);
  }
  return groups;
}

/// Rounds a matrix to codes and writes it both ways. Source of the formulas: engine/load/quantized/gptq.cpp's.
void add_matrix(const std::string& name, const Matrix& matrix, const std::vector<std::int32_t>& group_of, int zero_offset,
                Writer& codes, Writer& numbers) {
  const std::int64_t n = matrix.n, k = matrix.k, n_groups = (k + kGroup - 1) / kGroup;
  std::vector<std::uint32_t> qweight(static_cast<std::size_t>(k / kPerWord * n)),
      qzeros(static_cast<std::size_t>(n_groups * (n / kPerWord)));
  std::vector<std::uint16_t> scales(static_cast<std::size_t>(n_groups * n));
  std::vector<float> values(matrix.weights.size());
  for (std::int64_t r = 0; r < n; ++r) {
    const float* const row = matrix.weights.data() + r * k;
    for (std::int32_t group = 0; group < n_groups; ++group) {
      float least = 0, most = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        if (group_of[static_cast<std::size_t>(i)] != group) continue;
        least = std::min(least, row[i]);
        most = std::max(most, row[i]);
      }
      const std::uint16_t half = kernels::f32_to_f16(std::max((most - least) / 15, 1e-4F));
      const float scale = kernels::f16_to_f32(half);
      const auto zero = static_cast<std::uint32_t>(std::clamp(std::round(-least / scale), 0.0F, 15.0F));
      scales[static_cast<std::size_t>(group * n + r)] = half;
      qzeros[static_cast<std::size_t>(group * (n / kPerWord) + r / kPerWord)] |=
          ((zero - static_cast<std::uint32_t>(zero_offset)) & 15U) << (r % kPerWord * 4);
      for (std::int64_t i = 0; i < k; ++i) {
        if (group_of[static_cast<std::size_t>(i)] != group) continue;
        const float code = std::clamp(std::round(row[i] / scale) + static_cast<float>(zero), 0.0F, 15.0F);
        qweight[static_cast<std::size_t>(i / kPerWord * n + r)] |= static_cast<std::uint32_t>(code) << (i % kPerWord * 4);
        values[static_cast<std::size_t>(r * k + i)] = (code - static_cast<float>(zero)) * scale;
      }
    }
  }
  codes.add(name + ".qweight", "I32", {k / kPerWord, n}, qweight);
  codes.add(name + ".qzeros", "I32", {n_groups, n / kPerWord}, qzeros);
  codes.add(name + ".scales", "F16", {n_groups, n}, scales);
  codes.add(name + ".g_idx", "I32", {k}, group_of);
  numbers.add(name + ".weight", "F32", {n, k}, values);
}

}  // namespace

std::string what_it_reads(const std::string& matrix) {
  const std::size_t dot = matrix.rfind('.');
  const std::string last = matrix.substr(dot + 1);
  const bool reads_the_layer = last != "o_proj" && last != "down_proj" && last != "w2";
  return reads_the_layer ? matrix.substr(0, dot) : matrix;
}

ActOrderFolders::ActOrderFolders(std::string_view family, const ActOrder& order) {
  const std::string from = source_path("tests/fixtures/families/" + std::string(family));
  const std::string file = read_file(from + "/model.safetensors");
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, file.data(), sizeof n_header);
  const Json header = Json::parse(file.substr(sizeof n_header, n_header));
  const std::string_view data = std::string_view(file).substr(sizeof n_header + n_header);
  Writer codes, numbers;
  kernels::RandomNumbers random(1);
  std::map<std::string, std::vector<std::int32_t>> groups;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = tensor.at("data_offsets")[0].get<std::size_t>(),
               end = tensor.at("data_offsets")[1].get<std::size_t>();
    const std::string_view bytes = data.substr(begin, end - begin);
    const std::string matrix = name.ends_with(".weight") ? name.substr(0, name.size() - 7) : name;
    if (std::find(kMatrices.begin(), kMatrices.end(), matrix.substr(matrix.rfind('.') + 1)) == kMatrices.end()) {
      for (Writer* writer : {&codes, &numbers}) writer->add(name, tensor.at("dtype"), tensor.at("shape"), bytes);
      continue;
    }
    const Matrix weights = matrix_of(tensor, bytes);
    std::vector<std::int32_t>& of_input = groups[order.reads(matrix)];
    if (of_input.empty()) of_input = mixed_groups(weights.k, random);
    add_matrix(matrix, weights, of_input, order.zero_offset, codes, numbers);
  }
  Json config = read_json_file(from + "/config.json");
  for (const char* n_experts : {"num_local_experts", "num_experts"}) {
    if (config.contains(n_experts)) config["num_experts_per_tok"] = config[n_experts];
  }
  numbers.write(this->numbers(), config);
  config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}, {"group_size", kGroup}, {"desc_act", true}};
  if (order.zero_offset == 0) config["quantization_config"]["checkpoint_format"] = "gptq_v2";
  codes.write(this->codes(), config);
}

}  // namespace lathe::tests
