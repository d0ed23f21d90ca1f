// SPDX-License-Identifier: GPL-3.0-or-later
// A newcomer's first minutes: the window with the bundled model, loaded and answering for real.
#include <QDoubleSpinBox>
#include <QLabel>
#include <QTableWidget>

#include "tests/support/engine_harness.h"
#include "tests/support/http_client.h"
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/live_chart.h"

namespace demo_model_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr int kPatienceMs = 120'000;  // a sanitizer on a busy machine

}  // namespace

class DemoModelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    qputenv("LATHE_RESOURCES", LATHE_SOURCE_DIR "/resources");
    fixture = std::make_unique<WindowFixture>(QString(), WindowFixture::Engines::real);
    fixture->window->start({});
    QVERIFY(QTest::qWaitFor([this] { return state() == app::ModelState::ready; }, kPatienceMs));
    fixture->find<QDoubleSpinBox>("sampling.temperature.spin")->setValue(0);
  }
  void init() { fixture->trigger("chats.new"); }
  void cleanupTestCase() { fixture.reset(); }

  void the_first_start_ends_in_ready();
  void a_question_gets_a_reply_that_ends_by_itself();
  void greedy_replies_are_the_same_each_time();
  void stop_in_mid_reply_frees_the_engine();
  void regenerate_makes_a_second_version();
  void sampling_changes_what_is_written();
  void the_server_answers_as_the_chat_does();
  void monitor_and_kv_moved();

 private:
  app::ModelState state() const { return fixture->window->bridge().model_status().state; }
  bool wait_reply() {
    return QTest::qWaitFor([this] { return !fixture->writer().running(); }, kPatienceMs);
  }
  QString ask(const QString& question) {
    fixture->say(question);
    if (!wait_reply()) return {};
    return fixture->text_of(fixture->chat().messages().size() - 1);
  }
  const app::StoredMessage& last() const { return fixture->chat().messages().back(); }

  std::unique_ptr<WindowFixture> fixture;
};

void DemoModelTest::the_first_start_ends_in_ready() {
  QTRY_COMPARE(fixture->find<ui::StatusBar>("status_bar")->state_word(), QString("Ready"));
  QVERIFY(fixture->window->bridge().loaded()->info.is_demo);
  QCOMPARE(fixture->find<QLabel>("model.card.name")->text(), QString("Lathe demo"));
}

void DemoModelTest::a_question_gets_a_reply_that_ends_by_itself() {
  const QString reply = ask("What is paged attention?");
  QVERIFY2(reply.trimmed().size() > 10, qPrintable(reply));
  QVERIFY(!last().partial);
  const ui::ReplyFooter footer = ui::footer_of(last().footer_json);
  QCOMPARE(footer.stop, QString("eos"));
  QVERIFY(footer.usage.n_completion_tokens > 1 && footer.usage.n_prompt_tokens > 1);
  QVERIFY(footer.error.isEmpty());
}

void DemoModelTest::greedy_replies_are_the_same_each_time() {
  const QString first = ask("What is a KV cache?");
  fixture->trigger("chats.new");
  QCOMPARE(ask("What is a KV cache?"), first);
}

void DemoModelTest::stop_in_mid_reply_frees_the_engine() {
  std::vector<engine::RequestHandlePtr> others;
  const auto cancel_others = [&others] {
    for (const engine::RequestHandlePtr& other : others) other->cancel();
    others.clear();
  };
  bool stopped = false;
  for (int i = 0; i < 20 && !stopped; ++i) {
    cancel_others();
    fixture->trigger("chats.new");
    fixture->say("Tell me all about batching.");
    // Every step of the reply computes a chunk of their prompts as well, so that a fast machine too writes it slowly.
    for (std::uint64_t n = 0; n < 60; ++n) {
      others.push_back(
          *fixture->workbench->models().lease()->submit(greedy_request(random_prompt(100 * n + i, 600, 1000), 1)));
    }
    QVERIFY(QTest::qWaitFor([this] { return !last().text.empty() || !fixture->writer().running(); }, kPatienceMs));
    fixture->trigger("chat.stop");
    QVERIFY(wait_reply());
    stopped = ui::footer_of(last().footer_json).stop == "stopped";
  }
  cancel_others();
  QVERIFY(stopped);
  QVERIFY(last().partial && !last().text.empty());
  QTRY_COMPARE(fixture->window->bridge().snapshot()->n_running, 0);
  QTRY_COMPARE(fixture->window->bridge().snapshot()->n_blocks_used, 0);
}

void DemoModelTest::regenerate_makes_a_second_version() {
  const QString first = ask("What is a token?");
  fixture->trigger("chat.regenerate");
  QVERIFY(wait_reply());
  QCOMPARE(fixture->versions_of(1).size(), std::size_t{2});
  QCOMPARE(fixture->text_of(1), first);  // greedy
}

void DemoModelTest::sampling_changes_what_is_written() {
  const QString question = "Why does a KV cache waste memory without paging?";
  const QString greedy = ask(question);
  QVERIFY(ui::footer_of(last().footer_json).usage.n_completion_tokens > 4);
  fixture->find<QDoubleSpinBox>("sampling.max_tokens.spin")->setValue(4);
  fixture->trigger("chats.new");
  const QString shorter = ask(question);
  QCOMPARE(ui::footer_of(last().footer_json).usage.n_completion_tokens, std::int64_t{4});
  QCOMPARE(ui::footer_of(last().footer_json).stop, QString("length"));
  QVERIFY2(greedy.startsWith(shorter) && shorter.size() < greedy.size(), qPrintable(shorter));
  fixture->find<QDoubleSpinBox>("sampling.max_tokens.spin")->setValue(512);
}

void DemoModelTest::the_server_answers_as_the_chat_does() {
  const QString question = "What is continuous batching?";
  const QString reply = ask(question);
  fixture->trigger("server.toggle");
  QTRY_COMPARE(fixture->find<QLabel>("serve.state")->text(), QString("Running"));
  const std::uint16_t port = fixture->workbench->server().status().port;
  const engine::Json body{
      {"messages", {{{"role", "user"}, {"content", question.toStdString()}}}}, {"temperature", 0}, {"max_tokens", 512}};
  const HttpReply answer = HttpClient(port).post("/v1/chat/completions", engine::dump_json(body));
  QCOMPARE(answer.status, 200);
  QCOMPARE(QString::fromStdString(answer.json()["choices"][0]["message"]["content"].get<std::string>()), reply);
  fixture->window->bridge().refresh();  // the page is not shown; nothing looks at the server by itself
  fixture->trigger("server.toggle");
  QTRY_COMPARE(fixture->workbench->server().status().state, app::ServerState::off);
  QVERIFY(!HttpClient(port).connected());
}

void DemoModelTest::monitor_and_kv_moved() {
  fixture->show_panel("monitor");
  auto* throughput = fixture->find<ui::LiveChart>("monitor.throughput");
  QTRY_VERIFY(!throughput->history().empty());
  const auto before = fixture->window->bridge().snapshot()->counters;
  QVERIFY(!ask("What is prefix caching?").isEmpty());
  QTRY_VERIFY(fixture->window->bridge().snapshot()->counters.n_generation_tokens > before.n_generation_tokens);
  QVERIFY(fixture->window->bridge().snapshot()->counters.n_prefill_tokens > before.n_prefill_tokens);
  QTRY_VERIFY(std::any_of(throughput->history().samples(ui::Span::half_minute).begin(),
                          throughput->history().samples(ui::Span::half_minute).end(),
                          [](const ui::Sample& sample) { return sample.values[0] > 0; }));
  fixture->show_panel("kv");
  auto* counts = fixture->find<QLabel>("kv.counts");
  QTRY_VERIFY(counts->isVisible());
  // The blocks of the replies stay cached.
  QTRY_VERIFY2(!counts->text().contains("<b>0</b> cached"), qPrintable(counts->text()));
}

LATHE_WINDOW_TEST(DemoModelTest)

}  // namespace demo_model_test
#include "demo_model_test.moc"
