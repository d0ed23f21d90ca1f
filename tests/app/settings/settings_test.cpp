// SPDX-License-Identifier: Apache-2.0
#include "app/api/settings.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/support/german_locale.h"
#include "tests/support/test_class.h"

namespace settings_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::open_settings;
using lathe::app::setting_table;
using lathe::engine::Json;

/// A folder with a settings file of the given content, if any.
struct Folder {
  QTemporaryDir temporary;
  std::string path = temporary.path().toStdString();
  std::string file() const { return path + "/settings.json"; }

  void write(const std::string& content) const { std::ofstream(file(), std::ios::binary) << content; }
  std::string read() const {
    std::ifstream stream(file(), std::ios::binary);
    std::ostringstream content;
    content << stream.rdbuf();
    return content.str();
  }
  /// The names of the files that were set aside.
  std::vector<std::string> bad_files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("settings.json.bad-")) names.push_back(name);
    }
    return names;
  }
};

/// Another value of the same type.
Json changed(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean: return !value.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return value.get<std::int64_t>() + 1;
    case Json::value_t::number_float: return value.get<double>() + 0.125;
    case Json::value_t::string: return value.get<std::string>() + " \"ä\" \n 漢字";
    case Json::value_t::array: return Json::array({"one", 2, 3.5});
    case Json::value_t::object: return Json{{"temperature", 0.1}, {"nested", {{"deep", true}}}};
    default: return value;
  }
}

}  // namespace

class SettingsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void keys_are_unique_and_explained();
  void unset_keys_have_their_defaults();
  void every_key_survives_a_restart();
  void options_of_a_model_survive_a_restart();
  void a_fraction_comes_back_exactly();
  void reset_brings_the_default_back();
  void a_change_is_written_without_being_asked();
  void the_end_writes_what_is_left();
  void an_unchanged_file_is_not_written();
  void keys_of_other_programs_are_kept();
  void the_file_is_readable_by_its_owner_alone();
  void a_left_over_new_file_is_harmless();
  void U3_a_truncated_file_is_set_aside();
  void U3_an_empty_file_is_set_aside();
  void U3_a_future_version_is_set_aside();
  void U3_a_file_that_is_not_an_object_is_set_aside();
  void U3_binary_rubbish_is_set_aside();
  void U3_values_of_the_wrong_type_go_back_to_defaults();
  void U3_values_out_of_range_go_back_to_defaults();
  void U3_bad_values_are_told_once_data();
  void U3_bad_values_are_told_once();
  void U3_a_folder_in_its_place_is_set_aside();
  void U3_a_second_bad_file_keeps_the_first();
  void U3_an_unwritable_home_is_told_and_survived();
  void U3_what_cannot_be_saved_is_told_once();
  void U3_a_good_file_has_no_problem();
  void U6_numbers_do_not_follow_the_locale();
};

void SettingsTest::keys_are_unique_and_explained() {
  std::set<std::string_view> keys;
  for (const auto& setting : setting_table()) {
    QVERIFY2(keys.insert(setting.key).second, std::string(setting.key).c_str());
    QVERIFY2(setting.help.ends_with('.'), std::string(setting.key).c_str());
    QVERIFY2(!setting.fallback.is_null(), std::string(setting.key).c_str());
    QVERIFY2(setting.key.find('/') != std::string_view::npos, std::string(setting.key).c_str());
  }
  QVERIFY(keys.size() >= 30);
}

void SettingsTest::unset_keys_have_their_defaults() {
  const Folder folder;
  const auto settings = open_settings(folder.path);
  for (const auto& setting : setting_table()) QVERIFY(settings->get(setting.key) == setting.fallback);
}

void SettingsTest::every_key_survives_a_restart() {
  const Folder folder;
  {
    const auto settings = open_settings(folder.path);
    for (const auto& setting : setting_table()) settings->set(setting.key, changed(setting.fallback));
    QVERIFY(settings->flush().has_value());
  }
  const auto settings = open_settings(folder.path);
  for (const auto& setting : setting_table()) {
    QVERIFY2(settings->get(setting.key) == changed(setting.fallback), std::string(setting.key).c_str());
  }
  QCOMPARE(settings->problem(), std::string());
}

void SettingsTest::options_of_a_model_survive_a_restart() {
  const Folder folder;
  const Json options = {{"dtype", "float32"}, {"max_num_seqs", "4"}};
  open_settings(folder.path)->set("model/abc", options);
  const auto settings = open_settings(folder.path);
  QVERIFY(settings->get("model/abc") == options);
  QVERIFY(settings->get("model/never seen").is_null());
}

void SettingsTest::a_fraction_comes_back_exactly() {
  const Folder folder;
  open_settings(folder.path)->set("model/x", 0.1 + 0.2);
  QCOMPARE(open_settings(folder.path)->get("model/x").get<double>(), 0.1 + 0.2);
}

void SettingsTest::reset_brings_the_default_back() {
  const Folder folder;
  {
    const auto settings = open_settings(folder.path);
    settings->set("server/port", 9000);
    settings->reset("server/port");
    QCOMPARE(settings->get("server/port").get<int>(), 8000);
  }
  QCOMPARE(open_settings(folder.path)->get("server/port").get<int>(), 8000);
}

void SettingsTest::a_change_is_written_without_being_asked() {
  const Folder folder;
  const auto settings = open_settings(folder.path);
  settings->set("server/port", 4711);
  QTRY_VERIFY_WITH_TIMEOUT(folder.read().find("4711") != std::string::npos, 20'000);
}

void SettingsTest::the_end_writes_what_is_left() {
  const Folder folder;
  open_settings(folder.path)->set("server/port", 4712);
  QVERIFY(folder.read().find("4712") != std::string::npos);
}

void SettingsTest::an_unchanged_file_is_not_written() {
  const Folder folder;
  {
    const auto settings = open_settings(folder.path);
    QVERIFY(settings->flush().has_value());
  }
  QVERIFY(!fs::exists(folder.file()));
}

void SettingsTest::keys_of_other_programs_are_kept() {
  const Folder folder;
  folder.write(R"({"version": 1, "settings": {"later/feature": [1, 2], "server/port": 81}})");
  open_settings(folder.path)->set("server/port", 82);
  const Json json = Json::parse(folder.read());
  QVERIFY(json["settings"]["later/feature"] == Json::array({1, 2}));
  QCOMPARE(json["settings"]["server/port"].get<int>(), 82);
}

void SettingsTest::the_file_is_readable_by_its_owner_alone() {
  const Folder folder;
  open_settings(folder.path)->set("server/api_key", "secret");
  QVERIFY((fs::status(folder.file()).permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
}

void SettingsTest::a_left_over_new_file_is_harmless() {
  const Folder folder;
  open_settings(folder.path)->set("server/port", 81);
  std::ofstream(folder.file() + ".new") << "{\"version\": 1, \"setti";
  const auto settings = open_settings(folder.path);
  QCOMPARE(settings->get("server/port").get<int>(), 81);
  QCOMPARE(settings->problem(), std::string());
}

namespace {

/// The rule of U3: defaults hold, the old file is kept, its content unchanged, and the user is told.
void check_set_aside(const Folder& folder, const std::string& content) {
  const auto settings = open_settings(folder.path);
  QCOMPARE(settings->get("server/port").get<int>(), 8000);
  QVERIFY(!settings->problem().empty());
  QCOMPARE(folder.bad_files().size(), std::size_t{1});
  std::ifstream kept(folder.path + "/" + folder.bad_files().front(), std::ios::binary);
  std::ostringstream text;
  text << kept.rdbuf();
  QCOMPARE(text.str(), content);
  // Told once: the next start is clean, and saving works again.
  settings->set("server/port", 81);
  QVERIFY(settings->flush().has_value());
  const auto again = open_settings(folder.path);
  QCOMPARE(again->problem(), std::string());
  QCOMPARE(again->get("server/port").get<int>(), 81);
}

void check_bad_content(const std::string& content) {
  const Folder folder;
  folder.write(content);
  check_set_aside(folder, content);
}

}  // namespace

void SettingsTest::U3_a_truncated_file_is_set_aside() {
  const std::string whole = R"({"version": 1, "settings": {"server/port": 81}})";
  for (std::size_t n = 1; n < whole.size(); n += 5) check_bad_content(whole.substr(0, n));
}

void SettingsTest::U3_an_empty_file_is_set_aside() { check_bad_content(""); }

void SettingsTest::U3_a_future_version_is_set_aside() {
  check_bad_content(R"({"version": 2, "settings": {"server/port": 81}})");
}

void SettingsTest::U3_a_file_that_is_not_an_object_is_set_aside() {
  for (const char* content :
       {"[]", "null", "5", R"({"version": "1", "settings": {}})", R"({"version": 1, "settings": []})"}) {
    check_bad_content(content);
  }
}

void SettingsTest::U3_binary_rubbish_is_set_aside() {
  std::string rubbish;
  for (int i = 0; i < 5000; ++i) rubbish += static_cast<char>(i * 37 % 256);
  check_bad_content(rubbish);
}

void SettingsTest::U3_values_of_the_wrong_type_go_back_to_defaults() {
  const Folder folder;
  folder.write(R"({"version": 1, "settings": {"server/port": "81", "server/host": 5, "chat/enter_sends": false}})");
  const auto settings = open_settings(folder.path);
  QCOMPARE(settings->get("server/port").get<int>(), 8000);
  QCOMPARE(settings->get("server/host").get<std::string>(), std::string("127.0.0.1"));
  QCOMPARE(settings->get("chat/enter_sends").get<bool>(), false);
  QVERIFY(settings->problem().find("server/port") != std::string::npos);
  QVERIFY(settings->problem().find("server/host") != std::string::npos);
  QCOMPARE(folder.bad_files().size(), std::size_t{1});
}

void SettingsTest::U3_values_out_of_range_go_back_to_defaults() {
  for (const char* port : {"65536", "-1", "18446744073709551615", "-9223372036854775808"}) {
    const Folder folder;
    folder.write(std::string(R"({"version": 1, "settings": {"server/port": )") + port + "}}");
    const auto settings = open_settings(folder.path);
    QCOMPARE(settings->get("server/port").get<int>(), 8000);
    QVERIFY(settings->problem().find("server/port") != std::string::npos);
  }
}

void SettingsTest::U3_bad_values_are_told_once_data() {
  QTest::addColumn<QByteArray>("bad");
  QTest::newRow("wrong types") << QByteArray(R"("server/port": "81", "server/host": 5)");
  QTest::newRow("out of range") << QByteArray(R"("server/port": 65536, "bench/repeats": 0)");
}

void SettingsTest::U3_bad_values_are_told_once() {
  QFETCH(QByteArray, bad);
  const Folder folder;
  const std::string old =
      R"({"version": 1, "settings": {"chat/enter_sends": false, "later/feature": [1], )" + bad.toStdString() + "}}";
  folder.write(old);
  // Nothing is set or flushed in between: a start and an end must be enough.
  QVERIFY(!open_settings(folder.path)->problem().empty());
  for (int start = 0; start < 2; ++start) {
    const auto settings = open_settings(folder.path);
    QCOMPARE(settings->problem(), std::string());
    QCOMPARE(settings->get("chat/enter_sends").get<bool>(), false);
  }
  QCOMPARE(folder.bad_files().size(), std::size_t{1});
  std::ifstream kept(folder.path + "/" + folder.bad_files().front(), std::ios::binary);
  QCOMPARE(std::string(std::istreambuf_iterator<char>(kept), {}), old);
  QVERIFY(Json::parse(folder.read())["settings"]["later/feature"] == Json::array({1}));
}

void SettingsTest::U3_a_folder_in_its_place_is_set_aside() {
  const Folder folder;
  fs::create_directories(folder.file() + "/inside");
  const auto settings = open_settings(folder.path);
  QVERIFY(!settings->problem().empty());
  settings->set("server/port", 81);
  QVERIFY(settings->flush().has_value());
  QCOMPARE(folder.bad_files().size(), std::size_t{1});
  QVERIFY(fs::is_directory(folder.path + "/" + folder.bad_files().front() + "/inside"));
}

void SettingsTest::U3_a_second_bad_file_keeps_the_first() {
  const Folder folder;
  for (const char* content : {"first", "second", "third"}) {
    folder.write(content);
    open_settings(folder.path);
  }
  QCOMPARE(folder.bad_files().size(), std::size_t{3});
}

void SettingsTest::U3_an_unwritable_home_is_told_and_survived() {
  const Folder folder;
  // A file where a folder should be made: that fails even for root.
  std::ofstream(folder.path + "/file") << "x";
  const auto settings = open_settings(folder.path + "/file/config");
  settings->set("server/port", 81);
  QVERIFY(!settings->flush().has_value());
  QCOMPARE(settings->get("server/port").get<int>(), 81);
  QVERIFY(settings->problem().find("cannot be saved") != std::string::npos);
}

void SettingsTest::U3_what_cannot_be_saved_is_told_once() {
  const Folder folder;
  std::ofstream(folder.path + "/file") << "x";
  std::vector<std::string> told;
  {
    const auto settings =
        open_settings(folder.path + "/file/config", [&told](const std::string& problem) { told.push_back(problem); });
    for (int port = 81; port < 84; ++port) {
      settings->set("server/port", port);
      QVERIFY(!settings->flush().has_value());
    }
    // Once it could be saved, the next failure is news again.
    fs::remove(folder.path + "/file");
    settings->set("server/port", 84);
    QVERIFY(settings->flush().has_value());
    QCOMPARE(told.size(), std::size_t{1});
    QVERIFY(told.front().find("settings.json") != std::string::npos);
    fs::remove_all(folder.path + "/file");
    std::ofstream(folder.path + "/file") << "x";
    settings->set("server/port", 85);
  }
  QCOMPARE(told.size(), std::size_t{2});
}

void SettingsTest::U3_a_good_file_has_no_problem() {
  const Folder folder;
  folder.write(R"({"version": 1, "settings": {}})");
  QCOMPARE(open_settings(folder.path)->problem(), std::string());
  QVERIFY(folder.bad_files().empty());
}

void SettingsTest::U6_numbers_do_not_follow_the_locale() {
  const lathe::tests::GermanLocale german;
  QVERIFY2(german.active(), "the sources of locales are missing: package locales");
  const Folder folder;
  open_settings(folder.path)->set("model/x", 1234567.5);
  QVERIFY(folder.read().find("1234567.5") != std::string::npos);
  QCOMPARE(open_settings(folder.path)->get("model/x").get<double>(), 1234567.5);
}

LATHE_TEST(SettingsTest)

}  // namespace settings_test
#include "settings_test.moc"
