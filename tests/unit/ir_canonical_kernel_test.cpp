// The canonical text of a kernel is what signatures and cache keys are hashed from: it is a fixpoint, and
// names and the size of a dynamic axis are not in it. All else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "ir/canonical_order.h"
#include "ir/kernel_text.h"
#include "random_kernel.h"

namespace autoperfect {
namespace {

constexpr unsigned seeds = 1000;

Kernel random_kernel(unsigned seed) {
  auto text = RandomKernel(seed).text();
  auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel.ok()) << text << format(kernel.errors(), text);
  return *kernel;
}

// Names in another alphabetical order than the old ones, so that an order by name would show.
Kernel renamed(Kernel kernel, unsigned seed) {
  std::mt19937 random(seed);
  auto name = [&](const char* stem, size_t n) {
    return std::string(1, 'a' + random() % 26) + stem + std::to_string(n);
  };
  kernel.name = name("kernel", 0);
  for (size_t a = 0; a < kernel.axes.size(); ++a)
    kernel.axes[a].name = name("axis", a);
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    kernel.buffers[b].name = name("buffer", b);
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    auto& value = kernel.values[v];
    value.name = value.output >= 0 ? kernel.buffers[value.output].name : name("value", v);
  }
  return kernel;
}

TEST(CanonicalKernel, IsAFixpoint) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto canonical = print(random_kernel(seed), Names::canonical);
    auto again = parse_kernel(canonical);
    ASSERT_TRUE(again.ok()) << canonical << format(again.errors(), canonical);
    ASSERT_EQ(print(*again, Names::canonical), canonical);
    // Its own names are the canonical ones already, but for the kernel's.
    ASSERT_EQ(print(*again), canonical);
  }
}

TEST(CanonicalKernel, ForgetsNames) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto kernel = random_kernel(seed);
    auto other = renamed(kernel, seed);
    ASSERT_TRUE(verify(other).empty()) << format(verify(other)) << print(other);
    ASSERT_EQ(print(other, Names::canonical), print(kernel, Names::canonical)) << print(other);
    auto text = print(other);
    auto read = parse_kernel(text);
    ASSERT_TRUE(read.ok()) << text << format(read.errors(), text);
    ASSERT_EQ(print(*read), text);
    ASSERT_EQ(signature(*read), signature(kernel)) << text;
  }
}

// Statements in another legal order, and axes in any.
Kernel reordered(const Kernel& kernel, unsigned seed) {
  std::mt19937 random(seed);
  auto shuffled = [&](size_t n) {
    std::vector<int32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  };
  auto axes = shuffled(kernel.axes.size());  // new place of each
  std::vector<KernelValueId> place(kernel.values.size(), -1), order;
  while (order.size() < kernel.values.size()) {
    for (auto v : shuffled(kernel.values.size())) {
      bool ready = place[v] < 0;
      for (auto& operand : kernel.values[v].operands) {
        if (operand.kind == KernelOperand::Kind::value) ready = ready && place[operand.id] >= 0;
        for (auto index : operand.gathered)
          ready = ready && (index < 0 || place[index] >= 0);
      }
      if (!ready) continue;
      place[v] = static_cast<KernelValueId>(order.size());
      order.push_back(v);
      break;
    }
  }
  Kernel other = kernel;
  for (size_t a = 0; a < axes.size(); ++a)
    other.axes[axes[a]] = kernel.axes[a];
  for (auto& buffer : other.buffers)
    for (auto& axis : buffer.dynamic_dims)
      if (axis >= 0) axis = axes[axis];
  auto moved = [&](std::vector<AxisId>& list) {
    for (auto& axis : list)
      axis = axes[axis];
    std::sort(list.begin(), list.end());
  };
  auto moved_index = [&](std::vector<Affine>& index) {
    for (auto& affine : index) {
      for (auto& term : affine.terms)
        term.first = axes[term.first];
      std::sort(affine.terms.begin(), affine.terms.end());
    }
  };
  for (size_t v = 0; v < order.size(); ++v) {
    auto& value = other.values[v] = kernel.values[order[v]];
    moved(value.axes), moved(value.reduced), moved_index(value.store);
    if (value.scanned >= 0) value.scanned = axes[value.scanned];
    for (auto& operand : value.operands) {
      if (operand.kind == KernelOperand::Kind::value) operand.id = place[operand.id];
      if (operand.kind == KernelOperand::Kind::iota) operand.id = axes[operand.id];
      moved_index(operand.index);
      for (auto& index : operand.gathered)
        if (index >= 0) index = place[index];
    }
  }
  return other;
}

TEST(CanonicalKernel, ForgetsTheOrderOfStatementsAndAxes) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto kernel = random_kernel(seed);
    auto other = reordered(kernel, seed);
    ASSERT_TRUE(verify(other).empty()) << format(verify(other)) << print(other);
    ASSERT_EQ(print(other, Names::canonical), print(kernel, Names::canonical))
        << print(kernel) << print(other);
    auto ordered = canonical_order(other);
    ASSERT_EQ(print(canonical_order(ordered)), print(ordered));
    ASSERT_TRUE(verify(ordered).empty()) << format(verify(ordered)) << print(ordered);
  }
}

TEST(CanonicalKernel, ForgetsWhatNoOutputNeeds) {
  auto text = [](const std::string& more) {
    return "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[3,2] row\n    out %y: f32[2,3] row\n  "
           "}\n"
           "  math {\n    axes i=3, j=2\n" +
           more +
           "    %y[j,i] = exp %x[i,j] : f32\n  }\n  numerics {\n"
           "    accumulate f32\n  }\n}\n";
  };
  auto kernel = *parse_kernel(text("")), longer = *parse_kernel(text("    %t[i] = sum(j) %x[i,j] : f32\n"));
  EXPECT_EQ(signature(kernel), signature(longer));
  // Outer dimensions of the output first.
  EXPECT_NE(
      print(kernel, Names::canonical).find("axes a0=2, a1=3\n    %out0[a0,a1] = exp %in0[a1,a0] : f32\n"),
      std::string::npos)
      << print(kernel, Names::canonical);
}

TEST(CanonicalKernel, ForgetsTheSizeOfADynamicAxis) {
  auto of_size = [](int64_t size) {
    return *parse_kernel(
        "autoperfect.kernel 1\nkernel @k {\n  abi {\n    in %x: f32[?i,8] row\n    out %y: f32[?i,16] row\n  "
        "}\n"
        "  math {\n    axes i=?" +
        std::to_string(size) +
        ", j=8\n    %y[i,2*j] = copy %x[i,j-1] else 0.0 : f32\n"
        "    %y[i,2*j+1] = cumsum(j) %x[i,j] : f32\n  }\n  numerics {\n    accumulate f32\n  }\n}\n");
  };
  EXPECT_EQ(print(of_size(4), Names::canonical), print(of_size(1000), Names::canonical));
  EXPECT_EQ(print(of_size(0), Names::canonical), print(of_size(4), Names::canonical));
  auto again = *parse_kernel(print(of_size(4), Names::canonical));
  EXPECT_EQ(print(again, Names::canonical), print(of_size(4), Names::canonical));
  EXPECT_EQ(signature(again), signature(of_size(7)));
}

// A kernel that computes something else has another canonical text.
TEST(CanonicalKernel, SeesWhatIsComputed) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    auto kernel = random_kernel(seed);
    auto before = print(kernel, Names::canonical);
    auto changes_with = [&](auto change) {
      auto other = kernel;
      change(other);
      ASSERT_NE(print(other, Names::canonical), before) << print(kernel);
    };
    changes_with([](Kernel& k) { k.numerics.reassociate = !k.numerics.reassociate; });
    changes_with([](Kernel& k) { k.axes.back().size += 1; });
    changes_with([](Kernel& k) { std::swap(k.buffers[0], k.buffers.back()); });
    changes_with([](Kernel& k) { k.values.back().dtype = Dtype::c64; });
    changes_with([](Kernel& k) { k.values.back().op = Op::stop_gradient; });
  }
}

}  // namespace
}  // namespace autoperfect
