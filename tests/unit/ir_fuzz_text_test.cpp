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

const std::string forms_seed =
    "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,8] row\n    in %t: f32[9,8] row\n"
    "    in %a: u8[4] row\n    out %y: f32[?i,16] row\n    out %z: f32[4,8] row\n    out %m: f32[32] row\n"
    "  }\n  math {\n    axes i=?4, j=8, k=8, p=4\n    %id[p] = copy %a[p] : u8\n"
    "    %y[i,2*j] = cumsum(j) %x[i,j-3] else -inf inclusive=false reverse=true : f32\n"
    "    %y[i,2*j+1] = matmul(k) %x[i,k], %t[k,j] : f32\n    %z[p,j] = copy %t[%id[p],j+1] else 0.5 : f32\n"
    "    %m[4*j+p] = add %t[%id[p],j], %t[p,%id[p]] : f32\n  }\n  numerics {\n    accumulate f32\n  }\n}\n";

const std::string abi_seed =
    "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,?j] strides=[?,1] offset=3 align=16\n"
    "    in %r: f32[4,8] strides=[-8,-1] offset=31\n    in %w: u32[?i,?j] row\n    out %y: f32[?i,?j] row "
    "alias=%w\n    out %z: f32[4,8] row align=64\n    temp %t: f64[?j,3] row\n    temp %u: u8[] row\n  }\n"
    "  math {\n    axes i=?4, j=?5, k=4, l=8\n    %c[i,j] = cast %w[i,j] : f32\n"
    "    %y[i,j] = add %x[i,j], %c[i,j] : f32\n    %z[k,l] = copy %r[k,l] : f32\n  }\n  numerics {\n"
    "    accumulate f32\n  }\n}\n";

const std::string& any_seed(std::mt19937& random) {
  const std::string* seeds[] = {&graph_seed, &kernel_seed, &forms_seed, &abi_seed};
  return *seeds[random() % 4];
}

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
  ASSERT_TRUE(try_text(graph_seed) && try_text(kernel_seed) && try_text(forms_seed) && try_text(abi_seed));
  const std::string alphabet = "%@[](){},:=+-*?.;\"\\\n 019aeijxz";
  const std::string words[] = {
      "else 0.0",
      "else",
      "%id[p]",
      "cumsum(j)",
      "matmul(k)",
      "(k)",
      "[%id[p],",
      "%y",
      "strides=[?,1]",
      " offset=7",
      " align=32",
      " alias=%w",
      "temp %v: f32[2] row\n"};
  fuzz(2, [&](std::mt19937& random) {
    auto text = any_seed(random);
    for (auto n = 1 + random() % 4; n > 0; --n) {
      auto at = random() % text.size();
      switch (random() % 5) {
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
        case 4:
          text.insert(at, words[random() % std::size(words)]);
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
    auto text = any_seed(random);
    for (auto n = 1 + random() % 3; n > 0; --n) {
      auto begin = text.find_first_of("0123456789", random() % text.size());
      if (begin == std::string::npos) continue;
      auto end = text.find_first_not_of("0123456789", begin);
      text.replace(begin, end - begin, numbers[random() % numbers.size()]);
    }
    return text;
  });
}

// Megabytes of statements: a parser or verifier that looks at all of them for each would never end.
TEST(FuzzText, LargeKernelsTakeTimeInProportion) {
  constexpr int count = 20000;
  std::string text =
      "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[64,8] row\n    in %at: i32[64] row\n    "
      "out %y: f32[" +
      std::to_string(64 * count) +
      ",8] row\n  }\n  math {\n    axes i=64, j=8, k=8\n    %id[i] = copy %at[i] : i32\n";
  for (int n = 0; n < count; ++n) {
    const auto id = std::to_string(n);
    text += "    %g" + id + "[i,j] = add %x[%id[i],j-" + id + "] else 0.0, 0.5 : f32\n";
    text += "    %c" + id + "[i,j] = matmul(k) %x[i,k], %x[%id[i],k] : f32\n";
    text += "    %y[i+" + std::to_string(64 * n) + ",j] = mul %g" + id + "[i,j], %c" + id + "[i,j] : f32\n";
  }
  text += "  }\n  numerics {\n    accumulate f32\n  }\n}\n";
  const auto begin = std::chrono::steady_clock::now();
  const auto kernel = parse_kernel(text);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(kernel.ok()) << format(kernel.errors()).substr(0, 2000);
  EXPECT_EQ(kernel->values.size(), 3u * count + 1);
  RecordProperty(
      "megabytes_a_second", std::to_string(static_cast<double>(text.size()) / 1e6 / taken.count()));
  std::printf("%.1f MB in %.2f s\n", static_cast<double>(text.size()) / 1e6, taken.count());
  EXPECT_LT(taken.count(), 20);  // about a third of a second where nothing else runs
}

}  // namespace
}  // namespace autoperfect
