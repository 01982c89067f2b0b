#include "generate/model/extract.h"

#include <gtest/gtest.h>

namespace autoperfect {
namespace {

Reply reply(std::string text, std::string reason = "stop") {
  return {std::move(text), std::move(reason), "test", 0, 0};
}

std::string source_in(const std::string& text) {
  auto draft = extract("cpu", reply(text));
  EXPECT_TRUE(draft.ok()) << text << "\n" << (draft ? "" : format(draft.errors(), text));
  return draft ? draft->source : "";
}

// code and line
std::pair<std::string, int> error_in(const std::string& text, std::string reason = "stop") {
  auto draft = extract("cpu", reply(text, std::move(reason)));
  EXPECT_FALSE(draft.ok()) << text;
  if (draft) return {};
  EXPECT_EQ(draft.errors().front().stage, "extract");
  return {draft.errors().front().code, draft.errors().front().where.line};
}

TEST(Extract, OneBlockWhateverStandsAroundIt) {
  EXPECT_EQ(source_in("```\nx\n```"), "x\n");
  EXPECT_EQ(
      source_in("Sure!\n\n```cpp\nint x;\n\n  y;\n```\nThis is `fast`, as ```z``` shows.\n"),
      "int x;\n\n  y;\n");
  EXPECT_EQ(source_in("~~~\r\nx\r\n~~~\r\n"), "x\n");
  EXPECT_EQ(source_in("  ```c++\nx\n  ```  \n"), "x\n");
}

TEST(Extract, ALongerFenceHoldsShorterOnes) {
  EXPECT_EQ(source_in("````\n```\nx\n```\n````\n"), "```\nx\n```\n");
  EXPECT_EQ(source_in("```\n~~~\n```` \n"), "~~~\n");
  EXPECT_EQ(source_in("```\n    ```\n```\n"), "    ```\n");  // four spaces make no fence
}

TEST(Extract, LanguageIsTheOneAskedFor) {
  auto draft = extract("mlx", reply("```python\nx\n```"));
  ASSERT_TRUE(draft.ok());
  EXPECT_EQ(draft->language, "mlx");
}

TEST(Extract, WhatIsThoughtAloudIsNotTheAnswer) {
  EXPECT_EQ(source_in("\n<think>\nmaybe\n```\na\n```\n</think>\n```\nb\n```\n"), "b\n");
  EXPECT_EQ(error_in("<think>\n```\na\n```\n"), std::make_pair(std::string("cut-reply"), 0));
  EXPECT_EQ(
      error_in("<think>\n</think>\n```\na\n```\n```\nb\n```\n"),
      std::make_pair(std::string("many-blocks"), 6));
}

TEST(Extract, NotExactlyOneBlock) {
  EXPECT_EQ(error_in(""), std::make_pair(std::string("no-block"), 0));
  EXPECT_EQ(error_in("int x;"), std::make_pair(std::string("no-block"), 0));
  EXPECT_EQ(error_in("a\n```\nx\n```\nor\n```\ny\n```\n"), std::make_pair(std::string("many-blocks"), 6));
  EXPECT_EQ(error_in("a\n```\nx\n"), std::make_pair(std::string("open-block"), 2));
  EXPECT_EQ(error_in("```\nx\n``` y\n"), std::make_pair(std::string("open-block"), 1));
  EXPECT_EQ(error_in("````\nx\n```\n"), std::make_pair(std::string("open-block"), 1));
  EXPECT_EQ(error_in("```\n \n\n```\n"), std::make_pair(std::string("empty-block"), 1));
}

TEST(Extract, WhatIsNotText) {
  EXPECT_EQ(error_in("```\n\xff\n```\n").first, "not-utf8");
  EXPECT_EQ(error_in("```\n\xed\xa0\x80\n```\n").first, "not-utf8");  // half of a surrogate pair
  EXPECT_EQ(error_in("```\n\xc0\xaf\n```\n").first, "not-utf8");      // overlong
  EXPECT_EQ(error_in("```\n\xe2\x82").first, "not-utf8");             // cut in a character
  EXPECT_EQ(error_in(std::string("```\na\0b\n```\n", 13)).first, "zero-byte");
  EXPECT_EQ(source_in("```\n\xe2\x82\xac\xf0\x9f\x98\x80\n```\n"), "\xe2\x82\xac\xf0\x9f\x98\x80\n");
}

TEST(Extract, ACutReplyIsNoAnswer) {
  EXPECT_EQ(error_in("```\nx\n", "length").first, "cut-reply");
  EXPECT_EQ(error_in("```\nx\n```\nand", "length").first, "cut-reply");
}

}  // namespace
}  // namespace autoperfect
