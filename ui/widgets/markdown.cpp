// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown.h"

#include <md4c.h>

#include <QFontMetrics>
#include <QTextBlock>
#include <QTextDocument>
#include <QTextTable>
#include <algorithm>

#include "ui/widgets/html_entities.h"
#include "ui/widgets/markdown_tables.h"
#include "ui/widgets/protected_spans.h"

namespace lathe::ui {
namespace {

constexpr double kTextSize = 14, kCodeSize = 13, kLineHeight = 148;
constexpr int kBulletMargin = 18, kBulletIndent = -14, kQuoteMargin = 14, kParagraphGap = 8, kItemGap = 2, kMaxDepth = 8,
              kMarkGap = 6;
constexpr int kMaxColumns = 128;  // most columns of a table: many lines of many bars would make millions of cells

QTextBlockFormat paragraph_format(const Theme& theme, int margin_left, int gap) {
  QTextBlockFormat format;
  format.setLineHeight(kLineHeight, QTextBlockFormat::ProportionalHeight);
  format.setLeftMargin(theme.px(margin_left));
  format.setTopMargin(theme.px(gap));
  return format;
}

int unscaled_margin(MarkdownDepth depth) {
  return kBulletMargin * std::min(depth.lists, kMaxDepth) + kQuoteMargin * std::min(depth.quotes, kMaxDepth);
}

struct ListLevel {
  bool ordered = false;
  int number = 1;
  QLatin1Char delimiter{'.'};
  int extra = 0;  ///< pixels by which the text begins further right than behind a bullet
};

/// True for `<br>`, `<br/>`, `<br />` and `</br>`, in upper and lower case.
bool is_line_break(const QString& tag) {
  QString name = tag.chopped(1).mid(1);  // the tag without < and >
  name.remove(QLatin1Char('/'));
  return name.trimmed().compare(QLatin1String("br"), Qt::CaseInsensitive) == 0;
}

/// The text of an address or a title, whose entities md4c does not decode.
QString text_of(const MD_ATTRIBUTE& attribute) {
  QString text;
  for (int i = 0; attribute.size > 0 && attribute.substr_offsets[i] < attribute.size; ++i) {
    const MD_OFFSET begin = attribute.substr_offsets[i], end = attribute.substr_offsets[i + 1];
    const QString words = QString::fromUtf8(attribute.text + begin, static_cast<qsizetype>(end - begin));
    text += attribute.substr_types[i] == MD_TEXT_ENTITY ? decode_entity(words) : words;
  }
  return without_protection(text);
}

/// Writes the callbacks of md4c into a document. One object renders one source.
class Writer {
 public:
  Writer(QTextCursor cursor, const Theme& theme, MarkdownDepth depth, LineEnds ends)
      : cursor_(cursor), theme_(theme), outer_lists_(depth.lists), quotes_(depth.quotes), ends_(ends) {
    cursor_.movePosition(QTextCursor::End);
  }

  void enter_block(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_QUOTE: ++quotes_; break;
      case MD_BLOCK_UL: lists_.push_back({}); break;
      case MD_BLOCK_OL: begin_numbers(*static_cast<MD_BLOCK_OL_DETAIL*>(detail)); break;
      case MD_BLOCK_LI: begin_item(*static_cast<MD_BLOCK_LI_DETAIL*>(detail)); break;
      case MD_BLOCK_P: begin_paragraph(); break;
      case MD_BLOCK_H: begin_heading(static_cast<int>(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level)); break;
      case MD_BLOCK_CODE: begin_code(); break;
      case MD_BLOCK_HR: rule(); break;
      case MD_BLOCK_TABLE: begin_table(*static_cast<MD_BLOCK_TABLE_DETAIL*>(detail)); break;
      case MD_BLOCK_TR: ++row_, column_ = -1; break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD: begin_cell(type == MD_BLOCK_TH, static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align); break;
      default: break;
    }
  }

  void leave_block(MD_BLOCKTYPE type) {
    block_open_ = false;
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
      case MD_BLOCK_TABLE: end_table(); break;
      default: break;
    }
  }

  void enter_span(MD_SPANTYPE type, void* detail) {
    if (type == MD_SPAN_STRONG) ++strong_;
    if (type == MD_SPAN_EM) ++emphasis_;
    if (type == MD_SPAN_DEL) ++deleted_;
    if (type == MD_SPAN_CODE) ++code_;
    if (type == MD_SPAN_A) links_.append(text_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href));
    if (type == MD_SPAN_IMG) links_.append(text_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src));
  }

  void leave_span(MD_SPANTYPE type) {
    if (type == MD_SPAN_STRONG) --strong_;
    if (type == MD_SPAN_EM) --emphasis_;
    if (type == MD_SPAN_DEL) --deleted_;
    if (type == MD_SPAN_CODE) --code_;
    if (type == MD_SPAN_A || type == MD_SPAN_IMG) links_.removeLast();
  }

  void text(MD_TEXTTYPE type, const QString& words) {
    const bool after_break = std::exchange(after_break_, false);
    const bool new_line = words == QLatin1String("\n");
    switch (type) {
      case MD_TEXT_BR: return insert(QString(QChar::LineSeparator));
      case MD_TEXT_SOFTBR:
        // A line that ends in <br> has one break, not two.
        if (!after_break) insert(ends_ == LineEnds::blanks ? QStringLiteral(" ") : QString(QChar::LineSeparator));
        return;
      case MD_TEXT_NULLCHAR: return insert(QString(QChar(QChar::ReplacementCharacter)));
      case MD_TEXT_ENTITY: return insert(decode_entity(words));
      case MD_TEXT_HTML:
        after_break_ = is_line_break(words);
        return insert(after_break_ || new_line ? QString(QChar::LineSeparator) : words);
      case MD_TEXT_CODE: return insert(new_line && in_code_block_ ? QString(QChar::LineSeparator) : code_text(words));
      default: return insert(words);
    }
  }

 private:
  /// A bar in a table cell has a backslash before it, also in code (GitHub Flavored Markdown, example 200).
  QString code_text(const QString& words) const {
    return table_ != nullptr ? QString(words).replace(QLatin1String("\\|"), QLatin1String("|")) : words;
  }

  void insert(const QString& words) {
    // md4c begins no paragraph for text of a tight item after a heading, code, a list or a quote.
    if (!block_open_ && table_ == nullptr) begin_block(paragraph(kItemGap));
    for (TextStretch& stretch : stretches_of(words)) {
      stretch.text.replace(QLatin1Char('\n'), QChar::LineSeparator);
      cursor_.insertText(stretch.text, stretch.is_formula ? formula_format() : format());
    }
  }

  int depth_margin() const { return unscaled_margin({outer_lists_ + static_cast<int>(lists_.size()), quotes_}); }

  /// Pixels by which the marks of the open lists are wider than bullets.
  int marks_margin() const {
    int margin = 0;
    for (std::size_t i = 0; i < lists_.size() && i < kMaxDepth; ++i) margin += lists_[i].extra;
    return margin;
  }

  QTextBlockFormat paragraph(int gap, int indent = 0) const {
    QTextBlockFormat format = paragraph_format(theme_, depth_margin() + indent, gap);
    format.setLeftMargin(format.leftMargin() + marks_margin());
    return format;
  }

  /// Pixels for the mark of an item. Numbers of one and two digits take the same.
  int mark_room(const QString& mark) const {
    const QFontMetrics metrics(theme_.font(kTextSize));
    const QString widest = mark.front().isDigit() && mark.size() <= 3 ? QStringLiteral("00.") : mark;
    return std::max(theme_.px(-kBulletIndent), metrics.horizontalAdvance(widest) + theme_.px(kMarkGap));
  }

  /// Begins a new block, or uses the first one of an empty document.
  void begin_block(const QTextBlockFormat& block) {
    const bool first = cursor_.document()->isEmpty() && cursor_.document()->blockCount() == 1 && !used_;
    used_ = true;
    block_open_ = true;
    QTextBlockFormat set = block;
    if (quotes_ > 0) set.setProperty(QTextFormat::BlockQuoteLevel, std::min(quotes_, kMaxDepth));
    if (first) set.setTopMargin(0);
    if (first) cursor_.setBlockFormat(set), cursor_.setBlockCharFormat(format());
    else cursor_.insertBlock(set, format());
  }

  void begin_paragraph() {
    if (item_open_) {
      item_open_ = false, block_open_ = true;  // the first paragraph of an item follows its bullet
      return;
    }
    begin_block(paragraph(kParagraphGap));
  }

  void begin_numbers(const MD_BLOCK_OL_DETAIL& detail) {
    lists_.push_back({true, static_cast<int>(detail.start), QLatin1Char(detail.mark_delimiter)});
  }

  void begin_item(const MD_BLOCK_LI_DETAIL& detail) {
    QString mark = QStringLiteral("•");
    if (detail.is_task) mark = detail.task_mark == ' ' ? QStringLiteral("☐") : QStringLiteral("☑");
    else if (!lists_.empty() && lists_.back().ordered)
      mark = QString::number(lists_.back().number++) + lists_.back().delimiter;
    const int room = mark_room(mark);
    if (!lists_.empty()) lists_.back().extra = room - theme_.px(-kBulletIndent);
    QTextBlockFormat block = paragraph(kItemGap);
    block.setTextIndent(-room);
    QList<QTextOption::Tab> tabs{QTextOption::Tab(room, QTextOption::LeftTab)};
    block.setTabPositions(tabs);
    begin_block(block);
    cursor_.insertText(mark + QLatin1Char('\t'), format());
    item_open_ = true;
  }

  void begin_heading(int level) {
    weight_ = QFont::DemiBold;
    size_ = level == 1 ? 17 : level == 2 ? 15.5 : 14;
    if (std::exchange(item_open_, false)) return;
    begin_block(paragraph(12));
  }

  void begin_code() {
    in_code_block_ = true;
    item_open_ = false;
    QTextBlockFormat block = paragraph(kParagraphGap, 8);
    block.setLineHeight(124, QTextBlockFormat::ProportionalHeight);
    block.setBackground(theme_.tokens().sunken);
    begin_block(block);
  }

  void rule() {
    item_open_ = false;
    QTextBlockFormat block = paragraph_format(theme_, 0, 4);
    block.setProperty(QTextFormat::BlockTrailingHorizontalRulerWidth, QTextLength(QTextLength::PercentageLength, 100));
    begin_block(block);
  }

  void begin_table(const MD_BLOCK_TABLE_DETAIL& detail) {
    QTextTableFormat format;
    format.setBorder(1);
    format.setBorderBrush(theme_.tokens().border);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderCollapse(true);
    format.setCellPadding(theme_.px(7));
    format.setTopMargin(theme_.px(kParagraphGap));
    format.setBottomMargin(theme_.px(kParagraphGap));
    format.setLeftMargin(theme_.px(depth_margin()) + marks_margin());
    if (cursor_.document()->isEmpty() && !used_) thin_block();
    used_ = true;
    item_open_ = false;
    const int rows = static_cast<int>(detail.head_row_count + detail.body_row_count);
    table_ = cursor_.insertTable(std::max(1, rows), std::max(1, static_cast<int>(detail.col_count)), format);
    row_ = -1;
  }

  void end_table() {
    table_ = nullptr;
    cursor_.movePosition(QTextCursor::End);
    thin_block();
  }

  /// Makes an empty block 1 px high: Qt has a block before and after each table, which must not look like an empty line.
  void thin_block() {
    QTextBlockFormat block;
    block.setLineHeight(1, QTextBlockFormat::FixedHeight);
    cursor_.setBlockFormat(block);
  }

  void begin_cell(bool head, MD_ALIGN align) {
    weight_ = head ? QFont::DemiBold : QFont::Normal;
    if (table_ == nullptr || row_ >= table_->rows() || ++column_ >= table_->columns()) return;
    cursor_ = table_->cellAt(row_, column_).firstCursorPosition();
    QTextBlockFormat block;
    block.setAlignment(align == MD_ALIGN_RIGHT    ? Qt::AlignRight
                       : align == MD_ALIGN_CENTER ? Qt::AlignHCenter
                                                  : Qt::AlignLeading);
    cursor_.setBlockFormat(block);
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
    if (!links_.isEmpty() && !links_.last().isEmpty()) {
      format.setAnchor(true);
      format.setAnchorHref(links_.last());
      format.setForeground(t.accent_text);
      format.setFontUnderline(true);
      format.setToolTip(links_.last());
    }
    return format;
  }

  /// A formula is shown as its source, in the code font and a separate colour.
  QTextCharFormat formula_format() const {
    QTextCharFormat set = format();
    QFont font = theme_.code_font(kCodeSize);
    font.setWeight(static_cast<QFont::Weight>(strong_ > 0 ? static_cast<int>(QFont::DemiBold) : weight_));
    set.setFont(font);
    set.setForeground(theme_.tokens().code_keyword);
    return set;
  }

  QTextCursor cursor_;
  const Theme& theme_;
  int outer_lists_ = 0;
  QTextTable* table_ = nullptr;
  std::vector<ListLevel> lists_;
  QStringList links_;  ///< a stack, because an image may be within a link
  double size_ = kTextSize;
  int weight_ = QFont::Normal;
  int quotes_ = 0, strong_ = 0, emphasis_ = 0, deleted_ = 0, code_ = 0, row_ = -1, column_ = -1;
  const LineEnds ends_;
  bool item_open_ = false, in_code_block_ = false, used_ = false, after_break_ = false, block_open_ = false;
};

bool has_wide_table(const QString& source) {
  int bars = 0;
  for (const QChar c : source) {
    if (c == QLatin1Char('\n')) bars = 0;
    else if (c == QLatin1Char('|') && ++bars > kMaxColumns) return true;
  }
  return false;
}

Writer& writer(void* data) { return *static_cast<Writer*>(data); }

}  // namespace

int margin_of(const Theme& theme, MarkdownDepth depth) { return theme.px(unscaled_margin(depth)); }

void append_markdown(QTextCursor cursor, const Theme& theme, const QString& source, LineEnds ends) {
  append_protected_markdown(cursor, theme, protect_spans(with_clear_tables(readable_text(source))), {}, ends);
}

void append_protected_markdown(QTextCursor cursor, const Theme& theme, const QString& source, MarkdownDepth depth,
                               LineEnds ends) {
  MD_PARSER parser{};
  parser.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTMLBLOCKS;
  if (has_wide_table(source)) parser.flags &= ~static_cast<unsigned>(MD_FLAG_TABLES);
  parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* data) { return writer(data).enter_block(type, detail), 0; };
  parser.leave_block = [](MD_BLOCKTYPE type, void*, void* data) { return writer(data).leave_block(type), 0; };
  parser.enter_span = [](MD_SPANTYPE type, void* detail, void* data) { return writer(data).enter_span(type, detail), 0; };
  parser.leave_span = [](MD_SPANTYPE type, void*, void* data) { return writer(data).leave_span(type), 0; };
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* data) {
    return writer(data).text(type, QString::fromUtf8(text, static_cast<qsizetype>(size))), 0;
  };
  const QByteArray utf8 = source.toUtf8();
  cursor.beginEditBlock();
  Writer into(cursor, theme, depth, ends);
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
