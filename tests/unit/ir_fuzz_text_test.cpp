// Parsers face bytes from anyone: no input crashes or hangs them, and what they accept prints and reads back.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "ir/graph_text.h"
#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

constexpr auto budget = std::chrono::milliseconds(700);  // for each of the three tests

const std::string graph_seed =
    "autoperfect.graph 1\ngraph @f(%x: f32[4,8], %w: f32[8] captured=\"9f\") {\n"
    "  %t = sum %x axes=[1] keepdims=true : f32[4,1]\n  %n = const 0.125 : f32[]\n  %m = mul %t, %n : "
    "f32[4,1]\n"
    "  %s = slice %x start=[3,0] stop=[-5,8] strides=[-1,2] : f32[4,4]\n  %b = broadcast %w : f32[4,8]\n"
    "  %q, %r = opaque %x, %w key=3 primitive=\"D\\x07\" : f32[2], f32[2]\n  return %m, %b\n}\n";

const std::string kernel_seed =
    "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,8] row\n    out %y: f32[?i,8] row\n"
    "    out %z: u32[?i,1] row\n  }\n  math {\n    axes i=?4, j=8\n    %t[i] = sum(j) %x[i,-j+7] : f32\n"
    "    %m[i] = mul %t[i], 0.125 : f32\n    %y[i,j] = sub %x[i,j], %m[i] : f32\n    %z[i,0] = argmax(j) "
    "%x[i,j] : u32\n"
    "    %k[j] = mul iota j, -3 : i32\n  }\n  numerics {\n    accumulate f32\n    reassociate yes\n"
    "    budget ulp=2.0 abs=1e-06 rel=0.0\n  }\n}\n";

// Both parsers see every text. Returns whether one of them accepted it.
bool try_text(const std::string& text) {
  auto graph = parse_graph(text);
  if (graph.ok()) {
    auto printed = print(*graph);
    auto again = parse_graph(printed);
    EXPECT_TRUE(again.ok()) << text << format(again.errors(), printed);
    if (!again.ok()) return true;
    EXPECT_EQ(print(*again), printed) << text;
  } else {
    EXPECT_FALSE(format(graph.errors(), text).empty());
  }
  auto kernel = parse_kernel(text);
  if (kernel.ok()) {
    auto printed = print(*kernel);
    auto again = parse_kernel(printed);
    EXPECT_TRUE(again.ok()) << text << format(again.errors(), printed);
    if (!again.ok()) return true;
    EXPECT_EQ(print(*again), printed) << text;
    EXPECT_EQ(signature(*again), signature(*kernel)) << text;
  }
  return graph.ok() || kernel.ok();
}

template <class MakeText>
void fuzz(unsigned seed, MakeText make_text) {
  std::mt19937 random(seed);
  auto end = std::chrono::steady_clock::now() + budget;
  while (std::chrono::steady_clock::now() < end && !testing::Test::HasFailure())
    try_text(make_text(random));
}

TEST(FuzzText, SurvivesRandomBytes) {
  fuzz(1, [](std::mt19937& random) {
    std::string text = random() % 2 ? "autoperfect.graph 1\n" : "autoperfect.kernel 1\n";
    for (auto n = random() % 300; n > 0; --n)
      text += static_cast<char>(random());
    return text;
  });
}

TEST(FuzzText, SurvivesMutations) {
  ASSERT_TRUE(try_text(graph_seed) && try_text(kernel_seed));
  const std::string alphabet = "%@[](){},:=+-*?.;\"\\\n 019aeijxz";
  fuzz(2, [&](std::mt19937& random) {
    auto text = random() % 2 ? graph_seed : kernel_seed;
    for (auto n = 1 + random() % 4; n > 0; --n) {
      auto at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 4);
          break;
        case 1:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
      }
      if (text.empty()) text = " ";
    }
    return text;
  });
}

// Numbers are where arithmetic may overflow.
TEST(FuzzText, SurvivesExtremeNumbers) {
  const std::vector<std::string> numbers = {
      "0",
      "-1",
      "1",
      "33",
      "4294967296",
      "9223372036854775807",
      "-9223372036854775808",
      "144115188075855872",
      "1e308"};
  fuzz(3, [&](std::mt19937& random) {
    auto text = random() % 2 ? graph_seed : kernel_seed;
    for (auto n = 1 + random() % 3; n > 0; --n) {
      auto begin = text.find_first_of("0123456789", random() % text.size());
      if (begin == std::string::npos) continue;
      auto end = text.find_first_not_of("0123456789", begin);
      text.replace(begin, end - begin, numbers[random() % numbers.size()]);
    }
    return text;
  });
}

}  // namespace
}  // namespace autoperfect
