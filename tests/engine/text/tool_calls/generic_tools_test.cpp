// SPDX-License-Identifier: Apache-2.0
// Tools, calls and results as texts, under templates that know no tools: which messages the template gets, and in which role
// the tools are explained.
#include <QtTest>

#include "engine/api/generic_tools.h"
#include "tests/support/test_class.h"

namespace generic_tools_test {

using namespace lathe::engine;

namespace {

const OrderedJson kTools = OrderedJson::parse(
    R"([{"type":"function","function":{"name":"weather","description":"Of a city.","parameters":{"type":"object",)"
    R"("properties":{"zip":{"type":"integer"},"city":{"type":"string"}}}}},{"type":"function","function":{"name":"time"}}])");

constexpr const char* kAnyRole = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}";
/// As Gemma 2 and Mistral do: no system role, and roles alternate.
constexpr const char* kStrictRoles =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}";
constexpr const char* kDropsSystem =
    "{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
constexpr const char* kParts =
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}";

QString render(const char* source, std::vector<ChatMessage> messages, const OrderedJson& tools = kTools) {
  const auto chat_template = compile_chat_template(source, {}).value();
  const auto spans = render_generic_tools(*chat_template, std::move(messages), {.tools = tools});
  return QString::fromStdString(spans ? joined(*spans) : "refused: " + spans.error().message);
}

/// The texts of a prompt by their roles: "<user>" and all up to the next role.
QString turn(const QString& prompt, const QString& role, int n = 0) { return prompt.split("<" + role + ">")[n + 1]; }

}  // namespace

class GenericToolsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void tools_are_explained_in_a_system_message() {
    const QString prompt = render(kAnyRole, {{"user", "Rain?"}});
    QVERIFY2(prompt.startsWith("<system>You can use tools."), qPrintable(prompt));
    QVERIFY(prompt.endsWith("<user>Rain?"));
    // One line for each tool, with its keys in the order of the request.
    QVERIFY(prompt.contains(
        "\n{\"name\":\"weather\",\"description\":\"Of a city.\",\"parameters\":{\"type\":\"object\",\"properties\":"
        "{\"zip\":{\"type\":\"integer\"},\"city\":{\"type\":\"string\"}}}}\n{\"name\":\"time\"}\n</tools>"));
    QVERIFY(prompt.contains("<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool_call>"));
  }

  void the_explanation_follows_the_system_message_of_the_request() {
    const QString prompt = render(kAnyRole, {{"system", "Be brief."}, {"user", "Rain?"}});
    QVERIFY2(prompt.startsWith("<system>Be brief.\n\nYou can use tools."), qPrintable(prompt));
    QCOMPARE(prompt.count("<system>"), 1);
  }

  void without_a_system_role_the_first_user_gets_the_explanation() {
    for (const char* source : {kStrictRoles, kDropsSystem}) {
      const QString prompt = render(source, {{"user", "Rain?"}, {"assistant", "Where?"}, {"user", "Here."}});
      QVERIFY2(prompt.startsWith("<user>You can use tools."), qPrintable(prompt));
      QVERIFY(prompt.endsWith("\n\nRain?<assistant>Where?<user>Here."));
    }
    QVERIFY(render(kStrictRoles, {{"system", "Be brief."}, {"user", "Rain?"}}).contains("no system role"));
    QVERIFY(render(kDropsSystem, {{"assistant", "Hi."}}).endsWith("no tool is needed.<assistant>Hi."));
  }

  void calls_and_results_are_texts_of_alternating_roles() {
    ChatMessage calls{.role = "assistant", .content = "I look."};
    calls.tool_calls = {{"weather", R"({"zip":1, "city":"Zürich \"W\""})", "c1"}, {"time", "", "c2"}};
    const QString prompt = render(kStrictRoles, {{"user", "Rain?"},
                                                 calls,
                                                 {.role = "tool", .content = "dry", .tool_call_id = "c1"},
                                                 {.role = "tool", .content = "noon", .tool_call_id = "c2"},
                                                 {"user", "And then?"},
                                                 {"assistant", "Wait."}});
    QCOMPARE(
        turn(prompt, "assistant").section("<user>", 0, 0),
        QString("I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"zip\":1,\"city\":\"Zürich \\\"W\\\"\"}}\n"
                "</tool_call>\n<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"));
    QCOMPARE(turn(prompt, "user", 1).section("<assistant>", 0, 0),
             QString("<tool_response name=\"weather\">\ndry\n</tool_response>\n<tool_response name=\"time\">\nnoon\n"
                     "</tool_response>\n\nAnd then?"));
  }

  void a_result_of_an_unknown_call_has_no_name() {
    const QString prompt = render(kAnyRole, {{.role = "tool", .content = "dry", .tool_call_id = "c9"}});
    QVERIFY2(prompt.endsWith("<user><tool_response>\ndry\n</tool_response>"), qPrintable(prompt));
  }

  void calls_of_earlier_turns_are_texts_without_tools_too() {
    ChatMessage call{.role = "assistant"};
    call.tool_calls = {{"time", "{}", "c1"}};
    const std::vector<ChatMessage> messages = {
        {"user", "Now?"}, call, {.role = "tool", .content = "noon", .tool_call_id = "c1"}};
    QVERIFY(needs_generic_tools(messages, {}));
    QVERIFY(!needs_generic_tools({{"user", "Now?"}, {"assistant", "Noon."}}, {}));
    QVERIFY(needs_generic_tools({{"user", "Now?"}}, {.tools = kTools}));
    QCOMPARE(render(kStrictRoles, messages, nullptr),
             QString("<user>Now?<assistant><tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n</tool_call>"
                     "<user><tool_response name=\"time\">\nnoon\n</tool_response>"));
  }

  void templates_of_parts_get_parts() {
    ChatMessage user{.role = "user", .content = "Rain?\nSnow?", .parts = {"Rain?", "Snow?"}};
    const QString prompt = render(kParts, {{.role = "system", .content = "Be.", .parts = {"Be."}}, user});
    QVERIFY2(prompt.startsWith("<system>[Be.][You can use tools."), qPrintable(prompt));
    QVERIFY(prompt.endsWith("<user>[Rain?][Snow?]"));
  }

  void T6_texts_of_tools_are_no_control_tokens() {
    const auto chat_template = compile_chat_template(kAnyRole, {}).value();
    const auto spans = render_generic_tools(*chat_template, {{"user", "Rain?"}}, {.tools = kTools}).value();
    for (const TextSpan& span : spans) QVERIFY(!span.parse_special || span.text.find("tool") == std::string::npos);
  }
};

LATHE_TEST(GenericToolsTest)

}  // namespace generic_tools_test
#include "generic_tools_test.moc"
