// Parsers face bytes from anyone: no input crashes or hangs them, and what they accept prints and reads back.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>

#include "generate/language/language.h"
#include "ir/graph_text.h"
#include "ir/kernel_text.h"
#include "kernel_parts.h"
#include "support/file.h"

namespace autoperfect {
namespace {

constexpr auto budget = std::chrono::milliseconds(1000);  // for each of the three tests

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

// Every program in the golden tests, what goes in and what comes out, bad ones included.
std::vector<std::string> golden_texts() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GOLDEN_FOLDER)) {
    if (entry.path().extension() != ".ap") continue;
    const auto file = read_file(entry.path()).value();
    for (auto at = file.find("\nautoperfect."); at != std::string::npos;) {
      const auto next = file.find("\nautoperfect.", at + 1);
      const auto text = file.substr(at + 1, next - at - 1);
      texts.push_back(text.substr(0, text.find("\n; EXPECT") + 1));
      if (texts.back().empty()) texts.back() = text;
      at = next;
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

const std::string& any_seed(std::mt19937& random) {
  static const std::vector<std::string> seeds = [] {
    auto texts = golden_texts();
    for (int n = 0; n < 20; ++n)  // as likely as the goldens, nearly
      texts.insert(texts.end(), {graph_seed, kernel_seed, forms_seed, abi_seed});
    return texts;
  }();
  return seeds[random() % seeds.size()];
}

// A line of another text.
std::string any_line(std::mt19937& random) {
  const auto& text = any_seed(random);
  const auto begin = text.rfind('\n', random() % text.size()) + 1;
  return text.substr(begin, text.find('\n', begin) - begin) + "\n";
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

TEST(GoldenTexts, KernelsReadBackAndDoNotDependOnNames) {
  int kernels = 0;
  for (const auto& text : golden_texts()) {
    const auto kernel = parse_kernel(text);
    if (!kernel.ok()) continue;
    ++kernels;
    const auto canonical = print(*kernel, Names::canonical);
    const auto again = parse_kernel(canonical);
    ASSERT_TRUE(again.ok()) << canonical << format(again.errors(), canonical);
    EXPECT_EQ(print(*again, Names::canonical), canonical);
    EXPECT_EQ(signature(*again), signature(*kernel)) << text;
    EXPECT_EQ(print(with_neutral_names(*kernel), Names::canonical), canonical);
    const auto named = print(*kernel);
    EXPECT_EQ(print(*parse_kernel(named)), named);
  }
  EXPECT_GT(kernels, 60);
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
      switch (random() % 6) {
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
        case 5:
          text.insert(text.rfind('\n', at) + 1, any_line(random));
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

std::string kernel_of(const std::string& abi, const std::string& math) {
  return kernel_text(abi, math, "    accumulate f32\n");
}

// Gathers, guards, contractions and an output in as many parts.
std::string parts_text(size_t bytes) {
  std::string math = "    axes i=64, j=8, k=8\n    %id[i] = copy %at[i] : i32\n";
  int count = 0;
  for (; math.size() < bytes; ++count) {
    const auto id = std::to_string(count);
    math += "    %g" + id + "[i,j] = add %x[%id[i],j-" + id + "] else 0.0, 0.5 : f32\n";
    math += "    %c" + id + "[i,j] = matmul(k) %x[i,k], %x[%id[i],k] : f32\n";
    math +=
        "    %y[i+" + std::to_string(64 * count) + ",j] = mul %g" + id + "[i,j], %c" + id + "[i,j] : f32\n";
  }
  return kernel_of(
      "    in %x: f32[64,8] row\n    in %at: i32[64] row\n    out %y: f32[" + std::to_string(64 * count) +
          ",8] row\n",
      math);
}

std::string chain_text(size_t bytes) {
  std::string math = "    axes i=?64, j=8\n    %t0[i,j] = copy %x[i,j] : f32\n";
  int count = 1;
  for (; math.size() < bytes; ++count)
    math += "    %t" + std::to_string(count) + "[i,j] = mul %t" + std::to_string(count - 1) +
            "[i,j], 0.0009765625 : f32\n";
  math += "    %y[i,j] = add %t" + std::to_string(count - 1) + "[i,j], %x[i,j] : f32\n";
  return kernel_of("    in %x: f32[?i,8] row\n    out %y: f32[?i,8] row\n", math);
}

double processor_seconds(const std::function<void()>& work) {
  const auto begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// A parser or verifier that looks at all statements for each would never end.
TEST(FuzzText, TenMegabytesOfKernelsTakeUnderASecond) {
  for (const auto& text : {parts_text(10'000'000), chain_text(10'000'000)}) {
    const char* kind = text.find("matmul") == std::string::npos ? "chain" : "parts";
    std::optional<Result<Kernel>> kernel;
    const double parsing = processor_seconds([&] { kernel = parse_kernel(text); });
    ASSERT_TRUE(kernel->ok()) << format(kernel->errors()).substr(0, 2000);
    std::ptrdiff_t lines = 0;
    const double reading = processor_seconds([&] { lines = std::count(text.begin(), text.end(), '\n'); });
    EXPECT_GT((*kernel)->values.size() + 20, static_cast<size_t>(lines));
    std::printf(
        "%s: %.1f MB in %.2f s, counting its lines %.4f s\n", kind, text.size() / 1e6, parsing, reading);
    EXPECT_LT(parsing, 10) << "under a second where nothing else runs";  // room for sanitizers
    std::string printed;
    const double printing = processor_seconds([&] { printed = print(**kernel); });
    std::printf("%s: printed in %.2f s\n", kind, printing);
    EXPECT_LT(printing, 10);
  }
}

}  // namespace
}  // namespace autoperfect
