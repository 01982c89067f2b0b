// Kernels as MLX primitives, with hand-made kernel functions: what is tested is everything around them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "dispatch/buffer_pool.h"
#include "dispatch/dispatch.h"
#include "dispatch/strided_copy.h"
#include "ir/graph_text.h"
#include "mlx/mlx.h"

namespace autoperfect {
namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;

// y[i, j] = 2 * x[i, j] + w[j], rows dynamic; s[i] = sum over j of x[i, j].
constexpr int64_t columns = 6;
std::atomic<int> launches = 0;

void rows_kernel(
    const void* const* in, void* const* out, void*, void*, const long* dims, long begin, long end) {
  ++launches;
  EXPECT_LE(end, dims[0]);
  auto *x = static_cast<const float*>(in[0]), *w = static_cast<const float*>(in[1]);
  auto *y = static_cast<float*>(out[0]), *s = static_cast<float*>(out[1]);
  for (long i = begin; i < end; ++i) {
    s[i] = 0;
    for (long j = 0; j < columns; ++j) {
      y[i * columns + j] = 2 * x[i * columns + j] + w[j];
      s[i] += x[i * columns + j];
    }
  }
}

Buffer buffer(const char* name, BufferRole role, Shape shape, std::vector<AxisId> dynamic_dims) {
  return {name, role, {Dtype::f32, std::move(shape)}, std::move(dynamic_dims)};
}

std::shared_ptr<Executable> rows_executable() {
  auto executable = std::make_shared<Executable>();
  auto& kernel = executable->kernel;
  kernel.axes = {{"i", 4, true}, {"j", columns, false}};
  kernel.buffers = {
      buffer("x", BufferRole::in, {4, columns}, {0, -1}),
      buffer("w", BufferRole::in, {columns}, {-1}),
      buffer("y", BufferRole::out, {4, columns}, {0, -1}),
      buffer("s", BufferRole::out, {4}, {0})};
  auto graph = parse_graph(
      "autoperfect.graph 1\n"
      "graph @rows(%x: f32[4,6], %w: f32[6]) {\n"
      "  %two = const 2.0 : f32[]\n"
      "  %d = mul %x, %two : f32[4,6]\n"
      "  %y = add %d, %w : f32[4,6]\n"
      "  %s = sum %x axes=[1] keepdims=false : f32[4]\n"
      "  return %y, %s\n"
      "}\n");
  EXPECT_TRUE(graph.ok()) << format(graph.errors());
  executable->fallback = *graph;
  executable->loaded = std::make_shared<LoadedKernel>();
  executable->loaded->kernel = rows_kernel;
  executable->loaded->launch.parallel = {0};
  return executable;
}

array range(const mx::Shape& shape, float start = 0) {
  int size = 1;
  for (auto n : shape)
    size *= n;
  auto result = mx::reshape(mx::arange(start, start + static_cast<float>(size), 1.0), shape);
  result.eval();
  return result;
}

void expect_equal(const array& a, const array& b) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  EXPECT_TRUE(mx::array_equal(a, b).item<bool>());
}

void expect_rows(const Arrays& results, const array& x, const array& w) {
  ASSERT_EQ(results.size(), 2u);
  expect_equal(results[0], x * array(2.0f) + w);
  expect_equal(results[1], mx::sum(x, 1));
}

TEST(Dispatch, RunsTheKernelForAnyNumberOfRows) {
  auto executable = rows_executable();
  auto w = range({columns}, 3);
  for (int rows : {1, 4, 9, 3000}) {
    launches = 0;
    auto x = range({rows, columns});
    auto results = dispatch(executable, {x, w});
    EXPECT_EQ(launches, 0) << "it is lazy";
    expect_rows(results, x, w);
    EXPECT_GT(launches, 0);
  }
}

TEST(Dispatch, StridedInputsAreMadeDense) {
  auto executable = rows_executable();
  auto wide = range({columns, 40});
  launches = 0;
  auto x = mx::transpose(wide);
  auto w = mx::slice(range({2 * columns}), {2 * columns - 1}, {-2 * columns - 1}, {-2});
  expect_rows(dispatch(executable, {x, w}), x, w);
  auto row = mx::broadcast_to(range({1, columns}), {5, columns});
  expect_rows(dispatch(executable, {row, mx::broadcast_to(array(2.0f), {columns})}), row, array(2.0f));
  EXPECT_GT(launches, 0);
}

TEST(Dispatch, WhatTheKernelWasNotMadeForFallsBack) {
  auto executable = rows_executable();
  auto w = range({columns});
  launches = 0;
  auto other_columns =
      dispatch(executable, {mx::astype(range({4, columns}), mx::float16), mx::astype(w, mx::float16)});
  EXPECT_EQ(other_columns[0].shape(), (mx::Shape{4, columns}));
  auto none = dispatch(executable, {mx::zeros({0, columns}), w});
  EXPECT_EQ(none[0].shape(), (mx::Shape{0, columns}));
  executable->loaded = nullptr;
  auto x = range({4, columns});
  expect_rows(dispatch(executable, {x, w}), x, w);
  mx::eval(other_columns);
  mx::eval(none);
  EXPECT_EQ(launches, 0);
}

TEST(Dispatch, Chains) {
  auto executable = rows_executable();
  auto x = range({50, columns}), w = range({columns});
  auto y = x, expected = x;
  for (int i = 0; i < 4; ++i) {
    y = dispatch(executable, {y, w})[0];
    expected = expected * array(2.0f) + w;
  }
  expect_equal(y, expected);
}

TEST(Dispatch, Transformations) {
  auto executable = rows_executable();
  auto w = range({columns}), x = range({4, columns}, -5);
  auto ours = [&](const Arrays& in) {
    auto out = dispatch(executable, in);
    return Arrays{mx::sum(mx::square(out[0])) + mx::sum(mx::exp(out[1] * array(0.01f)))};
  };
  auto plain = [&](const Arrays& in) {
    return Arrays{
        mx::sum(mx::square(in[0] * array(2.0f) + in[1])) +
        mx::sum(mx::exp(mx::sum(in[0], 1) * array(0.01f)))};
  };
  auto [value, gradients] = mx::value_and_grad(ours, {0, 1})({x, w});
  auto [expected_value, expected] = mx::value_and_grad(plain, {0, 1})({x, w});
  expect_equal(value[0], expected_value[0]);
  expect_equal(gradients[0], expected[0]);
  expect_equal(gradients[1], expected[1]);
  auto tangents = mx::jvp(ours, {x, w}, {mx::ones_like(x), mx::ones_like(w)}).second;
  expect_equal(tangents[0], mx::jvp(plain, {x, w}, {mx::ones_like(x), mx::ones_like(w)}).second[0]);
  auto batch = range({3, 4, columns});
  auto mapped = mx::vmap(std::function<Arrays(const Arrays&)>(ours), {0, -1}, {0})({batch, w});
  expect_equal(mapped[0], mx::vmap(std::function<Arrays(const Arrays&)>(plain), {0, -1}, {0})({batch, w})[0]);
}

TEST(Dispatch, SurvivesItsExecutable) {
  auto executable = rows_executable();
  auto x = range({7, columns}), w = range({columns});
  auto results = dispatch(executable, {x, w});
  executable.reset();
  expect_rows(results, x, w);
}

TEST(Dispatch, OtherStreamsAndThreads) {
  auto executable = rows_executable();
  auto x = range({7, columns}), w = range({columns});
  auto stream = mx::new_stream(mx::Device::cpu);
  expect_rows(dispatch(executable, {x, w}, stream), x, w);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto mine = range({1 + i, columns}, static_cast<float>(i));
        expect_rows(dispatch(executable, {mine, w}), mine, w);
      }
      mx::clear_streams();
    });
  }
  for (auto& thread : threads)
    thread.join();
}

TEST(Dispatch, LargeResultsAreAlignedAndReused) {
  auto executable = rows_executable();
  auto x = range({4000, columns}), w = range({columns});
  const void* first = nullptr;
  for (int i = 0; i < 3; ++i) {
    auto results = dispatch(executable, {x, w});
    mx::eval(results);
    mx::synchronize();
    auto* data = results[0].data<char>();
    expect_rows(results, x, w);
    if (!results_are_pooled()) continue;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    EXPECT_EQ(results[0].buffer_size(), results[0].nbytes());
    if (i > 0) {
      EXPECT_EQ(data, first);
    }
    first = data;
  }
}

TEST(BufferPool, KeepsAtMostWhatItMay) {
  BufferPool pool(1 << 20);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i)
    blocks.push_back(pool.acquire(200 << 10));
  for (auto* block : blocks)
    pool.release(block);
  EXPECT_LE(pool.kept_bytes(), size_t{1} << 20);
  EXPECT_GT(pool.kept_bytes(), size_t{500} << 10);
  auto* huge = pool.acquire(size_t{9} << 20);
  static_cast<char*>(huge)[(size_t{9} << 20) - 1] = 1;
  pool.release(huge);
  EXPECT_LE(pool.kept_bytes(), size_t{1} << 20);
  pool.trim(0);
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

template <class T>
void check_copy(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int64_t first) {
  std::vector<T> data(70000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<T>(i * 7 + 1);
  int64_t size = 1;
  for (auto n : shape)
    size *= n;
  std::vector<T> dense(size);
  copy_to_dense({data.data() + first, sizeof(T), shape, strides}, dense.data());
  for (int64_t flat = 0; flat < size; ++flat) {
    int64_t offset = first, rest = flat;
    for (size_t d = shape.size(); d-- > 0;) {
      offset += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    ASSERT_EQ(dense[flat], data[offset]) << flat;
  }
}

TEST(StridedCopy, AllLayouts) {
  check_copy<uint8_t>({}, {}, 3);
  check_copy<uint16_t>({5}, {-2}, 100);
  check_copy<uint32_t>({40, 70}, {1, 40}, 0);           // a transposition
  check_copy<uint32_t>({3, 50, 40}, {2000, 1, 50}, 5);  // of each of three
  check_copy<uint64_t>({7, 6, 5}, {1, 70, 7}, 0);
  check_copy<uint8_t>({4, 3, 2}, {0, 2, 1}, 0);  // a broadcast
  check_copy<uint32_t>({3, 4, 1, 5}, {-40, 5, 99, 1}, 200);
  check_copy<uint32_t>({2, 3, 4}, {12, 4, 1}, 0);
  check_copy<uint32_t>({200, 5000}, {0, 3}, 1);  // large: over all threads
}

double microseconds_of(const std::function<void()>& body, int count) {
  double best = INFINITY;
  for (int repeat = 0; repeat < 7; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i)
      body();
    best = std::min(
        best,
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / count);
  }
  return best;
}

TEST(Dispatch, CostsAboutAsMuchAsAnMlxOperation) {
  auto executable = rows_executable();
  auto x = range({4, columns}), w = range({columns});
  double plain = microseconds_of([&] { mx::eval(mx::add(x, w)); }, 2000);
  double ours = microseconds_of([&] { mx::eval(dispatch(executable, {x, w})); }, 2000);
  double building = microseconds_of([&] { dispatch(executable, {x, w}); }, 20000);
  double building_add = microseconds_of([&] { mx::add(x, x); }, 20000);
  RecordProperty("ours_us", std::to_string(ours));
  std::printf(
      "one operation: MLX %.2f us, a kernel %.2f us; building the node: %.2f and %.2f us\n",
      plain,
      ours,
      building_add,
      building);
  EXPECT_LT(ours, 5 * plain + 50);
}

}  // namespace
}  // namespace autoperfect
