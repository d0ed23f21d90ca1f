// SPDX-License-Identifier: GPL-3.0-or-later
// Branches, replies in several chats at once, and deletions that are undone, in the real window.
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QStatusBar>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/models/chat_list_model.h"
#include "ui/panels/chat/transcript.h"
#include "ui/widgets/undo_line.h"

namespace chat_tree_test {

using namespace lathe;
using namespace lathe::tests;

class ChatTreeTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>();
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Paged attention keeps blocks.");
    fixture->window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
  }
  void cleanup() { fixture.reset(); }

  void branches_of_a_question_are_switched_in_place();
  void the_branch_that_is_shown_survives_the_window();
  void a_reply_in_the_middle_is_generated_again_as_a_branch();
  void an_edited_system_prompt_has_arrows();
  void replies_are_written_in_two_chats_at_once();
  void leaving_a_chat_and_coming_back_shows_the_growing_reply();
  void stop_ends_the_reply_of_the_shown_chat_alone();
  void a_deleted_chat_comes_back();
  void a_deleted_chat_whose_reply_runs_keeps_its_text();
  void a_deleted_message_comes_back_by_the_line_and_by_the_key();
  void the_line_goes_when_something_else_is_undone();
  void a_draft_belongs_to_its_chat();
  void a_chat_is_pinned_and_duplicated();
  void chats_of_a_file_are_imported();
  void find_goes_to_the_first_hit_and_keeps_the_focus();
  void tab_goes_through_the_messages_in_their_order();
  void the_end_is_one_click_away();

 private:
  ui::Transcript* transcript() { return fixture->find<ui::Transcript>("transcript"); }
  ui::MessageWidget* widget(std::size_t message) { return transcript()->widget(fixture->chat().messages()[message].id); }
  QString version_label(std::size_t message) { return widget(message)->findChild<QLabel*>("message.version")->text(); }
  void press(std::size_t message, const char* button) {
    QTest::mouseClick(widget(message)->findChild<QAbstractButton*>(button), Qt::LeftButton);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  }
  void say(const QString& text) {
    fixture->say(text);
    QVERIFY(fixture->wait_reply());
  }
  void edit_and_send(std::size_t message, const QString& text) {
    transcript()->start_editing(fixture->chat().messages()[message].id);
    transcript()->findChild<QPlainTextEdit*>("message.editor")->setPlainText(text);
    QTest::mouseClick(transcript()->findChild<QAbstractButton*>("message.save_and_send"), Qt::LeftButton);
    QVERIFY(fixture->wait_reply());
  }
  void open(std::int64_t chat) { Q_EMIT fixture->window->context().navigator.open_chat(chat); }
  QListView* list() {
    for (QListView* view : fixture->window->findChildren<QListView*>())
      if (view->property("test_id") == "chats.list") return view;
    return nullptr;
  }
  QModelIndex row_of(std::int64_t chat) {
    for (int i = 0; i < list()->model()->rowCount(); ++i)
      if (list()->model()->index(i, 0).data(ui::ChatListModel::kIdRole).toLongLong() == chat)
        return list()->model()->index(i, 0);
    return {};
  }
  void show_list() {
    fixture->show_panel("chat_list");
    QTRY_VERIFY(list()->parentWidget()->isVisible());
  }
  void delete_in_list(std::int64_t chat) {
    QTRY_VERIFY(row_of(chat).isValid());
    list()->setFocus();
    list()->setCurrentIndex(row_of(chat));
    QTest::keyClick(list(), Qt::Key_Delete);
  }

  std::unique_ptr<WindowFixture> fixture;
};

void ChatTreeTest::branches_of_a_question_are_switched_in_place() {
  say("first");
  say("second");
  fixture->engine()->answer_with("An answer to the other question");
  edit_and_send(0, "changed");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->text_of(1), QString("An answer to the other question"));
  QTRY_COMPARE(version_label(0), QString("2 / 2"));
  QVERIFY(!widget(0)->findChild<QAbstractButton*>("message.next")->isEnabled());
  press(0, "message.previous");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{4});
  QCOMPARE(fixture->text_of(0), QString("first"));
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QCOMPARE(fixture->text_of(2), QString("second"));
  QCOMPARE(version_label(0), QString("1 / 2"));
  QCOMPARE(transcript()->focused_message(), fixture->chat().messages()[0].id);
  QTRY_COMPARE(widget(3)->shown_text().trimmed(), QString("Paged attention keeps blocks."));
  press(0, "message.next");
  QCOMPARE(fixture->text_of(1), QString("An answer to the other question"));
  // The prompt of the branch has nothing of the other.
  say("third");
  const engine::GenerateRequest last = fixture->engine()->submitted().back();
  const std::string prompt = fixture->engine()->tokenizer().decode(last.prompt_token_ids, false);
  QVERIFY(prompt.find("changed") != std::string::npos && prompt.find("second") == std::string::npos);
}

void ChatTreeTest::the_branch_that_is_shown_survives_the_window() {
  fixture.reset();
  QTemporaryDir profile;
  {
    WindowFixture first({}, profile.path());
    QVERIFY(first.load_model());
    first.say("one");
    QVERIFY(first.wait_reply());
    QVERIFY(first.chat().edit(first.chat().messages()[0].id, "two") != 0);
    first.chat().show_version(first.chat().messages()[0].id, 0);
  }
  {
    WindowFixture second({}, profile.path());
    QCOMPARE(second.text_of(0), QString("one"));
    QCOMPARE(second.chat().messages().size(), std::size_t{2});
    second.trigger("chat.next_version");
    QCOMPARE(second.text_of(0), QString("two"));
  }
  WindowFixture third({}, profile.path());
  QCOMPARE(third.text_of(0), QString("two"));
  QCOMPARE(third.versions_of(0).size(), std::size_t{2});
}

void ChatTreeTest::a_reply_in_the_middle_is_generated_again_as_a_branch() {
  say("first");
  say("second");
  fixture->engine()->answer_with("Another");
  fixture->writer().regenerate(fixture->chat().messages()[1].id);
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{2});
  QCOMPARE(fixture->text_of(1), QString("Another"));
  QTRY_COMPARE(version_label(1), QString("2 / 2"));
  fixture->trigger("chat.previous_version");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{4});
}

void ChatTreeTest::an_edited_system_prompt_has_arrows() {
  QVERIFY(fixture->chat().insert_first("system", "Be brief.") != 0);
  say("first");
  fixture->click("system_card.fold");
  fixture->find<QPlainTextEdit>("system_card.editor")->setPlainText("Be precise.");
  fixture->click("system_card.save");
  QCOMPARE(fixture->text_of(0), QString("Be precise."));
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
  QCOMPARE(fixture->find<QLabel>("system_card.version")->text(), QString("2 / 2"));
  fixture->click("system_card.previous");
  QCOMPARE(fixture->text_of(0), QString("Be brief."));
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
}

void ChatTreeTest::replies_are_written_in_two_chats_at_once() {
  show_list();
  fixture->engine()->pause();
  fixture->say("one");
  QVERIFY(fixture->engine()->wait_for_active(1));
  const std::int64_t first = fixture->chat().id();
  fixture->trigger("chats.new");
  QVERIFY(!fixture->writer().running());
  QVERIFY(fixture->find<QAbstractButton>("composer.send")->isVisible());
  fixture->say("two");
  QVERIFY(fixture->engine()->wait_for_active(2));
  const std::int64_t second = fixture->chat().id();
  QVERIFY(first != second);
  QCOMPARE(fixture->writer().chats().size(), std::size_t{2});
  QTRY_VERIFY(row_of(first).data(ui::ChatListModel::kWritingRole).toBool());
  QTRY_VERIFY(row_of(second).data(ui::ChatListModel::kWritingRole).toBool());
  QCOMPARE(fixture->engine()->n_cancelled(), std::uint64_t{0});
  // The status bar names both.
  fixture->window->statusBar()->grab();
  QTest::mouseClick(fixture->window->statusBar(), Qt::LeftButton, {}, QPoint(20, 12));
  auto* menu = fixture->find<QMenu>("status.writing");
  QVERIFY(menu != nullptr);
  QCOMPARE(menu->actions().size(), 2);
  QVERIFY(menu->actions()[0]->text() == "one" || menu->actions()[1]->text() == "one");
  menu->close();
  fixture->engine()->resume();
  QTRY_VERIFY(fixture->writer().chats().empty());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  open(first);
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QVERIFY(!fixture->chat().messages()[1].partial);
  QVERIFY(ui::footer_of(fixture->chat().messages()[1].footer_json).stop != "stopped");
  QTRY_VERIFY(!row_of(first).data(ui::ChatListModel::kWritingRole).toBool());
}

void ChatTreeTest::leaving_a_chat_and_coming_back_shows_the_growing_reply() {
  fixture->engine()->pause();
  fixture->say("one");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  const std::int64_t first = fixture->chat().id();
  fixture->trigger("chats.new");
  fixture->engine()->step(10);
  QTRY_COMPARE(fixture->workbench->history().messages(first)->back().text, std::string("Paged attention"));
  open(first);
  QVERIFY(fixture->writer().running());
  QVERIFY(fixture->find<QAbstractButton>("composer.stop")->isVisible());
  QTRY_COMPARE(widget(1)->shown_text().trimmed(), QString("Paged attention"));
  fixture->engine()->step(6);
  QTRY_COMPARE(widget(1)->shown_text().trimmed(), QString("Paged attention keeps"));
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
}

void ChatTreeTest::stop_ends_the_reply_of_the_shown_chat_alone() {
  fixture->engine()->pause();
  fixture->say("one");
  QVERIFY(fixture->engine()->wait_for_active(1));
  const std::int64_t first = fixture->chat().id();
  fixture->trigger("chats.new");
  fixture->say("two");
  QVERIFY(fixture->engine()->wait_for_active(2));
  fixture->trigger("chat.stop");
  QVERIFY(fixture->wait_reply());
  QVERIFY(fixture->writer().running(first));
  QTRY_COMPARE(fixture->engine()->n_active(), 1);
  fixture->engine()->resume();
  QTRY_VERIFY(!fixture->writer().running(first));
  open(first);
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
}

void ChatTreeTest::a_deleted_chat_comes_back() {
  show_list();
  say("keep me");
  const std::int64_t chat = fixture->chat().id();
  QVERIFY(!fixture->enabled("edit.undo"));
  delete_in_list(chat);
  QCOMPARE(fixture->chat().id(), std::int64_t{0});
  QVERIFY(fixture->workbench->history().chats().empty());
  auto* line = fixture->find<ui::UndoLine>("chats.undo");
  QVERIFY(line->isVisible());
  QCOMPARE(line->what(), QString("Chat deleted"));
  // The focus stays in the dock whose list is empty now.
  QTRY_COMPARE(QApplication::focusWidget(), static_cast<QWidget*>(fixture->find<QLineEdit>("chats.search")));
  QVERIFY(fixture->window->actions()["edit.undo"]->text().contains("Delete chat"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Z, Qt::ControlModifier);
  QTRY_COMPARE(fixture->chat().id(), chat);
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QTRY_VERIFY(row_of(chat).isValid());
  QVERIFY(!line->isVisible());
  fixture->trigger("edit.redo");
  QVERIFY(fixture->workbench->history().chats().empty());
}

void ChatTreeTest::a_deleted_chat_whose_reply_runs_keeps_its_text() {
  show_list();
  fixture->engine()->pause();
  fixture->say("one");
  QVERIFY(fixture->engine()->wait_for_active(1));
  fixture->engine()->step(5);
  QTRY_COMPARE(fixture->text_of(1), QString("Paged"));
  const std::int64_t chat = fixture->chat().id();
  delete_in_list(chat);
  QVERIFY(!fixture->writer().running(chat));
  QTRY_COMPARE(fixture->engine()->n_active(), 0);
  fixture->find<QAbstractButton>("chats.undo.undo")->setFocus();
  fixture->click("chats.undo.undo");
  QTRY_COMPARE(fixture->chat().id(), chat);
  QVERIFY(fixture->find<QLineEdit>("chats.search")->hasFocus());
  QCOMPARE(fixture->text_of(1), QString("Paged"));
  QVERIFY(fixture->chat().messages()[1].partial);
}

void ChatTreeTest::a_deleted_message_comes_back_by_the_line_and_by_the_key() {
  say("first");
  say("second");
  fixture->writer();
  const std::int64_t answer = fixture->chat().messages()[1].id;
  transcript()->show_message(answer);
  QTest::keyClick(widget(1), Qt::Key_Delete);
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
  QCOMPARE(fixture->text_of(1), QString("second"));
  auto* line = fixture->find<ui::UndoLine>("chat.undo");
  QVERIFY(line->isVisible());
  QCOMPARE(line->what(), QString("Message deleted"));
  fixture->click("chat.undo.undo");
  QTRY_COMPARE(fixture->chat().messages().size(), std::size_t{4});
  QCOMPARE(fixture->chat().messages()[1].id, answer);
  // In the composer the key first undoes what was typed, then the deletion.
  fixture->trigger("chat.delete");
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
  auto* field = fixture->find<QPlainTextEdit>("composer.field");
  field->setFocus();
  QTest::keyClicks(field, "x");
  QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
  QCOMPARE(field->toPlainText(), QString());
  QCOMPARE(fixture->chat().messages().size(), std::size_t{3});
  QTest::keyClick(field, Qt::Key_Z, Qt::ControlModifier);
  QCOMPARE(fixture->chat().messages().size(), std::size_t{4});
}

void ChatTreeTest::the_line_goes_when_something_else_is_undone() {
  QUndoStack& stack = fixture->window->context().undo;
  say("first");
  fixture->trigger("chat.delete");
  auto* line = fixture->find<ui::UndoLine>("chat.undo");
  QVERIFY(line->isVisible());
  stack.push(new QUndoCommand("Another command"));
  QVERIFY(!line->isVisible());
  stack.undo();
  QVERIFY(!line->isVisible());
}

void ChatTreeTest::a_draft_belongs_to_its_chat() {
  say("first");
  const std::int64_t first = fixture->chat().id();
  fixture->type("a thought about the first");
  fixture->trigger("chats.new");
  auto* field = fixture->find<QPlainTextEdit>("composer.field");
  QCOMPARE(field->toPlainText(), QString());
  fixture->type("a new chat");
  open(first);
  QCOMPARE(field->toPlainText(), QString("a thought about the first"));
  fixture->trigger("chats.new");
  QCOMPARE(field->toPlainText(), QString("a new chat"));
  fixture->click("composer.send");
  QVERIFY(fixture->wait_reply());
  QCOMPARE(field->toPlainText(), QString());
  fixture->trigger("chats.new");
  QCOMPARE(field->toPlainText(), QString());
  QCOMPARE(*fixture->workbench->history().draft(first), std::string("a thought about the first"));
}

void ChatTreeTest::a_chat_is_pinned_and_duplicated() {
  show_list();
  say("first");
  const std::int64_t first = fixture->chat().id();
  fixture->trigger("chats.new");
  say("second");
  QTRY_VERIFY(row_of(first).isValid());
  auto* model = static_cast<ui::ChatListModel*>(list()->model());
  model->set_pinned(row_of(first), true);
  QTRY_COMPARE(row_of(first).row(), 0);
  QVERIFY(row_of(first).data(Qt::AccessibleDescriptionRole).toString().contains("pinned"));
  model->duplicate(row_of(first));
  QTRY_COMPARE(fixture->chat().title(), QString("first (copy)"));
  QCOMPARE(fixture->text_of(1), QString("Paged attention keeps blocks."));
  QVERIFY(fixture->chat().id() != first);
}

void ChatTreeTest::chats_of_a_file_are_imported() {
  QTemporaryDir folder;
  const QString path = folder.filePath("chats.json");
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(R"([{"conversations":[{"from":"human","value":"What is paging?"},{"from":"gpt","value":"Blocks."}]}])");
  file.close();
  fixture->trigger("chats.import");
  auto* dialog = fixture->find<QFileDialog>("import_dialog");
  QVERIFY(dialog != nullptr);
  Q_EMIT dialog->filesSelected({path});
  dialog->close();
  QTRY_COMPARE(fixture->chat().title(), QString("What is paging?"));
  QCOMPARE(fixture->text_of(1), QString("Blocks."));
  say("And then?");
  const engine::GenerateRequest last = fixture->engine()->submitted().back();
  QVERIFY(fixture->engine()->tokenizer().decode(last.prompt_token_ids, false).find("Blocks.") != std::string::npos);
}

void ChatTreeTest::find_goes_to_the_first_hit_and_keeps_the_focus() {
  for (int i = 0; i < 30; ++i) QVERIFY(fixture->chat().insert("user", i % 10 == 3 ? "a needle" : "straw\nand\nhay") != 0);
  fixture->trigger("chat.find");
  auto* field = fixture->find<QLineEdit>("find_bar.field");
  auto* count = fixture->find<QLabel>("find_bar.count");
  QTest::keyClicks(field, "needle");
  QCOMPARE(count->text(), QString("1 of 3"));
  QVERIFY(field->hasFocus());
  QTRY_VERIFY(widget(3) != nullptr && !widget(3)->visibleRegion().isEmpty());
  QVERIFY(widget(3)->y() >= 0);
  QTest::keyClick(field, Qt::Key_Return);
  QTest::keyClick(field, Qt::Key_Return);
  QCOMPARE(count->text(), QString("3 of 3"));
  QTest::keyClick(field, Qt::Key_Return, Qt::ShiftModifier);
  QCOMPARE(count->text(), QString("2 of 3"));
  fixture->trigger("chat.find_previous");
  QCOMPARE(count->text(), QString("1 of 3"));
  QVERIFY(field->hasFocus());
  fixture->trigger("chats.new");
  QCOMPARE(count->text(), QString("none"));
  QTest::keyClick(field, Qt::Key_Escape);
  QVERIFY(!field->isVisible());
}

void ChatTreeTest::tab_goes_through_the_messages_in_their_order() {
  say("first");
  say("second");
  transcript()->show_message(fixture->chat().messages()[0].id);
  QCOMPARE(QApplication::focusWidget(), static_cast<QWidget*>(widget(0)));
  std::vector<std::int64_t> visited;
  QStringList parts;
  for (int i = 0; i < 80 && visited.size() < 4; ++i) {
    const std::int64_t at = transcript()->focused_message();
    if (at == 0) break;
    if (visited.empty() || visited.back() != at) visited.push_back(at);
    if (visited.size() == 2) parts << QApplication::focusWidget()->objectName();
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  std::vector<std::int64_t> shown;
  for (const app::StoredMessage& message : fixture->chat().messages()) shown.push_back(message.id);
  QCOMPARE(visited, shown);
  QVERIFY2(parts.contains("message.copy") && parts.contains("message.regenerate"), qPrintable(parts.join(' ')));
}

void ChatTreeTest::the_end_is_one_click_away() {
  for (int i = 0; i < 40; ++i) QVERIFY(fixture->chat().insert("user", "straw\nand\nhay") != 0);
  auto* button = fixture->find<QAbstractButton>("transcript.to_end");
  QVERIFY(!button->isVisible());
  transcript()->show_message(fixture->chat().messages()[0].id);
  QTRY_VERIFY(button->isVisible());
  fixture->click("transcript.to_end");
  QTRY_VERIFY(!button->isVisible());
  QVERIFY(widget(39) != nullptr && !widget(39)->visibleRegion().isEmpty());
}

LATHE_WINDOW_TEST(ChatTreeTest)

}  // namespace chat_tree_test
#include "chat_tree_test.moc"
