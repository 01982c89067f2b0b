#include <gtest/gtest.h>

#include "support/hash.h"
#include "support/result.h"
#include "support/spelling.h"

namespace autoperfect {
namespace {

TEST(Diagnostic, ShowsTheLineWithACaret) {
  Diagnostic d{"ir", "unknown-op", "no op is called 'ad'", {2, 6, 2}, "did you mean 'add'?"};
  EXPECT_EQ(
      format(d, "first\n%a = ad %x\nthird"),
      "ir: error[unknown-op]: no op is called 'ad'\n"
      "2 | %a = ad %x\n"
      "  |      ^~\n"
      "  hint: did you mean 'add'?\n");
}

TEST(Diagnostic, NamesThePlaceWhenThereIsNoSource) {
  Diagnostic d{"compile", "syntax", "expected ';'", {12, 3, 1}};
  EXPECT_EQ(format(d), "compile: error[syntax]: expected ';' (line 12, column 3)\n");
  EXPECT_EQ(format(d, "one line"), "compile: error[syntax]: expected ';' (line 12, column 3)\n");
}

TEST(Diagnostic, PlacesTheCaretByCharactersNotBytes) {
  Diagnostic d{"ir", "x", "m", {1, 4, 1}};  // 'ü' has two bytes
  EXPECT_EQ(format(d, "\xc3\xbc $"), "ir: error[x]: m\n1 | \xc3\xbc $\n  |   ^\n");
}

TEST(Diagnostic, DoesNotPassControlCharactersOn) {
  Diagnostic d{"ir", "x", "a\x1b[31mb", {1, 1, 3}, "h\r"};
  auto text = format(d, "\x1b[2J\tq");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Diagnostic, ShowsAWindowOfALongLine) {
  std::string source(100000, 'a');
  source[50000] = '$';
  auto text = format(Diagnostic{"ir", "x", "m", {1, 50001, 1}}, source);
  EXPECT_LT(text.size(), 400u);
  auto first = text.find("| ", 0), dollar = text.find('$'), second = text.find("| ", dollar),
       caret = text.find('^');
  EXPECT_EQ(dollar - first, caret - second);
}

TEST(Diagnostic, SurvivesPlacesOutsideTheLine) {
  EXPECT_EQ(format(Diagnostic{"ir", "x", "m", {1, 99, 50}}, "ab"), "ir: error[x]: m\n1 | ab\n  |   ^\n");
}

TEST(Hash, IsThatOfXxh3) {
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");  // XXH3's own test vector
  EXPECT_NE(hash_hex("a"), hash_hex("b"));
}

TEST(Spelling, SuggestsWhatIsNear) {
  EXPECT_EQ(nearest_word("ad", {"sub", "add", "mul"}), "add");
  EXPECT_EQ(nearest_word("sotfmax", {"softmax", "max"}), "softmax");
  EXPECT_EQ(nearest_word("x", {"y"}), "");
  EXPECT_EQ(nearest_word("completely", {"add"}), "");
}

}  // namespace
}  // namespace autoperfect
