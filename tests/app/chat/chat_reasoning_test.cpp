// SPDX-License-Identifier: Apache-2.0
// Chats of models that reason: the reasoning comes apart from the content, and stop strings hold for the content.
#include <QTest>

#include "app/api/chat_session.h"
#include "app/workbench/request_log.h"
#include "tests/support/fake_engine.h"
#include "tests/support/test_class.h"

namespace chat_reasoning_test {

using namespace lathe;

namespace {

struct Bench {
  tests::FakeEngine* engine = nullptr;
  std::unique_ptr<app::ModelSlot> slot;
  std::unique_ptr<app::RequestLog> log;

  explicit Bench(const std::string& reasoning) {
    tests::FakeLoad load;
    load.model.answer_formats.reasoning = reasoning;
    load.loaded = [this](tests::FakeEngine& loaded) { engine = &loaded; };
    slot = app::make_model_slot(tests::fake_loader(load));
    log = app::make_request_log(*slot);
  }
  bool load() const { return slot->load({}).has_value() && slot->wait().has_value(); }
};

struct Reply {
  std::string content, reasoning;
  engine::TokenEvent last;
};

Reply ask(const Bench& bench, std::vector<std::string> stop = {}) {
  app::ChatTurn turn;
  turn.messages = {{"user", "Hi"}};
  turn.sampling.stop = std::move(stop);
  turn.sampling.max_tokens = 200;
  Reply reply;
  const auto generation = app::start_chat(*bench.slot, *bench.log, turn);
  while (generation && !reply.last.finished) {
    reply.last = {};
    if (!(*generation)->wait(reply.last, std::chrono::seconds(60))) break;
    reply.content += reply.last.text;
    reply.reasoning += (*generation)->take_reasoning();
  }
  return reply;
}

}  // namespace

class ChatReasoningTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void it_comes_apart_without_its_marks() {
    Bench bench("qwen3");
    QVERIFY(bench.load());
    bench.engine->answer_with("<think>\nWarm. ö</think>\n\nSunny.\n\n");
    const Reply reply = ask(bench);
    QCOMPARE(reply.content, std::string("Sunny.\n\n"));
    QCOMPARE(reply.reasoning, std::string("\nWarm. ö"));
  }
  void stop_strings_hold_for_the_content() {
    Bench bench("qwen3");
    QVERIFY(bench.load());
    bench.engine->answer_with("<think>Is it Sunny?</think>It is Sunny.");
    const Reply reply = ask(bench, {"Sunny"});
    QCOMPARE(reply.content, std::string("It is "));
    QCOMPARE(reply.reasoning, std::string("Is it Sunny?"));
    QCOMPARE(reply.last.stop_reason, std::string("Sunny"));
  }
  void reasoning_that_never_ends_leaves_no_content() {
    Bench bench("deepseek_r1");
    QVERIFY(bench.load());
    bench.engine->answer_with("on and on");
    const Reply reply = ask(bench);
    QCOMPARE(reply.content, std::string());
    QCOMPARE(reply.reasoning, std::string("on and on"));
  }
  void a_model_without_a_format_has_content_alone() {
    Bench bench("");
    QVERIFY(bench.load());
    bench.engine->answer_with("<think>a</think>b");
    QCOMPARE(ask(bench).content, std::string("<think>a</think>b"));
    QVERIFY(!bench.engine->submitted().back().reading);
  }
};

LATHE_TEST(ChatReasoningTest)

}  // namespace chat_reasoning_test
#include "chat_reasoning_test.moc"
