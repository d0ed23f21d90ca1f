// SPDX-License-Identifier: GPL-3.0-or-later
// The Model dock in the real window: choose, estimate, load, fail and load again. Engines are fake, checkpoints real.
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <atomic>
#include <latch>

#include "app/api/draft.h"
#include "engine/api/answer_parser.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/diagnostics.h"
#include "ui/models/load_text.h"
#include "ui/widgets/chip.h"
#include "ui/widgets/fit_bar.h"
#include "ui/widgets/inline_message.h"

namespace model_test {

using namespace lathe;
using namespace lathe::tests;

class ModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_reload_after_a_failure_succeeds();
  void a_smaller_context_loads_what_did_not_fit();
  void the_estimate_is_that_of_the_engine();
  void a_change_is_estimated_anew();
  void too_much_kv_memory_is_told_and_given_back();
  void the_form_keeps_to_the_dock();
  void a_model_is_chosen_from_the_list();
  void a_model_with_a_broken_header_is_told_before_loading();
  void snapshots_have_a_budget_where_layers_are_recurrent();
  void settings_reach_the_loader();
  void batching_offers_each_policy_and_what_it_needs();
  void the_cache_may_have_each_type();
  void answers_may_be_read_in_each_format_data();
  void answers_may_be_read_in_each_format();
  void a_target_for_steps_needs_chunks();
  void a_quantization_shows_its_own_settings();
  void U1_a_hung_load_does_not_keep_the_window();
  void U1_closing_while_loading_ends_the_load();
  void load_anyway_skips_the_estimate_this_once();
  void what_a_load_took_stands_beside_the_estimate();
  void other_settings_have_an_estimate_alone();
  void without_a_measurement_the_estimate_stands_alone();

 private:
  static app::ModelState state(const WindowFixture& fixture) { return fixture.workbench->models().status().state; }
};

void ModelTest::a_reload_after_a_failure_succeeds() {
  std::atomic<int> n_loads = 0;
  FakeLoad load;
  load.refuse = [&n_loads](const engine::EngineOptions&) -> std::optional<engine::Error> {
    if (n_loads++ > 0) return std::nullopt;
    return engine::Error{engine::ErrorCode::internal, "reading stopped at byte 4711 of 9000", "model.safetensors"};
  };
  WindowFixture fixture(load);
  fixture.begin_load(tiny_model_path());
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  auto* message = fixture.find<ui::InlineMessage>("model.message");
  QTRY_VERIFY2(message->isVisible() && message->numbers().contains("byte 4711 of 9000"), qPrintable(message->numbers()));
  QVERIFY(fixture.find<QWidget>("model.load")->isVisible());
  fixture.click("model.load");
  QVERIFY(fixture.wait_ready());
  QTRY_VERIFY(!message->isVisible());
  QTRY_COMPARE(fixture.find<ui::StatusBar>("status_bar")->state_word(), QString("Ready"));
  fixture.engine()->answer_with("Here again.");
  fixture.say("Hello?");
  QVERIFY(fixture.wait_reply());
  QCOMPARE(fixture.text_of(1), QString("Here again."));
}

void ModelTest::a_smaller_context_loads_what_did_not_fit() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (options.max_model_len > 0 && options.max_model_len <= 64) return std::nullopt;
    return engine::Error{engine::ErrorCode::resource_exhausted, "needs 6.1 GiB, 4.4 GiB free", "memory"};
  };
  WindowFixture fixture(load);
  fixture.begin_load(tiny_model_path());
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  auto* message = fixture.find<ui::InlineMessage>("model.message");
  QTRY_VERIFY(message->isVisible());
  QCOMPARE(message->what(), QString("Not enough memory"));
  QVERIFY(message->numbers().contains("needs 6.1 GiB, 4.4 GiB free"));
  fixture.find<QDoubleSpinBox>("model.max_model_len.spin")->setValue(64);
  fixture.click("model.load");
  QVERIFY(fixture.wait_ready());
  QCOMPARE(fixture.window->bridge().loaded()->options.max_model_len, std::int64_t{64});
  QTRY_VERIFY(!message->isVisible());
}

void ModelTest::the_estimate_is_that_of_the_engine() {
  WindowFixture fixture;
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.choose(tiny_model_path());
  QTRY_VERIFY(choice.fit().has_value());
  const auto info = engine::inspect_checkpoint(tiny_model_path());
  QVERIFY(info.has_value());
  const auto fit = engine::estimate_fit(*info, choice.options(), 0);
  QVERIFY(fit.has_value());
  QCOMPARE(choice.fit()->weights, fit->weights);
  QCOMPARE(choice.fit()->activations, fit->activations);
  QCOMPARE(choice.fit()->max_model_len, fit->max_model_len);
  auto* bar = fixture.find<ui::FitBar>("fit_bar");
  QVERIFY(bar->isVisible());
  const QString verdict = ui::verdict_word(choice.fit()->verdict);
  QCOMPARE(fixture.find<ui::Chip>("fit_bar.verdict")->word(), verdict);
  const QString blocks = QString("%1 blocks").arg(QLocale().toString(qlonglong(choice.fit()->n_blocks)));
  QVERIFY2(bar->words().contains(verdict) && bar->words().contains(blocks), qPrintable(bar->words()));
}

void ModelTest::a_change_is_estimated_anew() {
  WindowFixture fixture;
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.choose(tiny_model_path());
  QTRY_VERIFY(choice.fit().has_value());
  auto* kind = fixture.find<QComboBox>("model.kv_memory");
  kind->setCurrentIndex(2);
  Q_EMIT kind->activated(2);
  fixture.find<QSpinBox>("model.kv_memory.amount")->setValue(77);
  QTRY_COMPARE(choice.fit()->n_blocks, std::int64_t{77});
  const auto fit = engine::estimate_fit(*choice.info(), choice.options(), 0);
  QCOMPARE(choice.fit()->kv, fit->kv);
  QVERIFY(fixture.find<ui::FitBar>("fit_bar")->words().contains("77 blocks"));
}

void ModelTest::too_much_kv_memory_is_told_and_given_back() {
  WindowFixture fixture;
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.choose(tiny_model_path());
  QTRY_VERIFY(choice.fit().has_value());
  choice.set_option("kv_cache_memory_bytes", QString::number(qint64{1} << 40));
  auto* message = fixture.find<ui::InlineMessage>("model.message");
  QTRY_VERIFY(message->isVisible());
  QCOMPARE(message->what(), QString("Not enough memory"));
  QVERIFY2(message->numbers().startsWith("Needs 1,024 GiB"), qPrintable(message->numbers()));
  fixture.click("model.message.kv_cache_memory_bytes.0");
  QCOMPARE(choice.options().kv_cache_memory_bytes, std::int64_t{0});
  QTRY_VERIFY(!message->isVisible());
}

/// Nothing may be wider than the dock: there is no scroll bar to reach it.
void ModelTest::the_form_keeps_to_the_dock() {
  WindowFixture fixture;
  QVERIFY(fixture.load_model());
  auto* kind = fixture.find<QComboBox>("model.kv_memory");
  kind->setCurrentIndex(2);
  Q_EMIT kind->activated(2);
  QTRY_VERIFY(fixture.find<QSpinBox>("model.kv_memory.amount")->isVisible());
  const QWidget* contents = fixture.find<QWidget>("model.sources")->parentWidget();
  QTRY_VERIFY(contents->minimumSizeHint().width() <= contents->parentWidget()->width());
  const auto* words = fixture.find<QLabel>("model.changed");
  QTRY_VERIFY(words->isVisible());
  QTRY_VERIFY2(words->sizeHint().width() <= words->width(), qPrintable(words->text()));
}

void ModelTest::a_model_is_chosen_from_the_list() {
  WindowFixture fixture;
  const std::string folder = QFileInfo(QString::fromStdString(tiny_model_path())).absolutePath().toStdString();
  fixture.workbench->settings().set("library/folders", engine::Json::array({folder}));
  Q_EMIT fixture.window->context().navigator.folders_changed();
  QTRY_VERIFY(fixture.find<QAbstractButton>("model.source.tiny-llama") != nullptr);
  auto* row = fixture.find<QAbstractButton>("model.source.tiny-llama");
  QTRY_VERIFY2(row->accessibleDescription().startsWith("llama"), qPrintable(row->accessibleDescription()));
  QTest::mouseClick(row, Qt::LeftButton);
  QTRY_COMPARE(QFileInfo(QString::fromStdString(fixture.window->context().load.path())),
               QFileInfo(QString::fromStdString(tiny_model_path())));
  QTRY_COMPARE(fixture.find<QLabel>("model.card.name")->text(), QString("tiny-llama"));
  fixture.click("model.load");
  QVERIFY(fixture.wait_ready());
  QTRY_COMPARE(fixture.find<ui::Chip>("model.card.state")->word(), QString("Ready"));
  QCOMPARE(fixture.workbench->library().entries().front().recent || fixture.workbench->library().entries().at(1).recent,
           true);
  // And back to the list, where it now says so.
  fixture.click("model.card.other");
  QTRY_VERIFY(fixture.find<QWidget>("model.sources")->isVisible());
}

void ModelTest::a_model_with_a_broken_header_is_told_before_loading() {
  const TinyModelCopy copy;
  write_file(copy.file("config.json"), "{\"architectures\": [\"LlamaForCausalLM\"], ");
  WindowFixture fixture;
  fixture.window->context().load.choose(copy.path());
  auto* message = fixture.find<ui::InlineMessage>("model.message");
  QTRY_VERIFY(message->isVisible());
  QVERIFY2(message->numbers().contains("config.json"), qPrintable(message->numbers()));
  QCOMPARE(state(fixture), app::ModelState::none);
}

void ModelTest::snapshots_have_a_budget_where_layers_are_recurrent() {
  WindowFixture fixture;
  ui::LoadChoice& load = fixture.window->context().load;
  auto* const budget = fixture.find<QSpinBox>("model.state_snapshot_memory_bytes");
  load.choose(tiny_model_path());
  QTRY_VERIFY(load.fit());
  QVERIFY(!budget->isVisible());
  load.choose(source_path("tests/fixtures/families/qwen3-5"));
  QTRY_VERIFY(budget->isVisible());
  QCOMPARE(budget->text(), QStringLiteral("Auto"));
  budget->setValue(3);
  QCOMPARE(load.options().state_snapshot_memory_bytes, std::int64_t{3} << 20);
  QTRY_VERIFY(load.fit() && load.fit()->n_snapshots > 32);
  fixture.click("model.enable_prefix_caching");
  QTRY_VERIFY(!budget->isVisible());
}

void ModelTest::settings_reach_the_loader() {
  WindowFixture fixture;
  fixture.window->context().load.choose(tiny_model_path());
  fixture.find<QSpinBox>("model.max_num_seqs")->setValue(3);
  QCOMPARE(fixture.find<QSpinBox>("model.max_num_batched_tokens")->text(), QStringLiteral("Auto (512)"));
  fixture.find<QSpinBox>("model.max_num_batched_tokens")->setValue(96);
  fixture.click("model.block_size.2");
  fixture.click("model.enable_prefix_caching");
  fixture.click("model.load");
  QVERIFY(fixture.wait_ready());
  const engine::EngineOptions& options = fixture.window->bridge().loaded()->options;
  QCOMPARE(options.max_num_seqs, std::int64_t{3});
  QCOMPARE(options.max_num_batched_tokens, std::int64_t{96});
  QCOMPARE(options.block_size, std::int64_t{32});
  QCOMPARE(options.enable_prefix_caching, false);
  // A change afterwards is offered as a reload, and the reload brings it.
  fixture.find<QSpinBox>("model.max_num_seqs")->setValue(5);
  QTRY_VERIFY(fixture.find<QWidget>("model.reload")->isVisible());
  fixture.click("model.reload");
  QTRY_VERIFY(fixture.window->bridge().loaded() && fixture.window->bridge().loaded()->options.max_num_seqs == 5);
  QTRY_VERIFY(fixture.find<QWidget>("model.saved")->isVisible());
}

void ModelTest::batching_offers_each_policy_and_what_it_needs() {
  WindowFixture fixture;
  fixture.window->context().load.choose(tiny_model_path());
  auto* batching = fixture.find<QComboBox>("model.policy");
  const auto* form = fixture.find<QWidget>("model.form");
  const auto* size = fixture.find<QWidget>("model.preferred_batch_size");
  const auto* delay = fixture.find<QWidget>("model.max_batch_delay_ms");
  QCOMPARE(batching->currentText(), QString("Paged"));
  for (const std::string_view policy : engine::choices_of(engine::engine_option("policy"))) {
    const int index = batching->findData(QString::fromStdString(std::string(policy)));
    QVERIFY(index >= 0);
    Q_EMIT batching->activated(index);
    QCOMPARE(fixture.window->context().load.options().policy, std::string(policy));
    QTRY_COMPARE(size->isVisibleTo(form), policy == "dynamic");
    QCOMPARE(delay->isVisibleTo(form), policy == "dynamic");
  }
}

void ModelTest::the_cache_may_have_each_type() {
  WindowFixture fixture;
  fixture.window->context().load.choose(tiny_model_path());
  auto* types = fixture.find<QComboBox>("model.kv_cache_dtype");
  QCOMPARE(types->currentText(), QString("As compute"));
  for (const std::string_view type : engine::choices_of(engine::engine_option("kv_cache_dtype"))) {
    const int index = types->findData(QString::fromStdString(std::string(type)));
    QVERIFY(index >= 0);
    Q_EMIT types->activated(index);
    QCOMPARE(fixture.window->context().load.options().kv_cache_dtype, std::string(type));
  }
  QVERIFY(types->findText("FP8 E4M3") >= 0 && types->findText("INT8") >= 0);
}

void ModelTest::answers_may_be_read_in_each_format_data() {
  QTest::addColumn<QString>("option");
  QTest::addColumn<QString>("label");
  QTest::addColumn<QString>("chosen");
  QTest::newRow("calls of tools") << "tool_call_parser"
                                  << "Tool calls"
                                  << "qwen3_xml";
  QTest::newRow("reasoning") << "reasoning_parser"
                             << "Reasoning"
                             << "deepseek_r1";
}

/// By the names of the tables, beside what the chat template shows; the server gets what was chosen with the model.
void ModelTest::answers_may_be_read_in_each_format() {
  QFETCH(QString, option);
  QFETCH(QString, label);
  QFETCH(QString, chosen);
  const bool of_calls = option == "tool_call_parser";
  const QTemporaryDir profile;
  WindowFixture fixture(profile.path(), WindowFixture::Engines::real);
  ui::LoadChoice& choice = fixture.window->context().load;
  choice.choose(tiny_model_path());
  auto* formats = fixture.find<QComboBox>(qPrintable("model." + option));
  QVERIFY(formats != nullptr);
  QCOMPARE(formats->accessibleName(), label);
  QCOMPARE(formats->currentText(), QString("From the template"));
  auto names = of_calls ? engine::tool_call_format_names(true) : engine::reasoning_format_names();
  QCOMPARE(formats->count(), static_cast<int>(names.size()) + 2);
  names.insert(names.end(), {engine::kNoParser, engine::kParserOfTemplate});
  for (const std::string_view name : names) {
    const QString value = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    const int index = formats->findData(value);
    QVERIFY2(index >= 0, qPrintable(value));
    Q_EMIT formats->activated(index);
    QCOMPARE(engine::get_option(choice.options(), option.toStdString()), std::string(name));
    QTRY_COMPARE(formats->currentData().toString(), value);
  }
  Q_EMIT formats->activated(formats->findData(chosen));
  fixture.click("model.load");
  QVERIFY(fixture.wait_ready());
  const engine::AnswerFormats& served = fixture.window->bridge().loaded()->answer_formats;
  QCOMPARE(of_calls ? served.tool_calls : served.reasoning, chosen.toStdString());
}

void ModelTest::a_target_for_steps_needs_chunks() {
  WindowFixture fixture;
  fixture.window->context().load.choose(tiny_model_path());
  const auto* form = fixture.find<QWidget>("model.form");
  const auto* target = fixture.find<QWidget>("model.target_itl_ms");
  QTRY_VERIFY(target->isVisibleTo(form));
  fixture.window->context().load.set_option("enable_chunked_prefill", "false");
  QTRY_VERIFY(!target->isVisibleTo(form));
}

void ModelTest::a_quantization_shows_its_own_settings() {
  WindowFixture fixture;
  const ui::LoadChoice& choice = fixture.window->context().load;
  fixture.window->context().load.choose(tiny_model_path());
  auto* quantize = fixture.find<QComboBox>("model.quantization");
  const auto* form = fixture.find<QWidget>("model.form");
  const auto* codes = fixture.find<QWidget>("model.bnb_4bit_quant_type");
  const auto* alpha = fixture.find<QWidget>("model.smoothquant_alpha");
  const auto* head = fixture.find<QWidget>("model.keep_head");
  for (const std::string_view name : engine::choices_of(engine::engine_option("quantization"))) {
    const int index = quantize->findData(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
    QVERIFY(index >= 0);
    Q_EMIT quantize->activated(index);
    QCOMPARE(choice.options().quantization, std::string(name));
    QTRY_COMPARE(alpha->isVisibleTo(form), name == "smoothquant");
    QCOMPARE(codes->isVisibleTo(form), name == "bitsandbytes_4bit");
    const bool leaves_head = name == "none" || name == "smoothquant" || name.starts_with("bitsandbytes");
    QCOMPARE(head->isVisibleTo(form), !leaves_head);
  }
  auto* share = fixture.find<QDoubleSpinBox>("model.smoothquant_alpha.spin");
  QCOMPARE(share->value(), 0.8);
  QVERIFY(!share->accessibleName().isEmpty());
  share->setValue(0.65);
  QCOMPARE(choice.options().smoothquant_alpha, 0.65);
  QCOMPARE(ui::quantization_text("fp8_weight_only"), QString("FP8, weights only"));
}

void ModelTest::U1_a_hung_load_does_not_keep_the_window() {
  std::latch reached(1), go_on(1);
  FakeLoad load;
  load.before_step = [&](int step) {
    if (step != 1) return;
    reached.count_down();
    go_on.wait();
  };
  WindowFixture fixture(load);
  fixture.begin_load();
  reached.wait();
  // The loader does not answer; the window does.
  fixture.type("written while it hangs");
  fixture.trigger("page.serve");
  QCOMPARE(fixture.window->page(), QString("serve"));
  fixture.click("model.cancel");
  QVERIFY(fixture.window->close());
  QVERIFY(!fixture.window->isVisible());
  QCOMPARE(state(fixture), app::ModelState::loading);
  QCOMPARE(app::load_draft(fixture.workbench->paths()), std::string("written while it hangs"));
  go_on.count_down();
}

void ModelTest::U1_closing_while_loading_ends_the_load() {
  std::atomic<int> n_steps = 0;
  FakeLoad load;
  load.n_steps = 1'000'000'000;  // nobody would wait for its end
  load.before_step = [&n_steps](int) { ++n_steps; };
  {
    WindowFixture fixture(load);
    fixture.begin_load();
    QTRY_VERIFY(n_steps > 100);
  }
  QVERIFY(n_steps < load.n_steps);
}

void ModelTest::load_anyway_skips_the_estimate_this_once() {
  FakeLoad load;
  load.refuse = [](const engine::EngineOptions& options) -> std::optional<engine::Error> {
    if (!options.check_fit) return std::nullopt;
    return engine::Error{engine::ErrorCode::resource_exhausted, "needs 6.1 GiB, 4.4 GiB free", "memory"};
  };
  WindowFixture fixture(load);
  fixture.begin_load(tiny_model_path());
  QTRY_COMPARE(fixture.window->bridge().model_status().state, app::ModelState::failed);
  QTRY_VERIFY(fixture.find<QAbstractButton>("model.message.anyway") != nullptr);
  fixture.click("model.message.anyway");
  QVERIFY(fixture.wait_ready());
  QTRY_VERIFY(fixture.find<QWidget>("model.saved")->isVisible());
  fixture.trigger("model.revert");
  QVERIFY(fixture.window->context().load.options().check_fit);
  fixture.trigger("model.load");  // the next load is asked again, and what ran before comes back
  QTRY_VERIFY(fixture.window->bridge().model_status().error);
  QVERIFY(fixture.wait_ready());
  QVERIFY(!fixture.window->bridge().loaded()->options.check_fit);
}

namespace {

/// A load that took 10 MiB of weights, 0.5 of KV, 1 of activations and 4.5 of the rest; the estimate is 10, 2, 1 and 0 MiB.
FakeLoad measured_load() {
  FakeLoad load;
  load.model.measured =
      engine::measured_memory(50 << 20, 66 << 20, {.weights = 10 << 20, .kv = 1 << 19, .activations = 1 << 20});
  return load;
}

}  // namespace

void ModelTest::what_a_load_took_stands_beside_the_estimate() {
  WindowFixture fixture(measured_load());
  fixture.begin_load(tiny_model_path());
  QVERIFY(fixture.wait_ready());
  const ui::LoadChoice& choice = fixture.window->context().load;
  QTRY_VERIFY(choice.measured().has_value());
  QCOMPARE(choice.measured()->estimate.total(), std::int64_t{13 << 20});
  QCOMPARE(choice.measured()->use.other, std::int64_t{(16 << 20) - (10 << 20) - (1 << 19) - (1 << 20)});
  const auto* bar = fixture.find<ui::FitBar>("fit_bar");
  const auto shown = [&](const char* words) { return bar->words().contains(QLatin1String(words)); };
  QVERIFY2(shown("Measured 16.0 MiB, estimated 13.0") && shown("Weights 10.0, estimated 10.0") &&
               shown("KV 0.5, estimated 2.0") && shown("Other 4.5, estimated 0.0"),
           qPrintable(bar->words()));
  QCOMPARE(bar->accessibleName(), bar->words());
  QVERIFY(bar->toolTip().contains("files are not counted"));
  const QString report = ui::diagnostics(*fixture.workbench, fixture.window->bridge());
  QVERIFY2(report.contains("16.0 MiB measured, 13.0 MiB estimated"), qPrintable(report));
}

void ModelTest::other_settings_have_an_estimate_alone() {
  WindowFixture fixture(measured_load());
  fixture.begin_load(tiny_model_path());
  QVERIFY(fixture.wait_ready());
  ui::LoadChoice& choice = fixture.window->context().load;
  QTRY_VERIFY(choice.measured().has_value());
  const auto* bar = fixture.find<ui::FitBar>("fit_bar");
  QTRY_VERIFY(bar->words().contains("Measured"));
  const int with_table = bar->height();
  choice.set_option("max_model_len", "64");
  QVERIFY(!choice.measured().has_value());
  QTRY_VERIFY(!bar->words().contains("Measured") && bar->toolTip().isEmpty());
  QCOMPARE(bar->height(), with_table);  // nothing moves under the mouse
  fixture.trigger("model.revert");
  QTRY_VERIFY(bar->words().contains("Measured"));
}

void ModelTest::without_a_measurement_the_estimate_stands_alone() {
  WindowFixture fixture;
  fixture.begin_load(tiny_model_path());
  QVERIFY(fixture.wait_ready());
  QTRY_VERIFY(fixture.window->context().load.fit().has_value());
  QVERIFY(!fixture.window->context().load.measured().has_value());
  QVERIFY(!fixture.find<ui::FitBar>("fit_bar")->words().contains("Measured"));
}

LATHE_WINDOW_TEST(ModelTest)

}  // namespace model_test
#include "model_test.moc"
