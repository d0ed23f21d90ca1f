// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/protected_spans.h"

#include <md4c.h>

#include <QByteArray>
#include <QList>
#include <algorithm>
#include <string_view>

#include "ui/widgets/formulas.h"

namespace lathe::ui {
namespace {

// Noncharacters of Unicode, which readable_text() has removed from the text.
constexpr QChar kFormula(0xFDD2), kWords(0xFDD3), kSpanEnd(0xFDD4), kJoint(0xFDD5);
/// A protected UTF-16 unit u is encoded as the character kPlane + u of the last private-use plane, which any parser takes
/// for a letter.
constexpr char32_t kPlane = 0x100000;

/// Names of Python, C and CUDA between two underscores on each side, which CommonMark reads as bold text.
constexpr std::u16string_view kSpecialNames =
    u" abs add aenter aexit aiter all and anext annotations attribute author await bases bool builtins bytes "
    u"cached call class closure code contains copy debug deepcopy defaults del delattr delete delitem device "
    u"dict dir div doc enter eq exit file float floordiv format forceinline fspath func future ge get getattr "
    u"getattribute getitem getstate global globals gt hash host iadd import index init init_subclass "
    u"instancecheck int invert iter kwdefaults le len length_hint loader lshift lt main matmul missing mocks "
    u"mod module mro mul name ne neg new next noinline objclass or package path pos post_init pow prepare "
    u"proto pycache qualname radd reduce reduce_ex repr restrict reversed rmul round rshift rsub self set "
    u"set_name setattr setitem setstate shared sizeof slots spec str sub subclasscheck subclasses subclasshook "
    u"tests traceback truediv version volatile warningregistry wrapped xor COUNTER CUDA_ARCH DATE FILE "
    u"FUNCTION LINE TIME VA_ARGS VA_OPT ";

void append_protected(QString& to, QStringView words, QChar mark) {
  to += mark;
  for (const QChar c : words) {
    const char32_t point = kPlane + c.unicode();
    to += QChar(QChar::highSurrogate(point));
    to += QChar(QChar::lowSurrogate(point));
  }
  to += kSpanEnd;
}

struct Range {
  qsizetype begin = 0, end = 0;
};

/// Ranges of code as md4c finds it, in order. Units: UTF-16 units of `text`.
std::vector<Range> code_ranges(const QString& text) {
  struct Found {
    const char* begin;
    const char* end;
    std::vector<Range> ranges;
  };
  const QByteArray utf8 = text.toUtf8();
  Found found{utf8.constData(), utf8.constData() + utf8.size(), {}};
  const auto block = [](MD_BLOCKTYPE, void*, void*) { return 0; };
  const auto span = [](MD_SPANTYPE, void*, void*) { return 0; };
  MD_PARSER parser{};
  parser.flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML;
  parser.enter_block = parser.leave_block = block;
  parser.enter_span = parser.leave_span = span;
  parser.text = [](MD_TEXTTYPE type, const MD_CHAR* words, MD_SIZE size, void* data) {
    auto& into = *static_cast<Found*>(data);
    if (type == MD_TEXT_CODE && words >= into.begin && words + size <= into.end)
      into.ranges.push_back({words - into.begin, words - into.begin + static_cast<qsizetype>(size)});
    return 0;
  };
  if (md_parse(utf8.constData(), static_cast<MD_SIZE>(utf8.size()), &parser, &found) != 0) return {};
  std::sort(found.ranges.begin(), found.ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  qsizetype bytes = 0, units = 0;
  const auto units_at = [&](qsizetype wanted) {
    for (; bytes < wanted; ++bytes) {
      const auto byte = static_cast<unsigned char>(utf8[bytes]);
      units += (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
    }
    return units;
  };
  for (Range& range : found.ranges) range = {units_at(range.begin), units_at(range.end)};
  return std::move(found.ranges);
}

bool is_name_letter(QChar c) { return c.isLetterOrNumber() || c == QLatin1Char('_'); }

/// True for a letter of a script that is written without blanks, and for its punctuation.
bool is_wide(QChar c) { return c.unicode() >= 0x2E80 || (c.unicode() >= 0x2010 && c.unicode() <= 0x2027); }

bool is_punctuation(QChar c) { return c.isPunct() || c.isSymbol(); }

/// True for "2*3" and "x**2": the asterisks between `left` and `right` are operators.
bool is_product(QChar left, QChar right) {
  const auto is_ascii = [](QChar c) { return c.unicode() < 0x80 && is_name_letter(c); };
  return is_ascii(left) && is_ascii(right) && (left.isDigit() || right.isDigit());
}

/// Reads a text once and writes it with its protected spans.
class Protector {
 public:
  explicit Protector(const QString& text) : text_(text), code_(code_ranges(text)), formulas_(text) {}

  QString run() {
    out_.reserve(text_.size() + text_.size() / 8);
    while (at_ < text_.size()) {
      if (next_code_ < code_.size() && at_ >= code_[next_code_].begin) {
        copy_to(code_[next_code_++].end);
        continue;
      }
      step();
    }
    return std::move(out_);
  }

 private:
  QChar unit(qsizetype i) const { return i >= 0 && i < text_.size() ? text_[i] : QChar(QLatin1Char('\n')); }
  qsizetype wall() const { return next_code_ < code_.size() ? code_[next_code_].begin : text_.size(); }

  void copy_to(qsizetype end) {
    if (end > at_) out_ += QStringView(text_).mid(at_, end - at_);
    at_ = std::max(at_, end);
  }
  void protect_to(qsizetype end, QChar mark) {
    append_protected(out_, QStringView(text_).mid(at_, end - at_), mark);
    at_ = end;
  }

  void step() {
    switch (unit(at_).unicode()) {
      case '\\': return backslash();
      case '$': return formula_or(1);
      case '_': return underscores();
      case '*': return asterisks();
      case '~': return tilde();
      case 'h':
      case 'w': return address();
      case '\n': open_stars_ = 0; [[fallthrough]];
      default: return copy_to(at_ + 1);
    }
  }

  void formula_or(qsizetype length) {
    const std::optional<FormulaSpan> found = formulas_.at(at_, wall());
    if (!found) return copy_to(at_ + length);
    protect_formula(found->end);
  }

  /// Protects a formula. Its further lines within lists and quotes lose the prefix that the first line has before the
  /// formula.
  void protect_formula(qsizetype end) {
    const QString source = text_.mid(at_, end - at_);
    if (!source.contains(QLatin1Char('\n'))) return protect_to(end, kFormula);
    const qsizetype before = at_ == 0 ? 0 : at_ - (text_.lastIndexOf(QLatin1Char('\n'), at_ - 1) + 1);
    QString shown;
    for (const QStringView words : QStringView(source).split(QLatin1Char('\n'))) {
      qsizetype skip = 0;
      while (!shown.isNull() && skip < std::min(before, words.size()) &&
             (words[skip].isSpace() || words[skip] == QLatin1Char('>')))
        ++skip;
      if (!shown.isNull()) shown += QLatin1Char('\n');
      shown += words.mid(skip);
    }
    append_protected(out_, shown, kFormula);
    at_ = end;
  }

  void backslash() {
    const QChar next = unit(at_ + 1);
    if (next != QLatin1Char('(') && next != QLatin1Char('[')) return copy_to(std::min(at_ + 2, text_.size()));
    const std::optional<FormulaSpan> found = formulas_.at(at_, wall());
    if (found) return protect_formula(found->end);
    copy_to(at_ + 2);
  }

  void underscores() {
    qsizetype end = at_;
    while (unit(end) == QLatin1Char('_')) ++end;
    if (end - at_ != 2 || is_name_letter(unit(at_ - 1))) return copy_to(end);
    qsizetype close = end;
    while (close < text_.size() && close - end < 32 && is_name_letter(text_[close])) ++close;
    const QStringView word = QStringView(text_).mid(end, close - end);
    if (!word.endsWith(u"__")) return copy_to(end);
    const QString name = QLatin1Char(' ') + word.chopped(2).toString() + QLatin1Char(' ');
    if (!QStringView(kSpecialNames).contains(name)) return copy_to(end);
    protect_to(close, kWords);
  }

  void asterisks() {
    qsizetype end = at_;
    while (unit(end) == QLatin1Char('*')) ++end;
    const QChar left = unit(at_ - 1), right = unit(end);
    const qsizetype n = end - at_;
    if (n <= 2 && open_stars_ != n && is_product(left, right)) return protect_to(end, kWords);
    const bool wide = !left.isSpace() && !right.isSpace() && (is_wide(left) || is_wide(right)) && !left.isSurrogate();
    const bool opens = open_stars_ != n;
    if (wide && !opens && is_punctuation(left) && !is_punctuation(right)) out_ += kJoint;
    copy_to(end);
    if (wide && opens && is_punctuation(right) && !is_punctuation(left)) out_ += kJoint;
    if (opens && !right.isSpace()) open_stars_ = n;
    else if (!opens && !left.isSpace()) open_stars_ = 0;
  }

  void tilde() {
    qsizetype end = at_;
    while (unit(end) == QLatin1Char('~')) ++end;
    if (end - at_ == 1) protect_to(end, kWords);  // "5~10": only two tildes strike out
    else copy_to(end);
  }

  /// Copies an address unchanged, up to the next blank.
  void address() {
    const QStringView rest = QStringView(text_).mid(at_);
    const bool is_address = rest.startsWith(u"http://") || rest.startsWith(u"https://") || rest.startsWith(u"www.");
    if (!is_address || is_name_letter(unit(at_ - 1))) return copy_to(at_ + 1);
    qsizetype end = at_;
    while (end < wall() && !text_[end].isSpace() && !QStringView(u"<>()[]|*`\"").contains(text_[end])) ++end;
    // md4c makes no link of a host without a dot, and would take its underscores for marks.
    if (rest.left(end - at_).toString().section(QLatin1Char('/'), 2, 2).contains(QLatin1Char('.')) ||
        rest.startsWith(u"www."))
      copy_to(end);
    else protect_to(end, kWords);
  }

  const QString& text_;
  std::vector<Range> code_;
  FormulaFinder formulas_;
  QString out_;
  qsizetype at_ = 0;
  std::size_t next_code_ = 0;
  qsizetype open_stars_ = 0;  ///< length of the run of asterisks that is open in this line; 0: none
};

bool may_need_protection(const QString& text) {
  return std::any_of(text.begin(), text.end(), [](QChar c) { return QStringView(u"\\$_*~").contains(c); });
}

}  // namespace

QString protect_spans(const QString& markdown) {
  return may_need_protection(markdown) ? Protector(markdown).run() : markdown;
}

std::vector<TextStretch> stretches_of(const QString& text) {
  std::vector<TextStretch> stretches(1);
  for (qsizetype i = 0; i < text.size(); ++i) {
    const QChar c = text[i];
    if (c == kFormula || c == kSpanEnd) {
      if (!stretches.back().text.isEmpty()) stretches.emplace_back();
      stretches.back().is_formula = c == kFormula;
    } else if (c.isHighSurrogate() && i + 1 < text.size() && QChar::surrogateToUcs4(c, text[i + 1]) >= kPlane) {
      stretches.back().text += QChar(static_cast<ushort>(QChar::surrogateToUcs4(c, text[++i]) - kPlane));
    } else if (c != kWords && c != kJoint) {
      stretches.back().text += c;
    }
  }
  if (stretches.back().text.isEmpty()) stretches.pop_back();
  return stretches;
}

QString without_protection(const QString& text) {
  QString all;
  for (const TextStretch& stretch : stretches_of(text)) all += stretch.text;
  return all;
}

QString readable_text(const QString& text) {
  const auto is_odd = [](QChar c) {
    const ushort u = c.unicode();
    return (u < ' ' && u != '\n' && u != '\t') || (u >= 0x7F && u < 0xA0) || (u >= 0xFDD0 && u <= 0xFDEF) || u >= 0xFFFE ||
           u == 0xFFFC || (u >= 0xDBC0 && u <= 0xDBFF);
  };
  if (std::none_of(text.begin(), text.end(), is_odd)) return text;
  QString shown = text;
  shown.replace(QLatin1String("\r\n"), QLatin1String("\n"));
  for (qsizetype i = 0; i < shown.size(); ++i) {
    QChar& c = shown[i];
    if (!is_odd(c)) continue;
    const ushort u = c.unicode();
    if (u == '\r') c = QLatin1Char('\n');
    else if (u < ' ' || u == 0x7F) c = QChar(u == 0x7F ? 0x2421 : 0x2400 + u);
    else c = QChar(QChar::ReplacementCharacter);
    if (u >= 0xDBC0 && u <= 0xDBFF && i + 1 < shown.size() && shown[i + 1].isLowSurrogate()) shown.remove(i + 1, 1);
  }
  return shown;
}

}  // namespace lathe::ui
