// SPDX-License-Identifier: Apache-2.0
// Fields of the dialects' tables over HTTP: those that are refused are named, those that are ignored are warned of, and
// values that ask for nothing pass.
#include <QtTest>
#include <set>

#include "app/server/dialects/anthropic/anthropic.h"
#include "app/server/dialects/ollama/ollama.h"
#include "app/server/dialects/openai/response_fields.h"
#include "engine/api/word_list.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace dialect_fields_test {

using namespace lathe;
using app::FieldFate;
using app::KnownField;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;

namespace {

struct DialectFields {
  const char* path;
  std::span<const KnownField> (*table)();
  Json body;
};

const std::vector<DialectFields>& tables() {
  static const std::vector<DialectFields> all = {
      {"/v1/messages", app::anthropic::request_fields, tests::chat_body("a")},
      {"/api/chat", app::ollama::request_fields, tests::chat_body("a", {{"stream", false}})},
      {"/v1/responses", app::openai::response_fields, {{"input", "a"}, {"store", false}}},
  };
  return all;
}

/// The body with a value for the field that asks for something, and with a companion that it needs for that; null if the
/// companion is refused itself.
Json asking(const DialectFields& dialect, const KnownField& field) {
  Json body = dialect.body;
  body[std::string(field.name)] = 12345;
  bool is_refused = false;
  engine::any_word(field.with, [&](std::string_view other) {
    body[std::string(other)] = 1.5;
    const KnownField* companion = app::find_field(dialect.table(), other);
    is_refused = companion != nullptr && companion->fate == FieldFate::refused;
    return true;
  });
  return is_refused ? Json() : body;
}

}  // namespace

class DialectFieldsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void tables_are_sound() {
    for (const DialectFields& dialect : tables()) {
      std::set<std::string_view> names;
      for (const KnownField& field : dialect.table()) {
        QVERIFY2(names.insert(field.name).second, std::string(field.name).c_str());
      }
      for (const KnownField& field : app::known_fields()) QVERIFY(names.contains(field.name));
    }
  }

  void refused_fields_are_named() {
    for_each(FieldFate::refused, [&](const DialectFields& dialect, const KnownField& field, const Json& body) {
      const HttpReply reply = HttpClient(fixture_->port()).post(dialect.path, body);
      QVERIFY2(reply.status == 400, (std::string(field.name) + ": " + reply.body).c_str());
      VERIFY_HAS(reply.body, std::string(field.name));
    });
    QVERIFY(fixture_->engine().submitted().empty());
  }

  void warned_fields_are_in_the_answer() {
    for_each(FieldFate::warned, [&](const DialectFields& dialect, const KnownField& field, const Json& body) {
      const HttpReply reply = HttpClient(fixture_->port()).post(dialect.path, body);
      QVERIFY2(reply.status == 200, (std::string(field.name) + ": " + reply.body).c_str());
      VERIFY_HAS(reply.field("Lathe-Ignored-Fields"), std::string(field.name));
      QVERIFY(!reply.json()["warnings"].empty());
    });
  }

  void harmless_fields_pass_silently() {
    for_each(FieldFate::harmless, [&](const DialectFields& dialect, const KnownField& field, const Json& body) {
      const HttpReply reply = HttpClient(fixture_->port()).post(dialect.path, body);
      QVERIFY2(reply.status == 200, (std::string(field.name) + ": " + reply.body).c_str());
      QVERIFY2(!reply.json().contains("warnings"), reply.body.c_str());
    });
  }

  void unknown_fields_are_warned_of() {
    for (const DialectFields& dialect : tables()) {
      Json body = dialect.body;
      body["no_such_field"] = 1;
      const HttpReply reply = HttpClient(fixture_->port()).post(dialect.path, body);
      QCOMPARE(reply.status, 200);
      QCOMPARE(reply.field("Lathe-Ignored-Fields"), std::string("no_such_field"));
    }
  }

 private:
  template <class Use>
  static void for_each(FieldFate fate, Use use) {
    for (const DialectFields& dialect : tables()) {
      for (const KnownField& field : dialect.table()) {
        if (field.fate != fate) continue;
        const Json body = asking(dialect, field);
        if (!body.is_null()) use(dialect, field, body);
        if (QTest::currentTestFailed()) return;
      }
    }
  }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

LATHE_TEST(DialectFieldsTest)

}  // namespace dialect_fields_test
#include "dialect_fields_test.moc"
