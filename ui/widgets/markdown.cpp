// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown.h"

#include <md4c.h>

#include <QTextBlock>
#include <QTextDocument>
#include <QTextTable>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr double kTextSize = 14, kCodeSize = 13, kLineHeight = 148;
constexpr int kBulletMargin = 18, kBulletIndent = -14, kParagraphGap = 8, kItemGap = 2, kMaxDepth = 8;

QTextBlockFormat paragraph_format(const Theme& theme, int margin_left, int gap) {
  QTextBlockFormat format;
  format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
  format.setLeftMargin(theme.px(margin_left));
  format.setTopMargin(theme.px(gap));
  return format;
}

struct ListLevel {
  bool ordered = false;
  int number = 1;
};

/// Writes the callbacks of md4c into a document. One object renders one source.
class Writer {
 public:
  Writer(QTextCursor cursor, const Theme& theme) : cursor_(cursor), theme_(theme) { cursor_.movePosition(QTextCursor::End); }

  void enter_block(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_QUOTE: ++quotes_; break;
      case MD_BLOCK_UL: lists_.push_back({false, 1}); break;
      case MD_BLOCK_OL: lists_.push_back({true, static_cast<int>(static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start)}); break;
      case MD_BLOCK_LI: begin_item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail)); break;
      case MD_BLOCK_P: begin_paragraph(); break;
      case MD_BLOCK_H: begin_heading(static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level)); break;
      case MD_BLOCK_CODE: begin_code(); break;
      case MD_BLOCK_HR: rule(); break;
      case MD_BLOCK_TABLE: begin_table(*static_cast<MD_BLOCK_TABLE_DETAIL*>(detail)); break;
      case MD_BLOCK_TR: ++row_, column_ = -1; break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD: begin_cell(type == MD_BLOCK_TH); break;
      default: break;
    }
  }

  void leave_block(MD_BLOCKTYPE type) {
    switch (type) {
      case MD_BLOCK_QUOTE: --quotes_; break;
      case MD_BLOCK_UL:
      case MD_BLOCK_OL:
        if (!lists_.empty()) lists_.pop_back();
        break;
      case MD_BLOCK_LI: item_open_ = false; break;
      case MD_BLOCK_H: weight_ = QFont::Normal, size_ = kTextSize; break;
      case MD_BLOCK_CODE: in_code_block_ = false; break;
      case MD_BLOCK_TH: weight_ = QFont::Normal; break;
      case MD_BLOCK_TABLE:
        table_ = nullptr;
        cursor_.movePosition(QTextCursor::End);
        break;
      default: break;
    }
  }

  void enter_span(MD_SPANTYPE type, void* detail) {
    if (type == MD_SPAN_STRONG) ++strong_;
    if (type == MD_SPAN_EM) ++emphasis_;
    if (type == MD_SPAN_DEL) ++deleted_;
    if (type == MD_SPAN_CODE) ++code_;
    if (type == MD_SPAN_A) link_ = text_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href);
    if (type == MD_SPAN_IMG) link_ = text_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src);
  }

  void leave_span(MD_SPANTYPE type) {
    if (type == MD_SPAN_STRONG) --strong_;
    if (type == MD_SPAN_EM) --emphasis_;
    if (type == MD_SPAN_DEL) --deleted_;
    if (type == MD_SPAN_CODE) --code_;
    if (type == MD_SPAN_A || type == MD_SPAN_IMG) link_.clear();
  }

  void text(MD_TEXTTYPE type, const QString& words) {
    if (type == MD_TEXT_BR) cursor_.insertText(QString(QChar::LineSeparator), format());
    else if (type == MD_TEXT_SOFTBR) cursor_.insertText(QStringLiteral(" "), format());
    else if (type == MD_TEXT_CODE && in_code_block_ && words == QLatin1String("\n"))
      cursor_.insertText(QString(QChar::LineSeparator), format());
    else if (type == MD_TEXT_ENTITY) cursor_.insertText(entity(words), format());
    else cursor_.insertText(words, format());
  }

 private:
  static QString text_of(const MD_ATTRIBUTE& attribute) {
    return QString::fromUtf8(attribute.text, static_cast<qsizetype>(attribute.size));
  }

  static QString entity(const QString& words) {
    static const QHash<QString, QString> known{{"&lt;", "<"},    {"&gt;", ">"},   {"&amp;", "&"},
                                               {"&quot;", "\""}, {"&apos;", "'"}, {"&nbsp;", QString(QChar(0xA0))}};
    return known.value(words, words);
  }

  int depth_margin() const {
    const int lists = std::min<int>(static_cast<int>(lists_.size()), kMaxDepth);
    return kBulletMargin * lists + 14 * std::min(quotes_, kMaxDepth);
  }

  /// A new block, or the first one of an empty document.
  void begin_block(const QTextBlockFormat& block) {
    const bool first = cursor_.document()->isEmpty() && cursor_.document()->blockCount() == 1 && !used_;
    used_ = true;
    QTextBlockFormat set = block;
    if (first) set.setTopMargin(0);
    if (first) cursor_.setBlockFormat(set), cursor_.setBlockCharFormat(format());
    else cursor_.insertBlock(set, format());
  }

  void begin_paragraph() {
    if (item_open_) {
      item_open_ = false;  // the first paragraph of an item goes on behind its bullet
      return;
    }
    begin_block(paragraph_format(theme_, depth_margin(), kParagraphGap));
  }

  void begin_item(const MD_BLOCK_LI_DETAIL& detail) {
    QTextBlockFormat block = paragraph_format(theme_, depth_margin(), kItemGap);
    block.setTextIndent(theme_.px(kBulletIndent));
    QList<QTextOption::Tab> tabs{QTextOption::Tab(theme_.px(14), QTextOption::LeftTab)};
    block.setTabPositions(tabs);
    begin_block(block);
    QString mark = QStringLiteral("•");
    if (detail.is_task) mark = detail.task_mark == ' ' ? QStringLiteral("☐") : QStringLiteral("☑");
    else if (!lists_.empty() && lists_.back().ordered) mark = QStringLiteral("%1.").arg(lists_.back().number++);
    cursor_.insertText(mark + QLatin1Char('\t'), format());
    item_open_ = true;
  }

  void begin_heading(int level) {
    weight_ = QFont::DemiBold;
    size_ = level == 1 ? 17 : level == 2 ? 15.5 : 14;
    begin_block(paragraph_format(theme_, depth_margin(), 12));
  }

  void begin_code() {
    in_code_block_ = true;
    QTextBlockFormat block = paragraph_format(theme_, depth_margin() + 8, kParagraphGap);
    block.setLineHeight(124, QTextBlockFormat::ProportionalHeight);
    block.setBackground(theme_.tokens().sunken);
    begin_block(block);
  }

  void rule() {
    QTextBlockFormat block = paragraph_format(theme_, 0, 4);
    block.setProperty(QTextFormat::BlockTrailingHorizontalRulerWidth, QTextLength(QTextLength::PercentageLength, 100));
    begin_block(block);
  }

  void begin_table(const MD_BLOCK_TABLE_DETAIL& detail) {
    QTextTableFormat format;
    format.setBorder(0.5);
    format.setBorderBrush(theme_.tokens().border);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderCollapse(true);
    format.setCellPadding(theme_.px(5));
    format.setTopMargin(theme_.px(kParagraphGap));
    used_ = true;
    const int rows = static_cast<int>(detail.head_row_count + detail.body_row_count);
    table_ = cursor_.insertTable(std::max(1, rows), std::max(1, static_cast<int>(detail.col_count)), format);
    row_ = -1;
  }

  void begin_cell(bool head) {
    weight_ = head ? QFont::DemiBold : QFont::Normal;
    if (table_ == nullptr || row_ >= table_->rows() || ++column_ >= table_->columns()) return;
    cursor_ = table_->cellAt(row_, column_).firstCursorPosition();
  }

  QTextCharFormat format() const {
    const Tokens& t = theme_.tokens();
    const bool code = code_ > 0 || in_code_block_;
    QFont font =
        code ? theme_.code_font(kCodeSize) : theme_.font(size_, strong_ > 0 ? static_cast<int>(QFont::DemiBold) : weight_);
    font.setItalic(emphasis_ > 0);
    QTextCharFormat format;
    format.setFont(font);
    format.setForeground(quotes_ > 0 ? t.text2 : t.text);
    if (deleted_ > 0) format.setFontStrikeOut(true);
    if (code_ > 0) format.setBackground(t.sunken);
    if (!link_.isEmpty()) {
      format.setAnchor(true);
      format.setAnchorHref(link_);
      format.setForeground(t.accent_text);
      format.setFontUnderline(true);
      format.setToolTip(link_);
    }
    return format;
  }

  QTextCursor cursor_;
  const Theme& theme_;
  QTextTable* table_ = nullptr;
  std::vector<ListLevel> lists_;
  QString link_;
  double size_ = kTextSize;
  int weight_ = QFont::Normal;
  int quotes_ = 0, strong_ = 0, emphasis_ = 0, deleted_ = 0, code_ = 0, row_ = -1, column_ = -1;
  bool item_open_ = false, in_code_block_ = false, used_ = false;
};

Writer& writer(void* data) { return *static_cast<Writer*>(data); }

}  // namespace

void append_markdown(QTextCursor cursor, const Theme& theme, const QString& source) {
  MD_PARSER parser{};
  parser.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML;
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) { return writer(data).enter_block(type, detail), 0; };
  parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) { return writer(data).leave_block(type), 0; };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) { return writer(data).enter_span(type, detail), 0; };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* data) { return writer(data).leave_span(type), 0; };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* data) {
    return writer(data).text(type, QString::fromUtf8(text, static_cast<qsizetype>(size))), 0;
  };
  const QByteArray utf8 = source.toUtf8();
  cursor.beginEditBlock();
  Writer into(cursor, theme);
  md_parse(utf8.constData(), static_cast<MD_SIZE>(utf8.size()), &parser, &into);
  cursor.endEditBlock();
}

void append_plain(QTextCursor cursor, const Theme& theme, const QString& source) {
  QTextCharFormat format;
  format.setFont(theme.font(kTextSize));
  format.setForeground(theme.tokens().text);
  cursor.movePosition(QTextCursor::End);
  if (cursor.document()->isEmpty()) cursor.setBlockFormat(paragraph_format(theme, 0, 0));
  cursor.insertText(source, format);
}

}  // namespace lathe::ui
