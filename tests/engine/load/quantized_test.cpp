// SPDX-License-Identifier: Apache-2.0
// Quantized matrices in folders of safetensors: their numbers, whether their codes are kept, and what is refused.
#include <QCryptographicHash>
#include <QTest>
#include <algorithm>

#include "engine/load/loaders.h"
#include "engine/load/quantization_scheme.h"
#include "kernels/api/rounded_tensor.h"
#include "tests/support/quantized_folders.h"
#include "tests/support/test_class.h"

namespace quantized_test {

using namespace lathe;
using namespace lathe::tests;
using engine::Json;

namespace {

constexpr std::string_view kGate = "model.layers.0.mlp.gate_proj";

engine::Checkpoint open(const std::string& path) {
  auto checkpoint = engine::open_checkpoint(engine::ModelFolder::open(path).value());
  if (!checkpoint) std::fprintf(stderr, "%s: %s\n", checkpoint.error().where.c_str(), checkpoint.error().message.c_str());
  return std::move(checkpoint.value());
}

std::string refusal_of(const QuantizedCopy& folder) {
  const auto checkpoint = engine::open_checkpoint(engine::ModelFolder::open(folder.path()).value());
  return checkpoint ? "was accepted" : checkpoint.error().where + ": " + checkpoint.error().message;
}

template <class T>
std::string sha256(std::span<const T> numbers) {
  const QByteArray bytes(reinterpret_cast<const char*>(numbers.data()), static_cast<qsizetype>(numbers.size_bytes()));
  return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString();
}

/// SHA-256 of the numbers as the package computes them, rounded once to its type.
std::string sha256_in(const std::string& dtype, std::span<const float> numbers) {
  if (dtype == "float32") return sha256(numbers);
  std::vector<std::uint16_t> rounded(numbers.size());
  const auto round = dtype == "float16" ? &kernels::f32_to_f16 : &kernels::f32_to_bf16;
  std::transform(numbers.begin(), numbers.end(), rounded.begin(), round);
  return sha256(std::span<const std::uint16_t>(rounded));
}

/// A row whose places in the files are `order`; empty: as it is.
std::vector<float> in_file_order(const std::vector<float>& row, const std::vector<std::int32_t>& order) {
  std::vector<float> sorted = row;
  for (std::size_t i = 0; i < order.size(); ++i) sorted[static_cast<std::size_t>(order[i])] = row[i];
  return sorted;
}

}  // namespace

class QuantizedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void numbers_are_those_of_the_packages_data() { add_quantized_folders(); }
  void numbers_are_those_of_the_packages();
  void codes_are_kept_where_a_format_has_them_data() { add_quantized_folders(); }
  void codes_are_kept_where_a_format_has_them();
  void groups_lie_together_in_the_order_of_inputs();
  void uneven_groups_become_numbers();
  void every_scheme_has_a_folder();
  void settings_that_are_not_there_are_refused_data();
  void settings_that_are_not_there_are_refused();
  void tensors_that_do_not_fit_are_refused_data();
  void tensors_that_do_not_fit_are_refused();
  void groups_that_are_not_there_are_refused();
  void blocks_that_do_not_fit_are_refused();
  void sizes_that_files_tell_are_not_believed();
  void codes_with_other_scales_become_numbers();
  void a_config_of_its_own_is_found();
  void what_transformers_writes_beside_is_taken();
  void a_packing_has_other_names();
};

/// Bit by bit: those of the published formulas, and in the type in which the package computes those that it gave.
void QuantizedTest::numbers_are_those_of_the_packages() {
  QFETCH(QString, name);
  const std::string path = quantized_path(name.toStdString());
  const engine::Checkpoint checkpoint = open(path);
  const Json expected = read_json_file(path + "/expected.json");
  for (const auto& [tensor, want] : expected.items()) {
    const engine::StoredTensor* stored = checkpoint.find(tensor);
    QVERIFY2(stored != nullptr && stored->coded != nullptr, tensor.c_str());
    std::vector<std::byte> memory;
    const kernels::TensorView view = view_of(*stored, memory);
    const std::span<const float> numbers(view.as<float>(), view.n_bytes() / sizeof(float));
    for (std::size_t i = 0; i < 4; ++i) QCOMPARE(numbers[i], want["first"][i].get<float>());
    QCOMPARE(sha256(numbers), want["sha256"].get<std::string>());
    if (!want.contains("package")) continue;  // it has no way back but kernels of GPUs; it packed then
    const Json& package = want["package"];
    QCOMPARE(sha256_in(package["dtype"], numbers), package["sha256"].get<std::string>());
  }
}

void QuantizedTest::codes_are_kept_where_a_format_has_them() {
  QFETCH(QString, name);
  QFETCH(QString, kept);
  const engine::Checkpoint checkpoint = open(quantized_path(name.toStdString()));
  bool are_all_kept = true;
  for (const engine::StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.coded == nullptr) continue;
    are_all_kept = are_all_kept && !formats_of(tensor).empty();
    std::vector<std::byte> memory, blocks;
    const kernels::TensorView want = view_of(tensor, memory);
    for (const kernels::WeightFormat format : formats_of(tensor)) {
      const kernels::RoundedTensor rounded(format, blocks_of(tensor, format, blocks), {});
      std::vector<float> row(static_cast<std::size_t>(want.dim(1)));
      for (std::int64_t r = 0; r < want.dim(0); ++r) {
        rounded.row(r, row);
        row = in_file_order(row, engine::input_order(*tensor.coded));
        QVERIFY(std::memcmp(row.data(), want.row<float>(r), row.size() * sizeof(float)) == 0);
      }
    }
  }
  QCOMPARE(are_all_kept, !kept.isEmpty());
}

/// As desc_act leaves them: the groups of a matrix have its inputs here and there, each as many as the others.
void QuantizedTest::groups_lie_together_in_the_order_of_inputs() {
  const engine::Checkpoint checkpoint = open(quantized_path("gptq-4bit-desc-act"));
  const engine::CodedTensor& coded = *checkpoint.find(std::string(kGate) + ".weight")->coded;
  const std::vector<std::int32_t> order = engine::input_order(coded);
  QCOMPARE(std::ssize(order), coded.k);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::int32_t before = coded.group_of[static_cast<std::size_t>(order[i - 1])];
    const std::int32_t own = coded.group_of[static_cast<std::size_t>(order[i])];
    QVERIFY(before < own || (before == own && order[i - 1] < order[i]));
    QCOMPARE(own, static_cast<std::int32_t>(i) / 32);
  }
  QVERIFY(!std::is_sorted(order.begin(), order.end()));
  QVERIFY(engine::input_order(*open(quantized_path("gptq-4bit")).find(std::string(kGate) + ".weight")->coded).empty());
}

/// One input more in a group than in the other: no format has such groups.
void QuantizedTest::uneven_groups_become_numbers() {
  const QuantizedCopy folder("gptq-4bit-desc-act");
  const auto gate = [&] { return *open(folder.path()).find(std::string(kGate) + ".weight"); };
  QVERIFY(!formats_of(gate()).empty() && has_even_groups(*gate().coded));
  const std::int32_t other = 1 - gate().coded->group_of[0];
  folder.edit_data(std::string(kGate) + ".g_idx", 0, std::string(reinterpret_cast<const char*>(&other), sizeof other));
  QVERIFY(formats_of(gate()).empty() && !has_even_groups(*gate().coded));
}

void QuantizedTest::every_scheme_has_a_folder() {
  for (const engine::QuantizationScheme* scheme : engine::quantization_schemes()) {
    const bool has_one = std::any_of(kQuantizedFolders.begin(), kQuantizedFolders.end(), [&](const QuantizedFolder& folder) {
      const Json config = read_json_file(quantized_path(folder.name) + "/config.json");
      return config["quantization_config"]["quant_method"] == scheme->method;
    });
    QVERIFY2(has_one, std::string(scheme->method).c_str());
  }
}

void QuantizedTest::settings_that_are_not_there_are_refused_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::addColumn<QString>("refusal");
  const auto row = [](const char* name, const char* key, const char* value, const char* refusal) {
    QTest::addRow("%s %s %s", name, key, value) << name << key << value << refusal;
  };
  row("gptq-4bit", "quant_method", R"("quip")", "weights quantized by \"quip\" (known: gptq");
  row("gptq-4bit", "quant_method", "null", "missing: quant_method");
  row("gptq-4bit", "bits", "3", "asks for features that are not supported: codes of 3 bits (bits)");
  row("gptq-4bit", "bits", "null", "missing: bits");
  row("gptq-4bit", "bits", R"("4")", "bits: got \"4\", expected an integer");
  row("gptq-4bit", "group_size", "0", "group_size: got 0");
  row("gptq-4bit", "group_size", "-7", "group_size: got -7");
  row("gptq-4bit", "checkpoint_format", R"("bitblas")",
      "the packing \"bitblas\" (checkpoint_format; known: gptq, gptq_v2, ma");
  row("gptq-4bit", "is_marlin_format", "true", "says gptq, but no tensor is quantized that way");
  row("gptq-marlin", "bits", "8", "codes of 8 bits in Marlin's tiles (bits)");
  row("gptq-marlin", "desc_act", "true", "activation order in Marlin's tiles (desc_act)");
  row("gptq-marlin", "sym", "false", "zero points in Marlin's tiles (sym)");
  row("gptq-4bit", "pack_dtype", R"("int16")", "words of another size (pack_dtype)");
  row("gptq-4bit", "dynamic", R"({"+:.*down.*": {"bits": 8}})", "other settings for some modules (dynamic: +:.*down.*)");
  row("gptq-4bit", "rotation", R"("hadamard")", "an unknown setting (rotation)");
  row("awq", "bits", "8", "codes of 8 bits (bits)");
  row("awq", "group_size", "null", "missing: group_size");
  row("awq", "zero_point", "false", "codes without zero points in the packing gemm (zero_point)");
  row("awq-marlin", "zero_point", "true", "codes with zero points in the packing marlin (zero_point)");
  row("awq", "version", R"("exllama")", "the packing \"exllama\" (version; known: gemm, gemv, gemv_fast, marlin)");
  row("awq", "backend", R"("llm-awq")", "the packing \"llm-awq\" (version");
  row("awq", "pack_dtype", R"("int16")", "words of another size (pack_dtype)");
  row("awq", "dynamic", R"({"+:.*down.*": {"bits": 8}})", "other settings for some modules (dynamic)");
  row("awq", "scale_bits", "8", "an unknown setting (scale_bits)");
  row("compressed-w8a8", "format", R"("nvfp4-pack-quantized")", "the format \"nvfp4-pack-quantized\" (format)");
  row("compressed-w8a8", "config_groups", "{}", "missing: what is quantized");
  row("compressed-w8a8", "config_groups/group_0", "[]", "config_groups.group_0: must be an object");
  row("compressed-w8a8", "config_groups/group_0/weights", "null", "group_0: weights: missing");
  row("compressed-w8a8", "config_groups/group_0/weights/num_bits", "4", "int weights of 4 bits in the format int-quantized");
  row("compressed-w8a8", "config_groups/group_0/weights/type", R"("posit")", "posit weights of 8 bits");
  row("compressed-w8a8", "config_groups/group_0/weights/strategy", R"("attn_head")", "(strategy attn_head, group_size 0)");
  row("compressed-w8a8", "config_groups/group_0/weights/dynamic", "true", "found while the model runs (dynamic)");
  row("compressed-w8a8", "config_groups/group_0/weights/wing", "1", "an unknown setting (wing)");
  row("compressed-w8a8", "config_groups/group_0/output_activations", R"({"num_bits": 8})", "rounded outputs");
  row("compressed-w8a8", "config_groups/group_1", R"({"weights": {"num_bits": 4}})",
      "group_1: asks for features that are not supported");
  row("compressed-w8a8", "sparsity_config", R"({"format": "sparse-24-bitmask"})", "left out (sparsity_config)");
  row("compressed-w8a8", "transform_config", R"({"config_groups": {"R1": {}}})", "transforms of activations");
  row("compressed-fp8", "config_groups/group_0/weights/num_bits", "4", "float weights of 4 bits");
  row("compressed-w4a16", "config_groups/group_0/weights",
      R"({"num_bits": 4, "strategy": "block", "block_structure": [8, 16]})",
      "packed codes with scales of blocks (strategy block, block_structure [8, 16])");
  row("compressed-marlin-24", "config_groups/group_0/weights/symmetric", "false",
      "not supported: zero points in marlin-24 (symmetric)");
  row("compressed-marlin-24", "config_groups/group_0/weights/actorder", R"("group")",
      "not supported: activation order in marlin-24 (actorder)");
  row("compressed-marlin-24", "config_groups/group_0/weights/strategy", R"("tensor")",
      "not supported: scales that rows share in marlin-24 (strategy)");
  row("fp8", "activation_scheme", R"("sometimes")", "another scaling of activations (activation_scheme sometimes)");
  row("fp8", "fmt", R"("e5m2")", "other number formats than e4m3 (fmt)");
  row("fp8-block", "weight_block_size", "[48]", "got 1 sizes, expected the number of rows and of columns");
  row("fp8-block", "weight_block_size", "[0, 32]", "weight_block_size: got 0");
  row("bnb-8bit", "llm_int8_has_fp16_weight", "true", "16-bit weights in addition to the codes");
  row("mxfp4", "rotation", R"("hadamard")", "an unknown setting (rotation)");
  row("bnb-nf4", "llm_int8_threshold", R"("six")", "llm_int8_threshold: got \"six\"");
}

void QuantizedTest::settings_that_are_not_there_are_refused() {
  QFETCH(QString, name);
  QFETCH(QString, key);
  QFETCH(QString, value);
  QFETCH(QString, refusal);
  const QuantizedCopy folder(name.toStdString());
  folder.edit([&](Json& config) { config[Json::json_pointer("/" + key.toStdString())] = Json::parse(value.toStdString()); });
  const std::string got = refusal_of(folder);
  QVERIFY2(got.starts_with("config.json: quantization_config"), got.c_str());
  QVERIFY2(got.find(refusal.toStdString()) != std::string::npos, got.c_str());
}

void QuantizedTest::tensors_that_do_not_fit_are_refused_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<QString>("part");
  QTest::addColumn<QString>("shape");
  QTest::addColumn<QString>("type");
  QTest::addColumn<QString>("refusal");
  const auto row = [](const char* name, const char* part, const char* shape, const char* type, const char* refusal) {
    QTest::addRow("%s %s %s %s", name, part, shape, type) << name << part << shape << type << refusal;
  };
  row("gptq-4bit", "qweight", "[16, 64]", "I32", "scales: shape: got [2, 128], expected [4, 64]");
  row("gptq-4bit", "qweight", "[1024]", "I32", "qweight: shape: got [1024], expected [words, outputs]");
  row("gptq-4bit", "qweight", "[0, 1024]", "I32", "data_offsets span");
  row("gptq-4bit", "qweight", "[8, 128]", "F32", "qweight: dtype: got F32, expected I32");
  row("gptq-4bit", "qzeros", "[1, 32]", "I32", "qzeros: shape: got [1, 32], expected [2, 16]");
  row("gptq-4bit", "scales", "[128, 2]", "F16", "scales: shape: got [128, 2], expected [2, 128]");
  row("gptq-4bit", "scales", "[2, 128]", "I16", "scales: dtype: got I16, expected one of F32, F16, BF16");
  row("gptq-4bit", "g_idx", "[32, 2]", "I32", "g_idx: shape: got [32, 2], expected [64]");
  row("gptq-4bit", "qzeros", "", "", "qzeros: missing tensor");
  row("gptq-4bit-ordered", "g_idx", "", "", "g_idx: missing tensor");
  row("awq", "qweight", "[32, 32]", "I32", "scales: shape: got [2, 128], expected [1, 256]");
  row("awq", "qzeros", "[16, 2]", "I32", "qzeros: shape: got [16, 2], expected [2, 16]");
  row("awq", "scales", "", "", "scales: missing tensor");
  row("awq-gemv", "qweight", "[1024]", "I32", "qweight: shape: got [1024], expected [outputs, words]");
  row("awq-gemv", "scales", "[128, 31]", "F16", "data_offsets span");
  row("awq-gemv", "scales", "[32, 128]", "F16", "scales: shape: got [32, 128], expected [128, 128]");
  row("awq-gemv", "qzeros", "[4, 128]", "I32", "qzeros: shape: got [4, 128], expected [128, 4]");
  row("awq-gemv-fast", "qweight", "[64, 32]", "I16",
      "qweight: shape: got [64, 32], expected [outputs / 4, inputs], a multiple of 64 inputs");
  row("awq-gemv-fast", "qweight", "[32, 32]", "I32", "qweight: dtype: got I32, expected I16");
  row("awq-gemv-fast", "qzeros", "[128, 16]", "F16", "qzeros: shape: got [128, 16], expected [16, 128]");
  row("gptq-marlin", "B", "[512, 8]", "I32",
      "B: shape: got [512, 8], expected tiles of 16 inputs with 128 words for 64 outputs");
  row("gptq-marlin", "B", "[4096]", "I32", "B: shape: got [4096], expected tiles");
  row("gptq-marlin", "s", "[2, 128]", "F16", "s: shape: got [2, 128], expected [1, 256]");
  row("gptq-marlin", "s", "", "", "s: missing tensor");
  row("compressed-marlin-24", "meta", "[1024, 4]", "I16", "meta: shape: got [1024, 4], expected [4, 1024]");
  row("compressed-marlin-24", "meta", "", "", "meta: missing tensor");
  row("compressed-marlin-24", "weight_packed", "[1024, 4]", "I32", "weight_packed: shape: got [1024, 4], expected tiles");
  row("compressed-w8a8", "weight", "[128, 64]", "U8", "weight: dtype: got U8, expected I8");
  row("compressed-w8a8", "weight", "[8192]", "I8", "weight: shape: got [8192], expected [outputs, inputs]");
  row("compressed-w8a8", "weight", "[64, 128]", "I8", "weight_scale: shape: got [128, 1], expected [64, 1]");
  row("compressed-w8a8", "weight_scale", "[1, 128]", "BF16", "weight_scale: shape: got [1, 128], expected [128, 1]");
  row("compressed-w8a16", "weight_zero_point", "", "", "weight_zero_point: missing tensor");
  row("compressed-w4a16", "weight_packed", "[64, 16]", "I32",
      "weight_packed: shape: got [64, 16], expected the shape of [128, 64]");
  row("compressed-w4a16", "weight_shape", "[2, 1]", "I64", "weight_shape: shape: got [2, 1], expected [2]");
  row("compressed-w4a16", "weight_scale", "[64, 4]", "BF16", "weight_scale: shape: got [64, 4], expected [128, 2]");
  row("compressed-w4a16-asym", "weight_zero_point", "[1, 16]", "I32", "shape: got [1, 16], expected [16, 1]");
  row("fp8", "weight", "[128, 64]", "F8_E5M2", "weight: dtype: got F8_E5M2, expected F8_E4M3");
  row("fp8-block", "weight_scale_inv", "[2, 3]", "F32", "weight_scale_inv: shape: got [2, 3], expected [3, 2]");
  row("bnb-8bit", "SCB", "[64, 2]", "F32", "SCB: shape: got [64, 2], expected [128, 1]");
  row("bnb-8bit", "weight", "", "", "weight: missing tensor");
  row("bnb-nf4", "weight.quant_map", "[16]", "I32", "quant_map: dtype: got I32, expected F32");
  row("bnb-nf4", "weight.absmax", "[64, 2]", "U8", "absmax: shape: got [64, 2], expected [128, 1]");
  row("bnb-nf4", "weight.nested_absmax", "", "", "nested_absmax: missing tensor");
  row("bnb-nf4", "weight", "", "", "missing: the codes that it describes");
}

void QuantizedTest::tensors_that_do_not_fit_are_refused() {
  QFETCH(QString, name);
  QFETCH(QString, part);
  QFETCH(QString, shape);
  QFETCH(QString, type);
  QFETCH(QString, refusal);
  const QuantizedCopy folder(name.toStdString());
  folder.edit_header([&](Json& header) {
    const std::string key = std::string(kGate) + "." + part.toStdString();
    Json& entry = header[key];
    if (shape.isEmpty()) {
      header["another"] = entry;
      header.erase(key);
      return;
    }
    entry["shape"] = Json::parse(shape.toStdString());
    entry["dtype"] = type.toStdString();
  });
  const std::string got = refusal_of(folder);
  QVERIFY2(got.find(refusal.toStdString()) != std::string::npos, got.c_str());
}

/// Experts lie in one tensor: all of them are changed at once.
void QuantizedTest::blocks_that_do_not_fit_are_refused() {
  const std::string module = "model.layers.0.mlp.experts.gate_up_proj";
  const auto refused = [&](const std::string& part, const Json& shape, const char* type) {
    const QuantizedCopy folder("mxfp4");
    folder.edit_header([&](Json& header) {
      header[module + part]["shape"] = shape;
      header[module + part]["dtype"] = type;
    });
    return refusal_of(folder);
  };
  const std::pair<std::string, std::string> cases[] = {
      {refused("_blocks", {4, 64, 2, 16}, "I8"), "0.gate_up_proj_blocks: dtype: got I8, expected U8"},
      {refused("_blocks", {4, 64, 32}, "U8"), "_blocks: shape: got [64, 32], expected [outputs, blocks, 16]"},
      {refused("_blocks", {4, 64, 1, 32}, "U8"), "_blocks: shape: got [64, 1, 32], expected [outputs, blocks, 16]"},
      {refused("_blocks", {4, 32, 4, 16}, "U8"), "_scales: shape: got [64, 2], expected [32, 4]"},
      {refused("_scales", {4, 128}, "U8"), "_scales: shape: got [128], expected [64, 2]"},
      {refused("_scales", {8, 64, 1}, "U8"), "_scales: shape: got [64, 1], expected [64, 2]"},
      {refused("_scales", {512}, "U8"), "0.gate_up_proj_scales: missing tensor"},
  };
  for (const auto& [got, want] : cases) QVERIFY2(got.find(want) != std::string::npos, got.c_str());
}

void QuantizedTest::groups_that_are_not_there_are_refused() {
  const QuantizedCopy folder("gptq-4bit");
  for (const std::int32_t group : {2, -1, INT32_MAX}) {
    folder.edit_data(std::string(kGate) + ".g_idx", 12, std::string(reinterpret_cast<const char*>(&group), sizeof group));
    const std::string got = refusal_of(folder);
    QVERIFY2(got.find("g_idx: group " + std::to_string(group) + " of 2 at 3") != std::string::npos, got.c_str());
  }
}

/// Sizes of packed matrices lie in the data: those of the JSON of bitsandbytes, and of compressed-tensors.
void QuantizedTest::sizes_that_files_tell_are_not_believed() {
  const QuantizedCopy packed("compressed-w4a16"), blocks("bnb-nf4");
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-64}, std::int64_t{72}, INT64_MAX, INT64_MIN}) {
    packed.edit_data(std::string(kGate) + ".weight_shape", 8,
                     std::string(reinterpret_cast<const char*>(&size), sizeof size));
    const std::string got = refusal_of(packed);
    QVERIFY2(got.find("weight_packed: shape: got [128, 8], expected the shape of [128, ") != std::string::npos, got.c_str());
  }
  const std::string state = std::string(kGate) + ".weight.quant_state.bitsandbytes__nf4";
  const std::string whole = blocks.data_of(state);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    text.resize(whole.size(), ' ');
    blocks.edit_data(state, 0, text);
    return refusal_of(blocks);
  };
  const std::pair<std::string, std::string> cases[] = {
      {with("[128, 64]", "[128, 65]"), "weight: got 4096 bytes, expected the codes of 128 x 65 weights"},
      {with("[128, 64]", "[1e9,1e9]"), "expected the codes of 1000000000 x 1000000000 weights"},
      {with("[128, 64]", "[8192]   "), "got 1 sizes, expected the number of rows and of columns"},
      {with("\"blocksize\": 64", "\"blocksize\": 0 "), "blocksize: got 0"},
      {with("\"blocksize\": 64", "\"blocksize\": 32"), "absmax: shape: got [128], expected [256, 1]"},
      {with("{", "["), "is not a JSON object"},
  };
  for (const auto& [got, want] : cases) QVERIFY2(got.find(want) != std::string::npos, got.c_str());
}

/// Formats in groups have scales in f16.
void QuantizedTest::codes_with_other_scales_become_numbers() {
  const QuantizedCopy folder("compressed-w4a16");
  const auto formats = [&] { return formats_of(*open(folder.path()).find(std::string(kGate) + ".weight")).size(); };
  QVERIFY(formats() > 0);
  const std::uint16_t tiny = kernels::f32_to_bf16(1.5e-30F);
  folder.edit_data(std::string(kGate) + ".weight_scale", 0, std::string(reinterpret_cast<const char*>(&tiny), sizeof tiny));
  QCOMPARE(formats(), std::size_t{0});
}

void QuantizedTest::a_config_of_its_own_is_found() {
  const QuantizedCopy folder("gptq-4bit");
  Json config = read_json_file(folder.path() + "/config.json"), own = config["quantization_config"];
  config.erase("quantization_config");
  own.erase("quant_method");
  write_file(folder.path() + "/config.json", config.dump());
  write_file(folder.path() + "/quantize_config.json", own.dump());
  QVERIFY(open(folder.path()).find(std::string(kGate) + ".weight") != nullptr);
}

/// AwqConfig and GPTQConfig of transformers 5 when they are saved.
void QuantizedTest::what_transformers_writes_beside_is_taken() {
  const Json beside = Json::parse(R"({"tokenizer": null, "dataset": null, "damp_percent": 0.1, "desc_act": false,
    "act_group_aware": true, "sym": true, "true_sequential": true, "meta": null, "backend": "auto", "model_seqlen": null,
    "block_name_to_quantize": null, "module_name_preceding_first_block": null, "batch_size": 1, "pad_token_id": null,
    "max_input_length": null, "cache_block_outputs": true, "modules_in_block_to_quantize": null})");
  for (const auto& [name, format] : {std::pair("awq", "gemm"), {"awq-gemv", "gemv"}, {"gptq-4bit", "gptq"}}) {
    const QuantizedCopy folder(name);
    folder.edit([&](Json& config) {
      config.update(beside);
      config["format"] = format;
    });
    QCOMPARE(refusal_of(folder), std::string("was accepted"));
  }
}

/// GPTQModel has its own for `version`; of Marlin's two either is enough.
void QuantizedTest::a_packing_has_other_names() {
  for (const auto& [key, value] : {std::pair("is_marlin_format", Json(false)), {"checkpoint_format", Json()}}) {
    const QuantizedCopy folder("gptq-marlin");
    folder.edit([&](Json& config) { config[key] = value; });
    QCOMPARE(refusal_of(folder), std::string("was accepted"));
  }
  for (const char* key : {"format", "checkpoint_format"}) {
    const QuantizedCopy folder("awq-gemv-fast");
    folder.edit([&](Json& config) {
      config[key] = config["version"];
      config.erase("version");
    });
    QCOMPARE(refusal_of(folder), std::string("was accepted"));
  }
}

LATHE_TEST(QuantizedTest)

}  // namespace quantized_test
#include "quantized_test.moc"
