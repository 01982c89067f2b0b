// The CPU prelude apart from its math functions: memory, rounding to the half types, conversions, compare and
// select, integers, reductions. Accuracy of the math functions: prelude_math_test.cpp.

#include "compile/cpu/prelude.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using namespace ap;

template <class V>
auto lanes(V v) {
  std::array<typename scalar_of<V>::type, W> a;
  std::memcpy(a.data(), &v, sizeof v);
  return a;
}
uint32_t pattern(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
float from_pattern(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

// The same number, the same signed zero; any NaN for a NaN.
::testing::AssertionResult same(double a, double b) {
  if ((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << " is not " << b;
}

// Two pages with a forbidden one on either side.
struct Guarded {
  long page = sysconf(_SC_PAGESIZE);
  char* all =
      static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* begin = all + page;
  char* end = all + 3 * page;
  Guarded() {
    mprotect(all, page, PROT_NONE);
    mprotect(end, page, PROT_NONE);
  }
  ~Guarded() { munmap(all, 4 * page); }
};

template <class T>
void partial_moves() {
  using V = typename element<T>::value;
  Guarded g;
  T source[W];
  for (int l = 0; l < W; ++l) {
    auto bits = static_cast<unsigned char>(l + 1);
    if constexpr (std::is_class_v<T>)
      source[l].bits = std::is_same_v<T, bool8> ? 1 : static_cast<u16>(0x3c00 + bits);
    else
      source[l] = static_cast<T>(bits);
  }
  auto whole = lanes(load(source));
  for (int n = 0; n <= W; ++n)
    for (T* at : {reinterpret_cast<T*>(g.begin), reinterpret_cast<T*>(g.end) - n}) {
      std::memset(g.begin, 0xee, g.end - g.begin);
      if (n) std::memcpy(static_cast<void*>(at), source, n * sizeof(T));
      V v = load(at, n);
      for (int l = 0; l < W; ++l)
        EXPECT_EQ(lanes(v)[l], l < n ? whole[l] : 0) << n << ' ' << l;
      std::memset(g.begin, 0xee, g.end - g.begin);
      store(at, load(source), n);
      EXPECT_TRUE(n == 0 || std::memcmp(at, source, n * sizeof(T)) == 0) << n;
      if (reinterpret_cast<char*>(at) == g.begin)
        EXPECT_EQ(static_cast<unsigned char>(g.begin[n * sizeof(T)]), 0xee);
      else
        EXPECT_EQ(static_cast<unsigned char>(g.end[-1 - n * static_cast<long>(sizeof(T))]), 0xee);
    }
  for (int shift : {0, 1}) {  // aligned, and off by one byte
    T* at = reinterpret_cast<T*>(g.begin + shift);
    stream(at, load(source));
    fence();
    EXPECT_EQ(std::memcmp(at, source, sizeof source), 0);
    auto back = lanes(load(at));
    EXPECT_EQ(back, whole);
    store(at, load(source));
    EXPECT_EQ(std::memcmp(at, source, sizeof source), 0);
  }
}

TEST(Memory, PartialLoadsAndStoresTouchNothingElse) {
  partial_moves<f32>();
  partial_moves<f64>();
  partial_moves<i8>();
  partial_moves<u8>();
  partial_moves<i16>();
  partial_moves<u16>();
  partial_moves<i32>();
  partial_moves<u32>();
  partial_moves<i64>();
  partial_moves<u64>();
  partial_moves<f16>();
  partial_moves<bf16>();
  partial_moves<bool8>();
}

TEST(Memory, GatherTakesEachLanesElement) {
  std::vector<bf16> table(100);
  for (int i = 0; i < 100; ++i)
    table[i].bits = static_cast<u16>(0x3f80 + i);
  vi64 index = to_i64(iota() * 7 % 100);
  for (int l = 0; l < W; ++l)
    EXPECT_EQ(pattern(lanes(gather(table.data(), index))[l]) >> 16, 0x3f80u + l * 7 % 100);
  float numbers[] = {1, -2, 3};
  EXPECT_EQ(lane(gather(numbers, vi32{} + 1)), -2);
}

TEST(Half, EveryBf16AndF16SurvivesLoadAndStore) {
  for (unsigned u = 0; u < 65536; u += W) {
    f16 h[W], h2[W];
    bf16 b[W], b2[W];
    for (int l = 0; l < W; ++l)
      h[l].bits = b[l].bits = static_cast<u16>(u + l);
    vf vh = load(h), vb = load(b);
    store(h2, vh);
    store(b2, vb);
    auto rh = lanes(round_f16(vh)), rb = lanes(round_bf16(vb));
    for (int l = 0; l < W; ++l) {
      unsigned x = u + l, exponent = x >> 10 & 31, mantissa = x & 1023;
      bool nan = exponent == 31 && mantissa;
      double value =
          exponent == 31
              ? INFINITY
              : std::ldexp(exponent ? 1024.0 + mantissa : mantissa, int(exponent ? exponent : 1) - 25);
      EXPECT_TRUE(same(lanes(vh)[l], nan ? NAN : x & 0x8000 ? -value : value)) << x;
      EXPECT_EQ(h2[l].bits | (nan ? 0x200 : 0), x | (nan ? 0x200 : 0));
      EXPECT_EQ(pattern(lanes(vb)[l]), x << 16);
      EXPECT_EQ(b2[l].bits, x);
      EXPECT_TRUE(same(rh[l], lanes(vh)[l])) << x;
      EXPECT_TRUE(same(rb[l], lanes(vb)[l])) << x;
    }
  }
}

// Between each number of the half type and the next: a little below the middle, the middle, a little above;
// both signs.
template <class Half>
void check_ties(vf (*round)(vf), unsigned infinity, float after_largest) {
  for (unsigned u = 0; u < infinity; ++u) {
    Half pair[W] = {};
    pair[0].bits = static_cast<u16>(u);
    pair[1].bits = static_cast<u16>(u + 1);
    auto v = lanes(load(pair));
    float next = u + 1 == infinity ? after_largest : v[1];
    double middle = (double{v[0]} + next) / 2;
    float tie = std::fabs(middle) > 3e38 && std::isinf(next) ? v[0] : static_cast<float>(middle);
    if (tie == v[0]) continue;
    float even = u & 1 ? v[1] : v[0];
    for (int s : {1, -1}) {
      EXPECT_TRUE(same(lane(round(splat(s * tie))), s * even)) << u;
      EXPECT_TRUE(same(lane(round(splat(s * std::nextafter(tie, 0.0f)))), s * v[0])) << u;
      EXPECT_TRUE(same(lane(round(splat(s * std::nextafter(tie, INFINITY)))), s * v[1])) << u;
    }
  }
  for (uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0x7fc00000u})
    EXPECT_TRUE(std::isnan(lane(round(splat(from_pattern(nan))))));
  EXPECT_EQ(lane(round(splat(INFINITY))), INFINITY);
  EXPECT_EQ(lane(round(splat(-3.4028235e38f))), -INFINITY);
  EXPECT_TRUE(same(lane(round(splat(-1e-45f))), -0.0f));
}
TEST(Half, RoundsToNearestEven) {
  check_ties<f16>([](vf x) { return round_f16(x); }, 0x7c00, 65536);
  check_ties<bf16>([](vf x) { return round_bf16(x); }, 0x7f80, INFINITY);
  EXPECT_EQ(
      pattern(lane(round_bf16(splat(from_pattern(0x7f7f7fff))))),
      0x7f7f0000u);  // just below the tie to infinity
  EXPECT_EQ(pattern(lane(round_bf16(splat(from_pattern(0x7f7f8000))))), 0x7f800000u);
}

TEST(Convert, FloatToIntegerTruncatesAndOverflowsAsX86) {
  volatile float big = 3e9f;
  auto f = [&](float x) { return splat(x); };
  EXPECT_EQ(lane(to_i32(f(-1.9f))), -1);
  EXPECT_EQ(lane(to_u32(f(big))), 3000000000u);
  EXPECT_EQ(lane(to_u32(f(-1))), 4294967295u);
  EXPECT_EQ(lane(to_i64(f(-big))), -3000000000);
  EXPECT_EQ(lane(to_u64(f(1e19f))), 9999999980506447872ull);
  EXPECT_EQ(lane(to_u64(f(-1))), 18446744073709551615ull);
  EXPECT_EQ(lane(to_u8(f(300))), 44);
  EXPECT_EQ(lane(to_i8(f(-129))), 127);
  EXPECT_EQ(lane(to_i16(f(40000))), -25536);
#if defined(__x86_64__)
  for (float x : {float{big}, -float{big}, NAN, INFINITY, -INFINITY})
    EXPECT_EQ(lane(to_i32(f(x))), INT32_MIN) << x;
  volatile float nan = NAN, huge = 1e30f;
  EXPECT_EQ(lane(to_i64(f(nan))), INT64_MIN);
  EXPECT_EQ(lane(to_i64(f(huge))), INT64_MIN);
  EXPECT_EQ(lane(to_u32(f(nan))), 0u);
  EXPECT_EQ(lane(to_u8(f(nan))), 0);
  EXPECT_EQ(lane(to_i32(splat<vd>(nan))), INT32_MIN);
  EXPECT_EQ(lane(to_i32(splat<vd>(big))), INT32_MIN);
#endif
  EXPECT_EQ(lane(to_i64(splat<vd>(-1e15))), -1000000000000000);
  EXPECT_EQ(lane(to_f32(splat<vd>(0.1))), 0.1f);
  EXPECT_EQ(lane(to_f32(splat<vu64>(UINT64_MAX))), 18446744073709551616.0f);
  EXPECT_EQ(lane(to_f32(splat<vi32>(16777217))), 16777216.0f);
  EXPECT_EQ(lane(to_f64(splat<vu32>(4294967295u))), 4294967295.0);
  EXPECT_EQ(lane(to_i8(splat<vi64>(-129))), 127);
  EXPECT_EQ(lane(to_i64(splat<vi8>(-3))), -3);
  EXPECT_EQ(lane(to_bool(f(NAN))), -1);
  EXPECT_EQ(lane(to_bool(f(-0.0f))), 0);
  EXPECT_EQ(lane(to_bool(f(1e-45f))), -1);
  EXPECT_EQ(lane(to_f32(from_bool(splat_bool(true)))), 1.0f);
}

template <class V>
void compare_and_select() {
  using T = typename scalar_of<V>::type;
  V one = splat<V>(1), two = splat<V>(2), top = splat<V>(std::numeric_limits<T>::max());
  for (auto [m, want] :
       {std::pair{lt(one, two), -1},
        {lt(two, one), 0},
        {gt(top, one), -1},
        {eq(one, one), -1},
        {ne(one, one), 0},
        {le(one, one), -1},
        {ge(one, two), 0}})
    EXPECT_EQ(lanes(m), lanes(splat<vi32>(want)));
  auto mixed = lanes(select(iota() < 2, one, two));
  for (int l = 0; l < W; ++l)
    EXPECT_EQ(mixed[l], l < 2 ? 1 : 2);
  EXPECT_EQ(lane(maximum(one, two)), 2);
  EXPECT_EQ(lane(minimum(top, two)), 2);
  V count{};
  for (int l = 0; l < W; ++l)
    count[l] = T(l);
  EXPECT_EQ(lanes(hsum(count)), lanes(splat<V>(T(W * (W - 1) / 2))));
  EXPECT_EQ(lanes(hmax(count)), lanes(splat<V>(T(W - 1))));
  EXPECT_EQ(lanes(hmin(count)), lanes(splat<V>(T(0))));
  V twos = select(iota() < 3, two, one);
  EXPECT_EQ(lanes(hprod(twos)), lanes(splat<V>(T(8))));
}
TEST(Lanes, CompareSelectAndReduceOfEveryType) {
  compare_and_select<vf>();
  compare_and_select<vd>();
  compare_and_select<vi8>();
  compare_and_select<vu8>();
  compare_and_select<vi16>();
  compare_and_select<vu16>();
  compare_and_select<vi32>();
  compare_and_select<vu32>();
  compare_and_select<vi64>();
  compare_and_select<vu64>();
}

TEST(Lanes, NanAndZerosAsMlx) {
  vf nan = splat(NAN), one = splat(1.0f), zero = splat(0.0f), minus = splat(-0.0f);
  for (auto m : {eq(nan, nan), lt(nan, one), ge(nan, one), eq(nan, one)})
    EXPECT_EQ(lane(m), 0);
  EXPECT_EQ(lane(ne(nan, nan)), -1);
  for (auto v : {maximum(nan, one), maximum(one, nan), minimum(nan, one), minimum(one, nan)})
    EXPECT_TRUE(std::isnan(lane(v)));
  EXPECT_TRUE(same(lane(maximum(zero, minus)), -0.0));
  EXPECT_TRUE(same(lane(maximum(minus, zero)), 0.0));
  EXPECT_TRUE(same(lane(minimum(minus, zero)), 0.0));
  for (int at = 0; at < W; ++at) {
    vf v = to_f32(iota());
    v[at] = NAN;
    for (vf r : {hsum(v), hprod(v), hmax(v), hmin(v)})
      for (float x : lanes(r))
        EXPECT_TRUE(std::isnan(x)) << at;
    vd d = to_f64(v);
    EXPECT_TRUE(std::isnan(lane(hmax(d))) && std::isnan(lane(hmin(d))));
    mask m = eq(iota(), splat<vi32>(at));
    EXPECT_EQ(lanes(hany(m)), lanes(splat_bool(true)));
    EXPECT_EQ(lanes(hall(m)), lanes(splat_bool(false)));
    EXPECT_EQ(lanes(hall(mask_or(m, mask_not(m)))), lanes(splat_bool(true)));
    EXPECT_EQ(lanes(hany(mask_and(m, mask_not(m)))), lanes(splat_bool(false)));
    EXPECT_EQ(lanes(first(at))[at], 0);
    EXPECT_EQ(lane(hsum(from_bool(first(at)))), at);
  }
  EXPECT_TRUE(all(first(1L << 40)) && !any(first(0)));
  EXPECT_TRUE(same(lane(splat(-0.0f)), -0.0));
}

// Against C++ on every pair of interesting and many random numbers.
template <class V>
void integer_division() {
  using T = typename scalar_of<V>::type;
  using L = std::numeric_limits<T>;
  std::vector<T> numbers = {
      0, 1, 2, 3, 7, 10, 100, L::max(), L::min(), T(L::max() - 1), T(L::min() + 1), T(-1), T(-2), T(-7)};
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i)
    numbers.push_back(static_cast<T>(random() >> (i % 64)));
  for (T a : numbers)
    for (T b : numbers) {
      T q = 0, r = b == 0 ? a : T(0), down = 0;
      if (b == T(-1) && std::is_signed_v<T>) {
        down = q = static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
      } else if (b != 0) {
        q = a / b;
        r = a % b;
        down = static_cast<T>(r != 0 && (r < 0) != (b < 0) ? q - 1 : q);
        if (r != 0 && (r < 0) != (b < 0)) r += b;
      }
      ASSERT_EQ(lane(int_div(splat<V>(a), splat<V>(b))), q) << +a << ' ' << +b;
      ASSERT_EQ(lane(floor_divide(splat<V>(a), splat<V>(b))), down);
      ASSERT_EQ(lane(remainder(splat<V>(a), splat<V>(b))), r) << +a << ' ' << +b;
    }
  EXPECT_EQ(lane(pow(splat<V>(3), splat<V>(4))), T(81));
  EXPECT_EQ(lane(pow(splat<V>(0), splat<V>(0))), T(1));
  EXPECT_EQ(lane(shift_left(splat<V>(3), splat<V>(2))), T(12));
  EXPECT_EQ(lane(shift_right(splat<V>(L::min()), splat<V>(1))), T(L::min() >> 1));
  EXPECT_EQ(lane(abs(splat<V>(T(5)))), T(5));
  if (std::is_signed_v<T>) {
    EXPECT_EQ(lane(pow(splat<V>(2), splat<V>(T(-1)))), T(0));
    EXPECT_EQ(lane(abs(splat<V>(T(-5)))), T(5));
    EXPECT_EQ(lane(sign(splat<V>(T(-5)))), T(-1));
  }
}
TEST(Integer, DivisionPowerAndShifts) {
  integer_division<vi8>();
  integer_division<vu8>();
  integer_division<vi16>();
  integer_division<vu16>();
  integer_division<vi32>();
  integer_division<vu32>();
  integer_division<vi64>();
  integer_division<vu64>();
  EXPECT_EQ(lane(shift_left(splat<vi32>(1), splat<vi32>(33))), 2);  // MLX on x86
  EXPECT_EQ(lane(shift_left(splat<vi8>(1), splat<vi8>(9))), 0);
}

TEST(Double, ArithmeticAndMath) {
  vd a = splat<vd>(-7.5), b = splat<vd>(2);
  EXPECT_EQ(lane(remainder(a, b)), 0.5);
  EXPECT_EQ(lane(floor_divide(a, b)), -4);
  EXPECT_EQ(lane(round(splat<vd>(2.5))), 2);
  EXPECT_EQ(lane(exp(b)), std::exp(2.0));
  EXPECT_EQ(lane(sqrt(b)), std::sqrt(2.0));
  EXPECT_EQ(lane(abs(a)), 7.5);
  EXPECT_NEAR(lane(erfinv(splat<vd>(0.5))), 0.47693627620446987, 1e-16);
  EXPECT_NEAR(lane(logaddexp(a, b)), std::log(std::exp(-7.5) + std::exp(2.0)), 1e-15);
  EXPECT_NEAR(lane(sigmoid(b)), 1 / (1 + std::exp(-2.0)), 2e-16);
  EXPECT_EQ(lane(fma(a, b, b)), -13);
}

}  // namespace
