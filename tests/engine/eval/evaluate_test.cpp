// SPDX-License-Identifier: Apache-2.0
// Perplexity and divergence of a small random checkpoint, against sums over the runner's logits.
#include "engine/api/evaluate.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/api/tokenizer.h"
#include "tests/support/runner_driver.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace evaluate_test {

using namespace lathe;
using engine::EngineOptions;
using engine::EvalPlan;
using engine::EvalProtocol;

namespace {

const std::vector<std::string> kTexts = {"Once upon a time there was a small dog.", "The cat sat.", "x"};

EngineOptions options_of(const std::string& quantization = "none") {
  EngineOptions options;
  options.model = tests::tiny_model_path();
  options.quantization = quantization;
  options.threads = 2;
  return options;
}

/// Mean negative log probability of all tokens but the first of each text.
double defined_nll(const EvalPlan& plan, std::int64_t* n_tokens) {
  const auto tokenizer = engine::open_tokenizer(tests::tiny_model_path());
  double sum = 0;
  *n_tokens = 0;
  for (const std::string& text : plan.texts) {
    auto ids = *(*tokenizer)->encode(text, true, false);
    if (static_cast<std::int64_t>(ids.size()) > plan.window) ids.resize(static_cast<std::size_t>(plan.window));
    tests::RunnerDriver driver(tests::tiny_model_path(), {.isa = "scalar"});
    const auto rows = driver.step({{.sequence = 0, .tokens = ids, .n_new = static_cast<int>(ids.size())}});
    for (std::size_t i = 0; i + 1 < ids.size(); ++i, ++*n_tokens) sum -= tests::log_probability(rows[i], ids[i + 1]);
  }
  return sum / static_cast<double>(*n_tokens);
}

/// Perplexity of the first 512 tokens of each of the first 100 stories. Sums and cache are in f32.
double perplexity_of_stories(const std::string& model) {
  QFile file(QString::fromStdString(tests::shared_path("data/eval/tinystories_1000.json")));
  if (!file.open(QIODevice::ReadOnly)) return 0;
  auto texts = nlohmann::json::parse(file.readAll().toStdString()).get<std::vector<std::string>>();
  texts.resize(100);
  EngineOptions options;
  options.model = tests::shared_path("data/models/" + model);
  options.dtype = options.kv_cache_dtype = "float32";
  const auto report =
      engine::measure_perplexity(options, {.texts = std::move(texts), .protocol = EvalProtocol::cut, .window = 512}, {});
  return report.has_value() ? report->perplexity.mean : 0;
}

}  // namespace

class EvaluateTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void perplexity_is_that_of_its_definition() {
    for (const std::int64_t window : {7, 200}) {
      const EvalPlan plan{.texts = kTexts, .protocol = EvalProtocol::cut, .window = window};
      std::int64_t n_tokens = 0;
      const double nll = defined_nll(plan, &n_tokens);
      const auto report = engine::measure_perplexity(options_of(), plan, {});
      QVERIFY(report.has_value());
      QCOMPARE(report->n_tokens, n_tokens);
      QVERIFY(std::fabs(report->nll.mean - nll) < 1e-5);
      QVERIFY(std::fabs(report->perplexity.mean - std::exp(nll)) < 1e-4 * std::exp(nll));
      QVERIFY(report->perplexity.low < report->perplexity.mean && report->perplexity.mean < report->perplexity.high);
    }
  }

  /// The figures of a float64 forward pass (the shared folder's llama_reference.py), and a GGUF file beside its folder.
  void trained_models_lose_what_the_reference_loses() {
    SKIP_WITHOUT_SHARED("data/models/stories260K-hf");
    QVERIFY(std::fabs(perplexity_of_stories("stories260K-hf") - 5.2746) < 1e-3);
    const double of_folder = perplexity_of_stories("TinyStories-656K-hf");
    QVERIFY(std::fabs(of_folder - 25.608) < 1e-3);
    const double of_codes = perplexity_of_stories("TinyStories-656K-gguf/TinyStories-656K-Q8_0.gguf");
    QVERIFY(of_codes != of_folder && std::fabs(of_codes / of_folder - 1) < 0.005);
  }

  /// The given text is read and not predicted: the losses of both parts of a text add up to the loss of the whole text.
  void what_is_given_is_not_predicted() {
    const EvalPlan whole{.texts = {"the little dog ran home"}, .protocol = EvalProtocol::cut};
    const EvalPlan front{.texts = {"the little dog"}, .protocol = EvalProtocol::cut};
    const EvalPlan rest{.texts = {" ran home"}, .given = {"the little dog"}, .protocol = EvalProtocol::cut};
    const auto of_whole = engine::measure_perplexity(options_of(), whole, {});
    const auto of_front = engine::measure_perplexity(options_of(), front, {});
    const auto of_rest = engine::measure_perplexity(options_of(), rest, {});
    const auto sum = [](const auto& report) { return report->nll.mean * static_cast<double>(report->n_tokens); };
    QCOMPARE(of_rest->n_tokens, of_whole->n_tokens - of_front->n_tokens);
    QVERIFY(of_rest->n_tokens > 0 && std::fabs(sum(of_rest) - (sum(of_whole) - sum(of_front))) < 1e-4);
  }

  /// "<s>" is BOS only where special tokens are parsed, and then it does not stand twice.
  void special_tokens_are_parsed_on_demand() {
    EvalPlan plan{.texts = {"<s>the dog"}, .protocol = EvalProtocol::cut};
    const auto as_text = engine::measure_perplexity(options_of(), plan, {});
    plan.parse_special = true;
    const auto parsed = engine::measure_perplexity(options_of(), plan, {});
    const auto without = engine::measure_perplexity(options_of(), {.texts = {"the dog"}, .protocol = EvalProtocol::cut}, {});
    QVERIFY(as_text->n_tokens > parsed->n_tokens);
    QVERIFY(parsed->n_tokens <= without->n_tokens + 1);  // a space may stand in front of the first word
  }

  /// A text that fits the window is the same in both protocols.
  void a_sliding_window_over_a_short_text_is_that_text() {
    EvalPlan plan{.texts = kTexts, .protocol = EvalProtocol::cut, .window = 200};
    const auto cut = engine::measure_perplexity(options_of(), plan, {});
    plan.protocol = EvalProtocol::sliding;
    const auto sliding = engine::measure_perplexity(options_of(), plan, {});
    QCOMPARE(cut->nll.mean, sliding->nll.mean);
  }

  /// The last window ends where the limit does, and what is before it loses what it loses without one.
  void a_limit_is_kept_to_the_token() {
    EvalPlan plan{.texts = {kTexts[0]}, .window = 8, .stride = 3};
    const auto all = engine::measure_perplexity(options_of(), plan, {});
    QVERIFY(all->n_tokens > 12);
    for (const std::int64_t limit : {1, 5, 7, 8, 12}) {
      plan.max_tokens = limit;
      const auto some = engine::measure_perplexity(options_of(), plan, {});
      QCOMPARE(some->n_tokens, limit);
      if (limit >= plan.window) continue;
      const EvalPlan begin{.texts = plan.texts, .protocol = EvalProtocol::cut, .window = limit + 1};
      QCOMPARE(some->nll.mean, engine::measure_perplexity(options_of(), begin, {})->nll.mean);
    }
    plan.max_tokens = all->n_tokens + 100;
    QCOMPARE(engine::measure_perplexity(options_of(), plan, {})->nll.mean, all->nll.mean);
    // Lists are limited as a whole.
    plan = {.texts = kTexts, .protocol = EvalProtocol::cut, .window = 8, .max_tokens = 10};
    QCOMPARE(engine::measure_perplexity(options_of(), plan, {})->n_tokens, std::int64_t{10});
  }

  void a_model_does_not_stray_from_itself() {
    const EvalPlan plan{.texts = kTexts, .window = 16};
    const auto report = engine::measure_divergence(options_of(), options_of(), plan, {});
    QVERIFY(report.has_value());
    QCOMPARE(report->kl_max, 0.0);
    QCOMPARE(report->same_best, 1.0);
    QCOMPARE(report->reference.nll.mean, report->tested.nll.mean);
  }

  void fewer_bits_stray_further() {
    const EvalPlan plan{.texts = kTexts, .window = 64};
    const auto eight = engine::measure_divergence(options_of(), options_of("int8_g32"), plan, {});
    const auto four = engine::measure_divergence(options_of(), options_of("int4_g128"), plan, {});
    QVERIFY(eight->kl.mean > 0 && four->kl.mean > 5 * eight->kl.mean);
    QVERIFY(four->kl_median <= four->kl_90 && four->kl_90 <= four->kl_99 && four->kl_99 <= four->kl_max);
    QVERIFY(four->worst.size() > 3 && four->worst[0].kl == four->kl_max && four->worst[0].kl >= four->worst[1].kl);
  }

  /// The reference is loaded once, and what comes of each is what it is alone.
  void several_models_are_compared_with_one_reference() {
    const EvalPlan plan{.texts = kTexts, .window = 64};
    int n_loads = 0;
    std::int64_t before = -1;
    const engine::EvalObserver observer = [&](const engine::EvalProgress& progress) {
      const std::int64_t bytes = progress.tokens_total == 0 ? progress.bytes_loaded : -1;
      n_loads += bytes >= 0 && before < 0 ? 1 : 0;
      before = bytes;
      return true;
    };
    const auto comparison = engine::open_comparison(options_of(), plan, observer);
    QVERIFY(comparison.has_value());
    before = -1;
    QVERIFY((*comparison)->reference_bytes() > 0);
    for (const char* name : {"int8_g32", "int4_g128"}) {
      const auto report = (*comparison)->measure(options_of(name), observer);
      const auto alone = engine::measure_divergence(options_of(), options_of(name), plan, {});
      QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
      QCOMPARE(report->kl.mean, alone->kl.mean);
      QCOMPARE(report->tested.nll.mean, alone->tested.nll.mean);
    }
    QCOMPARE(n_loads, 3);
    QVERIFY(!(*comparison)->measure(options_of("no such"), {}).has_value());
    QVERIFY((*comparison)->measure(options_of(), {}).has_value());  // what failed leaves the reference in order
  }

  void quantized_weights_are_kept_for_the_next_evaluation() {
    QTemporaryDir folder;
    const engine::PackedCacheFolder packed{.path = folder.filePath("packed").toStdString()};
    const EvalPlan plan{.texts = kTexts, .window = 64};
    const auto made = engine::measure_perplexity(options_of("int8_g32"), plan, {}, packed);
    QCOMPARE(QDir(folder.filePath("packed")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot).isEmpty(), false);
    const auto read = engine::measure_perplexity(options_of("int8_g32"), plan, {}, packed);
    const auto without = engine::measure_perplexity(options_of("int8_g32"), plan, {});
    QCOMPARE(read->nll.mean, made->nll.mean);
    QCOMPARE(read->nll.mean, without->nll.mean);
  }

  void progress_comes_and_cancels() {
    const EvalPlan plan{.texts = kTexts, .window = 8};
    std::int64_t bytes_loaded = 0, tokens_done = 0;
    const auto cancelled = engine::measure_perplexity(options_of(), plan, [&](const engine::EvalProgress& progress) {
      bytes_loaded = std::max(bytes_loaded, progress.bytes_loaded);
      tokens_done = progress.tokens_done;
      return progress.tokens_done == 0;
    });
    QCOMPARE(cancelled.error().code, engine::ErrorCode::cancelled);
    QVERIFY(bytes_loaded > 0 && tokens_done > 0);
    const auto at_once = engine::measure_perplexity(options_of(), plan, [](const engine::EvalProgress&) { return false; });
    QCOMPARE(at_once.error().code, engine::ErrorCode::cancelled);
  }

  void logits_that_are_no_numbers_are_told() {
    tests::TinyModelCopy broken;
    std::string bytes = tests::read_file(broken.file("model.safetensors"));
    std::fill(bytes.end() - 4096, bytes.end(), '\xff');  // NaN in every type
    tests::write_file(broken.file("model.safetensors"), bytes);
    EngineOptions options = options_of();
    options.model = broken.path();
    const auto report = engine::measure_perplexity(options, {.texts = kTexts, .window = 16}, {});
    QVERIFY(!report.has_value() && report.error().message.find("not finite") != std::string::npos);
    QVERIFY(!engine::measure_divergence(options_of(), options, {.texts = kTexts, .window = 16}, {}).has_value());
  }

  void what_cannot_be_measured_is_refused() {
    const auto refused = [](const EvalPlan& plan) { return engine::measure_perplexity(options_of(), plan, {}).error(); };
    QCOMPARE(refused({.texts = {}}).where, std::string("dataset"));
    QCOMPARE(refused({.texts = {""}}).where, std::string("dataset"));
    QCOMPARE(refused({.texts = kTexts, .window = 100'000}).where, std::string("window"));
    QCOMPARE(refused({.texts = kTexts, .window = 16, .stride = 16}).where, std::string("stride"));
  }
};

LATHE_TEST(EvaluateTest)

}  // namespace evaluate_test
#include "evaluate_test.moc"
