// SPDX-License-Identifier: Apache-2.0
// Each layer names its parts once: the memory of every family is what the names give, as estimate, as bytes and as image,
// and an image alone brings a model back.
#include "engine/model/layers/weight_parts.h"

#include <QTemporaryFile>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <regex>
#include <set>

#include "engine/model/decoder/load_weights.h"
#include "engine/packed/packed_entry.h"
#include "engine/serve/opened_model.h"
#include "tests/support/decoder_logits.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/source_tree.h"
#include "tests/support/test_class.h"
#include "tests/support/written_families.h"

namespace weight_parts_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

constexpr int kTokens = 7;
constexpr std::int64_t kLength = 32;

void add_families() {
  QTest::addColumn<QString>("family");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(tests::family_path(""))) {
    if (entry.is_directory()) names.insert(entry.path().filename().string());
  }
  QVERIFY(names.size() > 80);
  for (const std::string& name : names) QTest::newRow(name.c_str()) << QString::fromStdString(name);
}

std::vector<WeightStorage> storages() {
  std::vector<WeightStorage> storages = {kernels::Dtype::f32, kernels::Dtype::bf16};
  for (const char* name : {"int8_g32", "int4_g32", "fp8"}) {
    EngineOptions options;
    options.quantization = name;
    storages.push_back(storage_of(options, kernels::Dtype::bf16));
  }
  WeightStorage ordered = kernels::Dtype::f32;
  ordered.matrices_are_ordered = ordered.experts_are_ordered = true;
  storages.push_back(ordered);
  return storages;
}

std::int64_t bytes_of(const WeightImage& image) {
  return std::accumulate(image.begin(), image.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& part) { return sum + std::ssize(part); });
}

/// A layer with a part of each kind, some of them absent, and one part without a name.
struct SomeParts {
  template <class Self, class Visit>
  static void for_each_part(Self& self, const Visit& visit) {
    visit(self.first, self.absent, self.maybe, self.none, self.matrices);
  }
  void on_allocated() { ++n_calls; }

  DeviceTensor first{kernels::Dtype::f32, {3, 5}}, absent, unnamed{kernels::Dtype::f32, {7}};
  std::optional<DeviceTensor> maybe{DeviceTensor(kernels::Dtype::bf16, {2})}, none;
  std::vector<PackedWeight> matrices;
  int n_calls = 0;
};

}  // namespace

class WeightPartsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void named_parts_are_planned_and_allocated();
  void an_allocation_that_fails_ends_the_others();
  void memory_is_that_of_the_names_data() { add_families(); }
  void memory_is_that_of_the_names();
  void an_image_brings_back_every_part_data() { add_families(); }
  void an_image_brings_back_every_part();
  void every_part_of_a_layer_has_its_name();
};

void WeightPartsTest::named_parts_are_planned_and_allocated() {
  tests::DeferredBackend backend(kernels::make_cpu_backend({.n_threads = 1}));
  SomeParts parts;
  parts.matrices.emplace_back(kernels::WeightFormat::f32, 8, 16);
  parts.matrices.emplace_back(kernels::WeightFormat::int8_g32, 8, 64);
  const auto packed = static_cast<std::int64_t>(backend.packed_bytes(kernels::WeightFormat::f32, 8, 16) +
                                                backend.packed_bytes(kernels::WeightFormat::int8_g32, 8, 64));
  QCOMPARE(planned_bytes(backend, parts), 60 + 4 + packed);
  QCOMPARE(allocated_bytes(parts), 0);
  QVERIFY(allocate_parts(backend, parts).has_value());
  QCOMPARE(parts.n_calls, 1);
  QCOMPARE(allocated_bytes(parts), planned_bytes(backend, parts));
  QCOMPARE(backend.n_bytes(), allocated_bytes(parts));
  QVERIFY(parts.first.view().data != nullptr && parts.absent.view().data == nullptr);
  QVERIFY(parts.unnamed.view().data == nullptr);
  WeightImage image;
  add_image(image, parts);
  QCOMPARE(image.size(), 4U);
  QVERIFY(image[0].data() == parts.first.bytes().data() && image[1].data() == parts.maybe->bytes().data());
  QCOMPARE(bytes_of(image), allocated_bytes(parts));
}

void WeightPartsTest::an_allocation_that_fails_ends_the_others() {
  const auto backend = kernels::make_cpu_backend({.n_threads = 1});
  SomeParts parts;
  parts.first = DeviceTensor(kernels::Dtype::f32, {std::int64_t{1} << 50});
  const auto result = allocate_parts(*backend, parts);
  QVERIFY(!result && result.error().code == ErrorCode::resource_exhausted);
  QCOMPARE(allocated_bytes(parts), 0);
  QCOMPARE(parts.n_calls, 0);
}

/// The estimate, the bytes that a decoder states, its image, and what the backend gave.
void WeightPartsTest::memory_is_that_of_the_names() {
  QFETCH(QString, family);
  const auto model = open_model(tests::family_path(family.toStdString()));
  QVERIFY(model.has_value());
  for (const WeightStorage& storage : storages()) {
    tests::DeferredBackend backend(kernels::make_cpu_backend({.n_threads = 1}));
    auto decoder = Decoder::create(backend, model->config, storage, kLength);
    QVERIFY(decoder.has_value());
    QVERIFY(decoder->weight_bytes() > 0);
    const ModelConfig& config = model->config;
    const std::int64_t n_of_layer = (config.has_sinks ? config.n_heads : 0) + (config.has_layer_scalar ? 1 : 0) +
                                    (config.moe.adds_mlp ? config.moe.n_experts : 0) +
                                    (config.altup.exists() ? 4 * 4 * 4 + 4 * 4 + config.hidden_size : 0);
    const std::int64_t host_bytes = n_of_layer * config.n_layers * static_cast<std::int64_t>(sizeof(float));
    QCOMPARE(backend.n_bytes() + host_bytes, decoder->weight_bytes() + decoder->rope_bytes());
    QCOMPARE(Decoder::weight_bytes(backend, model->config, storage), decoder->weight_bytes());
    QCOMPARE(bytes_of(decoder->image()), decoder->weight_bytes());
  }
}

/// A decoder that was filled from a file of the packed cache alone computes the same bits as the one that read the weights.
void WeightPartsTest::an_image_brings_back_every_part() {
  QFETCH(QString, family);
  const auto model = open_model(tests::family_path(family.toStdString()));
  QVERIFY(model.has_value());
  const auto decoder_on = [&](kernels::Backend& backend) {
    auto decoder = Decoder::create(backend, model->config, kernels::Dtype::f32, kLength);
    LATHE_CHECK(decoder.has_value());
    return std::move(*decoder);
  };
  auto backend = kernels::make_cpu_backend({.n_threads = 1}), other = kernels::make_cpu_backend({.n_threads = 1});
  Decoder loaded = decoder_on(*backend), restored = decoder_on(*other);
  QVERIFY(load_weights(loaded, *backend, model->checkpoint, model->plan, {}).has_value());
  QTemporaryFile file;
  QVERIFY(file.open());
  const ContentHash key = hash_of("a family");
  QVERIFY(write_entry(file.handle(), key, loaded.image(), *backend, {}).has_value());
  QVERIFY(read_entry(file.handle(), key, restored.image(), *other, {}).has_value());
  const std::vector<float> want = tests::logits_of(std::move(backend), std::move(loaded), kTokens);
  QVERIFY(std::any_of(want.begin(), want.end(), [&](float logit) { return logit != want.front(); }));
  QVERIFY(tests::logits_of(std::move(other), std::move(restored), kTokens) == want);
}

/// A new member with weights fails here until for_each_part names it. RoPE tables are computed, not loaded.
void WeightPartsTest::every_part_of_a_layer_has_its_name() {
  const std::string types =
      "DeviceTensor|HostTensor|PackedWeight|Linear|NormLayer|Mlp|Experts|Attention|LatentAttention|DecoderLayer|Embedding|"
      "UnitNorm|TokenTable|PerLayerGate|PerLayerEmbedding|AltUp|AltUpEnds|Laurel|GatedDeltaNet|ShortConv";
  const std::regex member("\\n  (?:std::optional<|std::vector<)?(?:" + types + ")>? ([a-z_, ]+);"), word(R"([a-z_]+_\b)"),
      name(R"(\bself\.(\w+))");
  std::size_t n_members = 0;
  for (const tests::SourceFile& file : tests::read_sources({"engine/model"})) {
    if (!file.is_header() || file.path == "engine/model/layers/rope_table.h") continue;
    const std::string text = tests::without_comments(file.text);
    std::multiset<std::string> members, names;
    for (std::sregex_iterator it(text.begin(), text.end(), member), end; it != end; ++it) {
      const std::string list = (*it)[1];
      for (std::sregex_iterator one(list.begin(), list.end(), word); one != end; ++one) members.insert(one->str());
    }
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) names.insert((*it)[1]);
    QVERIFY2(members == names, file.path.c_str());
    n_members += members.size();
  }
  QCOMPARE(n_members, 87U);
}

LATHE_TEST(WeightPartsTest)

}  // namespace weight_parts_test
#include "weight_parts_test.moc"
