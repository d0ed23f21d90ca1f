// SPDX-License-Identifier: Apache-2.0
// The chat templates of a checkpoint, the order in which its files count, and the one that an option means.
#include "engine/serve/chat_template_source.h"

#include <QTest>
#include <filesystem>

#include "engine/api/text_template.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace chat_template_source_test {

using namespace lathe::engine;
using lathe::tests::TextFolder;

namespace {

using Files = std::vector<std::pair<const char*, const char*>>;

/// "name: text; ...".
std::string shown(const NamedTemplates& templates) {
  std::string text;
  for (const NamedTemplate& one : templates.all()) text += one.name + ": " + one.text + "; ";
  return text;
}

std::string found(const Files& files) {
  const TextFolder folder;
  std::filesystem::create_directory(folder.path() + "/additional_chat_templates");
  for (const auto& [name, text] : files) folder.write(name, text);
  const auto model = ModelFolder::open_files(folder.path());
  if (!model) return "no folder";
  std::vector<std::string> warnings;
  const auto templates = read_chat_templates(*model, warnings);
  if (!templates) return "refused: " + templates.error().message;
  std::string text = shown(*templates);
  for (const std::string& warning : warnings) text += "warning: " + warning + "; ";
  return text;
}

constexpr const char *kConfig = "tokenizer_config.json", *kJinja = "chat_template.jinja", *kJson = "chat_template.json",
                     *kTools = "additional_chat_templates/tool_use.jinja", *kRag = "additional_chat_templates/rag.jinja";

NamedTemplates made(const Files& templates) {
  NamedTemplates out;
  for (const auto& [name, text] : templates) out.set(name, text);
  return out;
}

}  // namespace

class ChatTemplateSourceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void one_template() {
    QCOMPARE(found({}), std::string());
    QCOMPARE(found({{kConfig, R"({"chat_template":"c"})"}}), std::string("default: c; "));
    QCOMPARE(found({{kJinja, "j"}}), std::string("default: j; "));
    QCOMPARE(found({{kJinja, ""}}), std::string("warning: chat_template.jinja is empty (0 bytes), and is left out; "));
    QCOMPARE(found({{kJinja, " \n"}, {kConfig, R"({"chat_template":"c"})"}}),
             std::string("default: c; warning: chat_template.jinja is empty (2 bytes), and is left out; "));
    QCOMPARE(found({{kJson, R"({"chat_template":"s"})"}}), std::string("default: s; "));
    QCOMPARE(found({{kConfig, R"({"chat_template":null})"}, {kJson, R"({"chat_template":"s"})"}}),
             std::string("default: s; "));
  }
  void named_templates() {
    const std::string expected = "default: d; tool_use: t; ";
    QCOMPARE(
        found({{kConfig, R"({"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]})"}}),
        expected);
    QCOMPARE(found({{kConfig, R"({"chat_template":{"default":"d","tool_use":"t"}})"}}), expected);
    QCOMPARE(found({{kJson, R"({"chat_template":{"default":"d","tool_use":"t"}})"}}), expected);
    QCOMPARE(found({{kJinja, "d"}, {kTools, "t"}}), expected);
    QCOMPARE(found({{kTools, "t"}, {kRag, "r"}, {"additional_chat_templates/notes.txt", "n"}}),
             std::string("rag: r; tool_use: t; "));
  }
  void files_of_templates_count_before_the_configuration() {
    QCOMPARE(found({{kJinja, "j"}, {kConfig, R"({"chat_template":{"default":"d","tool_use":"t"}})"}}),
             std::string("default: j; "));
    QCOMPARE(found({{kConfig, R"({"chat_template":"c"})"}, {kJson, R"({"chat_template":"s"})"}}),
             std::string("default: c; "));
    // Only a default is looked for further on.
    QCOMPARE(found({{kTools, "t"}, {kConfig, R"({"chat_template":{"default":"d","rag":"r"}})"}}),
             std::string("default: d; tool_use: t; "));
    QCOMPARE(found({{kTools, "t"}, {kJson, R"({"chat_template":"s"})"}}), std::string("default: s; tool_use: t; "));
  }
  void entries_of_another_form_are_left_out() {
    QCOMPARE(found({{kConfig, R"({"chat_template":[5,{"name":"a"},{"template":"b"},{"name":1,"template":"c"},)"
                              R"({"name":"d","template":"e"},{"name":"d","template":"f"}]})"}}),
             std::string("d: f; "));
    QCOMPARE(found({{kConfig, R"({"chat_template":5})"}}), std::string());
  }
  void L_a_file_that_cannot_be_read_is_left_out_with_a_warning() {
    const std::string text((1 << 20) + 1, 'x');
    QVERIFY(found({{kJinja, "d"}, {kTools, text.c_str()}})
                .starts_with("default: d; warning: additional_chat_templates/tool_use.jinja is left out: "));
    QVERIFY(found({{kConfig, "{,}"}, {kJson, R"({"chat_template":"s"})"}})
                .starts_with("default: s; warning: tokenizer_config.json is left out: "));
  }

  void tools_choose_tool_use() {
    const NamedTemplates both = made({{"default", "d"}, {"tool_use", "t"}, {"rag", "r"}});
    QCOMPARE(*both.choose(true), std::string("t"));
    QCOMPARE(*both.choose(false), std::string("d"));
    QCOMPARE(both.names(), std::string("default, rag, tool_use"));
    const NamedTemplates one = made({{"default", "d"}});
    QCOMPARE(*one.choose(true), std::string("d"));
    const NamedTemplates none = made({{"tool_use", "t"}});
    QVERIFY(none.choose(false) == nullptr);
    QCOMPARE(*none.choose(true), std::string("t"));
  }
  void an_option_is_a_name_a_file_or_a_text() {
    const TextFolder folder;
    const std::string file = folder.write("mine.jinja", "of a file");
    const NamedTemplates of_model = made({{"default", "d"}, {"rag", "r"}});
    QVERIFY(*choose_templates(of_model, "") == of_model);
    QCOMPARE(shown(*choose_templates(of_model, "rag")), std::string("default: r; "));
    QCOMPARE(shown(*choose_templates(of_model, file)), std::string("default: of a file; "));
    QCOMPARE(shown(*choose_templates(of_model, "{{ messages }}")), std::string("default: {{ messages }}; "));
    const auto refused = choose_templates(of_model, "tool_use");
    QVERIFY(!refused && refused.error().code == ErrorCode::not_found);
    QVERIFY2(refused.error().message.find("default, rag") != std::string::npos, refused.error().message.c_str());
  }
  void a_configuration_keeps_names() {
    QVERIFY(chat_template_value(made({{"default", "d"}})) == Json("d"));
    const Json list = chat_template_value(made({{"default", "d"}, {"rag", "r"}}));
    QVERIFY(list == Json::parse(R"([{"name":"default","template":"d"},{"name":"rag","template":"r"}])"));
  }
};

LATHE_TEST(ChatTemplateSourceTest)

}  // namespace chat_template_source_test
#include "chat_template_source_test.moc"
