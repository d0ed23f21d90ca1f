// SPDX-License-Identifier: GPL-3.0-or-later
// The Serve page in the real window: its switch starts a real server over a fake engine, asked over a real socket.
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSpinBox>
#include <QTcpServer>

#include "tests/support/http_client.h"
#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/serve/server_settings.h"
#include "ui/widgets/chip.h"

namespace serve_test {

using namespace lathe;
using namespace lathe::tests;

class ServeTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>();
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Blocks of sixteen tokens.");
    fixture->trigger("page.serve");
  }
  void cleanup() { fixture.reset(); }

  void the_switch_starts_and_stops_the_server();
  void the_row_shows_the_address_and_counts_requests();
  void curl_address_and_environment_are_copied();
  void the_test_request_shows_the_answer();
  void a_new_key_is_masked_and_asked_for();
  void a_key_is_typed_and_taken_away();
  void a_key_is_needed_where_others_reach();
  void the_key_is_shown_when_asked();
  void every_address_makes_a_key_and_warns();
  void an_address_of_the_settings_is_shown();
  void a_dialect_that_is_off_answers_404();
  void the_model_answers_under_the_chosen_name();
  void S16_a_taken_port_is_told_and_another_one_offered();
  void S16_a_restart_onto_a_taken_port_goes_back();
  void a_free_port_stays_through_a_restart();
  void changes_during_a_restart_are_not_lost();
  void the_server_starts_with_lathe_when_asked();
  void without_a_model_the_server_says_so();
  void without_a_model_the_page_is_red();
  void the_page_scrolls_where_it_is_too_small();
  void an_error_of_the_engine_leaves_the_server_running();
  void F6_is_the_switch();
  void hosts_have_brackets_where_they_need_them();

 private:
  QString state() { return fixture->find<QLabel>("serve.state")->text(); }
  QString facts() { return fixture->find<QLabel>("serve.facts")->text(); }
  std::uint16_t port() { return fixture->workbench->server().status().port; }
  app::Settings& settings() { return fixture->workbench->settings(); }
  bool turn_on() {
    fixture->click("serve.on");
    return QTest::qWaitFor([this] { return state() == "Running"; }, 10000);
  }
  HttpReply ask(const std::string& model = "fake", const std::string& more = {}) {
    const engine::Json body{{"model", model}, {"messages", {{{"role", "user"}, {"content", "How?"}}}}};
    return HttpClient(port()).post("/v1/chat/completions", engine::dump_json(body), more);
  }
  static QString copied() { return QGuiApplication::clipboard()->text(); }
  std::string key() { return settings().get("server/api_key").get<std::string>(); }
  /// Into the field in place of what is there.
  void type_key(const char* key) {
    auto* field = fixture->find<QLineEdit>("serve.key");
    fixture->window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
    field->setFocus();
    field->selectAll();
    QTest::keyClick(field, Qt::Key_Delete);
    QTest::keyClicks(field, key);
    QTest::keyClick(field, Qt::Key_Return);
  }

  std::unique_ptr<WindowFixture> fixture;
};

void ServeTest::the_switch_starts_and_stops_the_server() {
  QCOMPARE(state(), QString("Off"));
  QVERIFY(!fixture->find<QWidget>("serve.test")->isEnabled());
  QVERIFY(turn_on());
  const std::uint16_t where = port();
  QCOMPARE(HttpClient(where).get("/health").status, 200);
  const HttpReply reply = ask();
  QCOMPARE(reply.status, 200);
  QCOMPARE(reply.json()["choices"][0]["message"]["content"].get<std::string>(), std::string("Blocks of sixteen tokens."));
  fixture->click("serve.on");
  QTRY_COMPARE(state(), QString("Off"));
  QVERIFY(!HttpClient(where).connected());
}

void ServeTest::the_row_shows_the_address_and_counts_requests() {
  QVERIFY(turn_on());
  QCOMPARE(fixture->find<QLabel>("serve.dialect.openai.address")->text(), QString("http://127.0.0.1:%1/v1").arg(port()));
  QVERIFY(fixture->find<QLabel>("serve.dialect.openai.state")->text().endsWith("On"));
  QCOMPARE(fixture->find<QLabel>("serve.dialect.openai.requests")->text(), QString("0"));
  QCOMPARE(ask().status, 200);
  QTRY_COMPARE(fixture->find<QLabel>("serve.dialect.openai.requests")->text(), QString("1"));
  QTRY_VERIFY2(facts().contains("1 request"), qPrintable(facts()));
}

void ServeTest::curl_address_and_environment_are_copied() {
  QVERIFY(turn_on());
  const QString address = QString("http://127.0.0.1:%1/v1").arg(port());
  fixture->click("serve.dialect.openai.curl");
  QVERIFY2(copied().startsWith("curl ") && copied().contains(address + "/chat/completions"), qPrintable(copied()));
  QVERIFY(copied().contains("\"fake\""));
  fixture->trigger("server.copy_url");
  QCOMPARE(copied(), address);
  fixture->trigger("server.copy_curl");
  QVERIFY2(copied().contains(address + "/chat/completions"), qPrintable(copied()));
  fixture->click("serve.environment");
  QCOMPARE(copied(), QString("export OPENAI_BASE_URL=%1\nexport OPENAI_API_KEY=none\n").arg(address));
}

void ServeTest::the_test_request_shows_the_answer() {
  QVERIFY(turn_on());
  QVERIFY(!fixture->find<QWidget>("serve.answer")->isVisible());
  fixture->click("serve.test");
  auto* answer = fixture->find<QPlainTextEdit>("serve.answer");
  QTRY_VERIFY(answer->toPlainText().contains("[DONE]"));
  QVERIFY(answer->isVisible());
  QVERIFY(answer->toPlainText().startsWith("HTTP/1.1 200"));
  fixture->click("serve.answer.close");
  QVERIFY(!answer->isVisible());
  QCOMPARE(fixture->engine()->submitted().size(), std::size_t{1});
  QCOMPARE(fixture->engine()->submitted()[0].sampling.max_tokens, std::int64_t{64});
}

void ServeTest::a_new_key_is_masked_and_asked_for() {
  QVERIFY(turn_on());
  QVERIFY(fixture->find<QLineEdit>("serve.key")->text().isEmpty());
  fixture->click("serve.key.new");
  const std::string key = settings().get("server/api_key").get<std::string>();
  QCOMPARE(key.size(), std::string("lathe-").size() + 32);
  const QString shown = fixture->find<QLineEdit>("serve.key")->text();
  QCOMPARE(shown, ui::masked(QString::fromStdString(key)));
  QVERIFY(!shown.contains(QString::fromStdString(key)));
  QTRY_COMPARE(ask().status, 401);
  QCOMPARE(ask("fake", "Authorization: Bearer " + key + "\r\n").status, 200);
  fixture->click("serve.key.copy");
  QCOMPARE(copied().toStdString(), key);
  QTRY_COMPARE(state(), QString("Running"));  // again, with the key
  fixture->click("serve.test");               // the window knows its own key
  QTRY_VERIFY(fixture->find<QPlainTextEdit>("serve.answer")->toPlainText().contains("[DONE]"));
}

void ServeTest::a_key_is_typed_and_taken_away() {
  QVERIFY(turn_on());
  type_key("my-own-key-of-many-letters");
  QCOMPARE(key(), std::string("my-own-key-of-many-letters"));
  QTRY_COMPARE(ask().status, 401);
  QCOMPARE(ask("fake", "Authorization: Bearer my-own-key-of-many-letters\r\n").status, 200);
  auto* field = fixture->find<QLineEdit>("serve.key");
  QCOMPARE(field->echoMode(), QLineEdit::Password);
  fixture->find<QLineEdit>("serve.model_name")->setFocus();
  QCOMPARE(field->echoMode(), QLineEdit::Normal);
  QVERIFY2(field->text().endsWith("ters") && !field->text().contains("letters"), qPrintable(field->text()));
  type_key("");
  QCOMPARE(key(), std::string());
  QTRY_COMPARE(ask().status, 200);
}

void ServeTest::a_key_is_needed_where_others_reach() {
  auto* host = fixture->find<QComboBox>("serve.host");
  host->setCurrentIndex(1);
  Q_EMIT host->activated(1);
  const std::string made = key();
  QVERIFY(!made.empty());
  type_key("");
  QCOMPARE(key(), made);
  auto* warning = fixture->find<QLabel>("serve.warning");
  QVERIFY2(warning->isVisible() && warning->text().contains("the old key is kept"), qPrintable(warning->text()));
  type_key("two words");
  QCOMPARE(key(), made);
  QVERIFY2(warning->text().contains("one word"), qPrintable(warning->text()));
  type_key("another-key");
  QCOMPARE(key(), std::string("another-key"));
  QVERIFY2(!warning->text().contains("the old key is kept"), qPrintable(warning->text()));
}

void ServeTest::the_key_is_shown_when_asked() {
  fixture->click("serve.key.new");
  auto* field = fixture->find<QLineEdit>("serve.key");
  const QString whole = QString::fromStdString(key());
  QVERIFY(field->text() != whole);
  fixture->click("serve.key.reveal");
  QCOMPARE(field->text(), whole);
  QCOMPARE(field->echoMode(), QLineEdit::Normal);
  fixture->click("serve.key.reveal");
  QCOMPARE(field->text(), ui::masked(whole));
}

void ServeTest::every_address_makes_a_key_and_warns() {
  QVERIFY(!fixture->find<QWidget>("serve.warning")->isVisible());
  auto* host = fixture->find<QComboBox>("serve.host");
  host->setCurrentIndex(1);
  Q_EMIT host->activated(1);
  QCOMPARE(settings().get("server/host").get<std::string>(), std::string("0.0.0.0"));
  QVERIFY(!settings().get("server/api_key").get<std::string>().empty());
  QVERIFY(fixture->find<QWidget>("serve.warning")->isVisible());
  QVERIFY(!fixture->find<QLineEdit>("serve.key")->text().isEmpty());
  QVERIFY(turn_on());
  QCOMPARE(ask().status, 401);
  fixture->click("serve.environment");
  QVERIFY2(copied().contains(QString("http://127.0.0.1:%1/v1").arg(port())), qPrintable(copied()));
}

void ServeTest::an_address_of_the_settings_is_shown() {
  fixture.reset();
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.workbench->settings().set("server/host", "::1");
  }
  fixture = std::make_unique<WindowFixture>(FakeLoad(), profile.path());
  auto* host = fixture->find<QComboBox>("serve.host");
  QCOMPARE(host->currentData().toString(), QString("::1"));
  QVERIFY(host->currentText().contains("this computer only"));
  fixture->trigger("page.serve");
  QVERIFY(!fixture->find<QWidget>("serve.warning")->isVisible());
  QVERIFY(fixture->load_model());
  QTcpServer probe;
  if (!probe.listen(QHostAddress::LocalHostIPv6)) QSKIP("this machine has no IPv6");
  QVERIFY(turn_on());
  fixture->click("serve.test");
  auto* answer = fixture->find<QPlainTextEdit>("serve.answer");
  QTRY_VERIFY2(answer->toPlainText().contains("[DONE]"), qPrintable(answer->toPlainText()));
}

void ServeTest::a_dialect_that_is_off_answers_404() {
  QVERIFY(turn_on());
  QCOMPARE(ask().status, 200);
  fixture->click("serve.dialect.openai.on");
  QTRY_COMPARE(ask().status, 404);
  QTRY_VERIFY(fixture->find<QLabel>("serve.dialect.openai.state")->text().endsWith("Off"));
  fixture->click("serve.dialect.openai.on");
  QTRY_COMPARE(ask().status, 200);
}

void ServeTest::the_model_answers_under_the_chosen_name() {
  QVERIFY(turn_on());
  QCOMPARE(ask("fake").status, 200);
  auto* name = fixture->find<QLineEdit>("serve.model_name");
  name->setFocus();
  name->setText("my-model");
  QTest::keyClick(name, Qt::Key_Return);
  QTRY_COMPARE(ask("my-model").status, 200);
  QCOMPARE(ask("my-model").json()["model"].get<std::string>(), std::string("my-model"));
  QCOMPARE(ask("fake").status, 404);
  QCOMPARE(HttpClient(port()).get("/v1/models").json()["data"][0]["id"].get<std::string>(), std::string("my-model"));
  QTRY_COMPARE(fixture->find<ui::Chip>("serve.model")->word(), QString("my-model"));
  fixture->click("serve.dialect.openai.curl");
  QVERIFY(copied().contains("my-model"));
}

void ServeTest::S16_a_taken_port_is_told_and_another_one_offered() {
  QTcpServer other;
  QVERIFY(other.listen(QHostAddress::LocalHost));
  fixture->find<QSpinBox>("serve.port")->setValue(other.serverPort());
  fixture->click("serve.on");
  QTRY_COMPARE(state(), QString("Not running"));
  QVERIFY2(facts().contains(QString("Port %1 is used by").arg(other.serverPort())), qPrintable(facts()));
  auto* fix = fixture->find<QAbstractButton>("serve.dialect.openai.fix");
  QVERIFY(fix->isVisible());
  const int offered = fixture->workbench->server().status().free_port;
  QVERIFY(offered > other.serverPort());
  QCOMPARE(fix->text(), QString("Use %1").arg(offered));
  QTest::mouseClick(fix, Qt::LeftButton);
  QTRY_COMPARE(state(), QString("Running"));
  QCOMPARE(int(port()), offered);
  QCOMPARE(fixture->find<QSpinBox>("serve.port")->value(), offered);
  QCOMPARE(ask().status, 200);
  QVERIFY(!fix->isVisible());
}

void ServeTest::S16_a_restart_onto_a_taken_port_goes_back() {
  QVERIFY(turn_on());
  const std::uint16_t good = port();
  QTcpServer other;
  QVERIFY(other.listen(QHostAddress::LocalHost));
  fixture->find<QSpinBox>("serve.port")->setValue(other.serverPort());
  QTRY_VERIFY2(facts().contains(QString("The server stays at 127.0.0.1:%1").arg(good)), qPrintable(facts()));
  QVERIFY(facts().contains(QString("Port %1 is used by").arg(other.serverPort())));
  QCOMPARE(state(), QString("Running"));
  QCOMPARE(port(), good);
  QCOMPARE(ask().status, 200);
  QVERIFY(fixture->find<QSpinBox>("serve.port")->value() != other.serverPort());
  QVERIFY(settings().get("server/port") != int(other.serverPort()));
  fixture->click("serve.cors");  // the next change that works takes the words away
  QTRY_VERIFY(facts().startsWith("since"));
}

void ServeTest::a_free_port_stays_through_a_restart() {
  QVERIFY(turn_on());
  const std::uint16_t where = port();
  fixture->click("serve.cors");
  QTRY_COMPARE(HttpClient(where).get("/v1/models", "Origin: http://localhost\r\n").field("Access-Control-Allow-Origin"),
               std::string("http://localhost"));
  QCOMPARE(port(), where);
}

void ServeTest::changes_during_a_restart_are_not_lost() {
  QVERIFY(turn_on());
  const std::uint16_t where = port();
  fixture->click("serve.key.new");
  fixture->click("serve.dialect.openai.on");  // while the first one restarts
  const std::string key = settings().get("server/api_key").get<std::string>();
  QTRY_COMPARE(HttpClient(where).post("/v1/chat/completions", "{}", "Authorization: Bearer " + key + "\r\n").status, 404);
  QTRY_COMPARE(state(), QString("Running"));
}

void ServeTest::the_server_starts_with_lathe_when_asked() {
  fixture->click("serve.autostart");
  QVERIFY(settings().get("server/autostart").get<bool>());
  fixture.reset();
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    first.workbench->settings().set("server/autostart", true);
    QVERIFY(first.load_model());
    QCOMPARE(first.workbench->server().status().state, app::ServerState::off);
  }
  fixture = std::make_unique<WindowFixture>(FakeLoad(), profile.path());
  QCOMPARE(fixture->workbench->server().status().state, app::ServerState::off);
  QVERIFY(fixture->load_model());
  QTRY_COMPARE(fixture->workbench->server().status().state, app::ServerState::running);
  fixture->trigger("page.serve");
  QTRY_COMPARE(state(), QString("Running"));
}

void ServeTest::without_a_model_the_server_says_so() {
  QVERIFY(turn_on());
  fixture->trigger("model.unload");
  QTRY_COMPARE(ask().status, 503);
  QTRY_COMPARE(fixture->find<ui::Chip>("serve.model")->word(), QString("No model loaded"));
  QVERIFY(fixture->load_model());
  QTRY_COMPARE(ask().status, 200);
}

void ServeTest::without_a_model_the_page_is_red() {
  QVERIFY(turn_on());
  fixture->trigger("model.unload");
  QTRY_COMPARE(state(), QString("No model"));
  QVERIFY2(facts().startsWith("Every request is answered 503"), qPrintable(facts()));
  const ui::Tokens& tokens = fixture->theme->tokens();
  QCOMPARE(fixture->find<QLabel>("serve.state")->palette().color(QPalette::WindowText), tokens.error.text);
  const QString row = fixture->find<QLabel>("serve.dialect.openai.state")->text();
  QVERIFY2(row.contains("Answers 503") && row.contains(tokens.error.fill.name()), qPrintable(row));
  QCOMPARE(ask().status, 503);
  QVERIFY(fixture->load_model());
  QTRY_COMPARE(state(), QString("Running"));
  QVERIFY(fixture->find<QLabel>("serve.dialect.openai.state")->text().endsWith("On"));
  QCOMPARE(fixture->find<QLabel>("serve.state")->palette().color(QPalette::WindowText), tokens.text);
}

void ServeTest::the_page_scrolls_where_it_is_too_small() {
  auto* scroll = fixture->find<QScrollArea>("serve.scroll");
  for (const QSize& size : {QSize(1024, 700), QSize(1440, 900), QSize(2560, 1440)}) {
    fixture->window->resize(size);
    fixture->trigger("layout.serving");
    QCoreApplication::processEvents();
    const QWidget* contents = scroll->widget();
    QTRY_VERIFY(contents->height() >= contents->minimumSizeHint().height());
    for (const char* name : {"serve.host", "serve.port", "serve.key", "serve.model_name"}) {
      const auto* control = fixture->find<QWidget>(name);
      QVERIFY2(control->height() >= control->minimumSizeHint().height(), name);
    }
    QVERIFY(fixture->find<QLabel>("serve.state")->height() >= fixture->find<QLabel>("serve.state")->sizeHint().height());
  }
}

void ServeTest::an_error_of_the_engine_leaves_the_server_running() {
  QVERIFY(turn_on());
  fixture->engine()->fail_after(3, engine::Error{engine::ErrorCode::internal, "the step failed", "step"});
  const HttpReply failed = ask();
  QCOMPARE(failed.status, 500);
  QVERIFY(failed.body.find("the engine failed on this request") != std::string::npos);  // its insides are not for clients
  fixture->engine()->fail_after(1000, {});
  QCOMPARE(ask().status, 200);
  QCOMPARE(state(), QString("Running"));
  QTRY_VERIFY2(facts().contains("1 error"), qPrintable(facts()));
  // The chat shares the engine: an answer of the server's failed, the next one of the chat does not.
  fixture->trigger("page.chat");
  fixture->say("And here?");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Blocks of sixteen tokens."));
}

void ServeTest::F6_is_the_switch() {
  fixture->window->activateWindow();
  QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
  QTest::keyClick(fixture->window.get(), Qt::Key_F6);
  QTRY_COMPARE(state(), QString("Running"));
  QTest::keyClick(fixture->window.get(), Qt::Key_F6);
  QTRY_COMPARE(state(), QString("Off"));
}

void ServeTest::hosts_have_brackets_where_they_need_them() {
  app::ServerStatus status;
  status.port = 8000;
  const std::pair<const char*, const char*> cases[] = {{"127.0.0.1", "127.0.0.1:8000"},
                                                       {"0.0.0.0", "127.0.0.1:8000"},
                                                       {"::1", "[::1]:8000"},
                                                       {"::", "[::1]:8000"},
                                                       {"192.168.1.7", "192.168.1.7:8000"}};
  for (const auto& [host, expected] : cases) {
    status.host = host;
    QCOMPARE(ui::authority(status), QString(expected));
  }
  QVERIFY(ui::environment_lines(status, "k").contains("http://192.168.1.7:8000/v1\n"));
  QVERIFY(ui::is_this_computer("::1") && ui::is_this_computer("127.0.0.2") && !ui::is_this_computer("0.0.0.0"));
}

LATHE_WINDOW_TEST(ServeTest)

}  // namespace serve_test
#include "serve_test.moc"
