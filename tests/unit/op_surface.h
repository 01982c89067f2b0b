// Every understood op, over what MLX admits for it: traced without an opaque node, printed, parsed, and run
// from the parsed text with MLX eager's own bits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "capture/capture.h"
#include "ir/graph_text.h"
#include "mlx/mlx.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;
using Dtypes = std::vector<mx::Dtype>;

const Dtypes integer_dtypes{
    mx::uint8, mx::uint16, mx::uint32, mx::uint64, mx::int8, mx::int16, mx::int32, mx::int64};
const Dtypes float_dtypes{mx::float16, mx::bfloat16, mx::float32, mx::float64};

[[maybe_unused]] Dtypes every_dtype() {
  Dtypes all{mx::bool_, mx::complex64};
  all.insert(all.end(), integer_dtypes.begin(), integer_dtypes.end());
  all.insert(all.end(), float_dtypes.begin(), float_dtypes.end());
  return all;
}

// Ranks 0 to 5, axes of size 0 and 1.
const std::vector<mx::Shape> every_shape{
    {}, {5}, {1}, {0}, {3, 4}, {1, 3}, {3, 0}, {2, 3, 4}, {2, 1, 3, 4}, {2, 3, 1, 2, 2}};

// Small numbers of both signs where the dtype has them, zeros among them; no NaN.
array numbers(const mx::Shape& shape, mx::Dtype dtype, int seed = 0) {
  int size = 1;
  for (auto n : shape)
    size *= n;
  std::vector<float> values, imaginary;
  for (int i = 0; i < size; ++i) {
    values.push_back(static_cast<float>((i * 7 + seed * 3) % 11 - 5) * 0.75f);
    imaginary.push_back(static_cast<float>((i * 5 + seed) % 7 - 3) * 0.5f);
  }
  auto real = array(values.begin(), shape, mx::float32);
  auto made = mx::astype(real, dtype);
  if (dtype == mx::complex64)
    made = mx::add(
        made, mx::multiply(array(mx::complex64_t{0, 1}), array(imaginary.begin(), shape, mx::float32)));
  made.eval();
  return made;
}

// Whole numbers from 0 to below `limit`: indices.
array indices(const mx::Shape& shape, int limit, mx::Dtype dtype = mx::int32, int seed = 0) {
  int size = 1;
  for (auto n : shape)
    size *= n;
  std::vector<int> values;
  for (int i = 0; i < size; ++i)
    values.push_back((i * 5 + seed) % limit);
  auto made = mx::astype(array(values.begin(), shape, mx::int32), dtype);
  made.eval();
  return made;
}

// The same numbers stored otherwise: last element first, or with the axes in the other order.
enum class Layout { row, reversed, transposed };
constexpr Layout every_layout[] = {Layout::row, Layout::reversed, Layout::transposed};

array stored(const array& a, Layout layout) {
  if (layout == Layout::row || a.size() == 0) return a;
  auto view = [&] {
    if (layout == Layout::transposed) return mx::transpose(mx::contiguous(mx::transpose(a)));
    mx::Shape start, stop, strides(a.ndim(), -1);
    for (auto n : a.shape()) {
      start.push_back(n - 1);
      stop.push_back(-n - 1);
    }
    return mx::slice(a, start, stop, strides);
  }();
  view.eval();
  return view;
}

// What ran of each op, so that a table which admits nothing does not pass.
class Surface {
 public:
  ~Surface() { flush(); }

  // Nothing happens when MLX itself refuses the arguments.
  void run(const std::string& what, const ArrayFunction& fn, const Arrays& in) {
    try {
      pending_.push_back({what, fn, in, fn(in), {}});
    } catch (const std::exception&) {
      return;
    }
    if (pending_.size() >= 200) flush();
  }

  // For what runs only when it is interpreted: `expected` says what it must give.
  void check(const std::string& what, const ArrayFunction& fn, const Arrays& in, const Arrays& expected) {
    pending_.push_back({what, fn, in, expected, {}});
    flush();
  }

  // Each op of the class ran at least so often, but for those listed.
  void expect_all(OpClass op_class, int at_least, std::vector<Op> but = {}) {
    flush();
    for (auto op : all_ops()) {
      if (class_of(op) != op_class || needs_its_primitive(op)) continue;
      if (std::find(but.begin(), but.end(), op) != but.end()) continue;
      EXPECT_GE(count(op), at_least) << name(op);
    }
  }
  int count(Op op) {
    flush();
    return ran_[op];
  }

 private:
  struct Case {
    std::string what;
    ArrayFunction fn;
    Arrays in, expected, actual;
  };

  // Evaluated together: most of the time of a small array is waiting for it.
  void flush() {
    auto evaluated = [](const std::vector<Case>& cases) {
      Arrays all;
      for (const auto& each : cases)
        all.insert(all.end(), each.expected.begin(), each.expected.end());
      try {
        mx::eval(all);
      } catch (const std::exception&) {
        return false;
      }
      return true;
    };
    if (!evaluated(pending_)) std::erase_if(pending_, [&](const Case& each) { return !evaluated({each}); });
    Arrays actual;
    for (auto& each : pending_) {
      interpret_text(each);
      actual.insert(actual.end(), each.actual.begin(), each.actual.end());
    }
    mx::eval(actual);
    for (const auto& each : pending_) {
      SCOPED_TRACE(each.what + describe(each.in));
      for (size_t i = 0; i < each.actual.size(); ++i)
        expect_bits(each.actual[i], each.expected[i]);
    }
    pending_.clear();
  }

  void interpret_text(Case& each) {
    auto captured = capture(each.fn, each.in);
    auto text = print(captured.graph);
    SCOPED_TRACE(each.what + describe(each.in) + "\n" + text);
    for (const auto& node : captured.graph.nodes) {
      ASSERT_FALSE(needs_its_primitive(node.op));
      ++ran_[node.op];
    }
    auto parsed = parse_graph(text);
    ASSERT_TRUE(parsed.ok()) << format(parsed.errors(), text);
    ASSERT_EQ(print(*parsed), text);
    auto arguments = each.in;
    arguments.insert(arguments.end(), captured.constants.begin(), captured.constants.end());
    auto actual = interpret(*parsed, arguments);
    ASSERT_EQ(actual.size(), each.expected.size());
    each.actual = std::move(actual);
  }

  static std::string describe(const Arrays& in) {
    std::ostringstream text;
    for (const auto& a : in)
      text << " " << a.dtype() << a.shape();
    return text.str();
  }

  static void expect_bits(array actual, array expected) {
    ASSERT_EQ(actual.dtype(), expected.dtype());
    ASSERT_EQ(actual.shape(), expected.shape());
    if (expected.size() == 0) return;
    if (!actual.flags().row_contiguous || !expected.flags().row_contiguous) {
      actual = mx::contiguous(actual);
      expected = mx::contiguous(expected);
      mx::eval(actual, expected);
    }
    EXPECT_EQ(std::memcmp(actual.data<char>(), expected.data<char>(), expected.nbytes()), 0);
  }

  std::vector<Case> pending_;
  std::map<Op, int> ran_;
};

}  // namespace
}  // namespace autoperfect
