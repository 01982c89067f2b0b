// The accuracy each math function of the CPU prelude states, over bit patterns of the whole of f32, against
// libm in double. An error below 1.5 ulp of the exact value keeps a result within 1 ulp of the correctly
// rounded one. Prints what it measured; AP_STRIDE=1 at compile time makes the sweep exhaustive.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "compile/cpu/prelude.h"

#ifndef AP_STRIDE
#define AP_STRIDE 1009
#endif

namespace {

using ap::vf;
using ap::W;

constexpr double inf = std::numeric_limits<double>::infinity();

float from_pattern(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

// Distance from the exact value in units of f32's last place there; infinity counts as 2^128. A zero's sign
// and NaN must be right.
double ulps(float got, double exact) {
  const double limit = std::ldexp(1.0, 128);
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : inf;
  if (exact == 0 || std::isinf(exact))
    return got == exact && std::signbit(got) == std::signbit(exact) ? 0 : inf;
  if (got == 0 && std::signbit(got) != std::signbit(exact)) return inf;
  double value = std::isinf(got) ? std::copysign(limit, got) : got;
  if (std::fabs(exact) > limit) exact = std::copysign(limit, exact);
  return std::fabs(value - exact) / std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
}

const std::vector<float>& edges() {
  static const std::vector<float> all = [] {
    std::vector<float> v;
    for (float x : {0.0f,          1e-45f,     1e-40f,     1.17549435e-38f, 1e-20f,     1e-8f,
                    5.9604645e-8f, 1e-4f,      0.25f,      0.3465736f,      0.5f,       0.70710677f,
                    0.92f,         1.0f,       1.4142135f, 1.5707964f,      2.0f,       3.1415927f,
                    4.1f,          9.0f,       10.0f,      18.0f,           87.33655f,  88.0f,
                    88.72283f,     88.722839f, 88.8f,      103.9f,          103.97208f, 104.5f,
                    126.0f,        128.0f,     149.0f,     149.5f,          150.0f,     131072.0f,
                    131073.0f,     1e6f,       8388608.0f, 1e10f,           1e30f,      3.4028235e38f,
                    INFINITY,      NAN}) {
      for (float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, 1e39f)}) {
        v.push_back(y);
        v.push_back(-y);
      }
    }
    return v;
  }();
  return all;
}

struct Worst {
  double ulp = 0;
  float x = 0, y = 0;
  void see(double u, float a, float b = 0) {
    if (!(u <= ulp)) ulp = u, x = a, y = b;
  }
};

using Vector1 = vf (*)(vf);
using Exact1 = double (*)(double);
struct Case1 {
  const char* name;
  Vector1 f;
  Exact1 exact;
  double bound;
  unsigned coarser;  // stride over the base stride: what goes to libm lane by lane needs no dense sweep
};

void check_lanes(const Case1& c, const float* in, Worst& worst) {
  float out[W];
  ap::store(out, c.f(ap::load(in)));
  for (int l = 0; l < W; ++l)
    worst.see(ulps(out[l], c.exact(in[l])), in[l]);
}

Worst sweep(const Case1& c) {
  Worst worst;
  float in[W];
  int n = 0;
  auto push = [&](float x) {
    in[n++] = x;
    if (n == W) {
      check_lanes(c, in, worst);
      n = 0;
    }
  };
  for (float x : edges())
    push(x);
  for (uint64_t u = 0; u < (1ull << 32); u += uint64_t{AP_STRIDE} * c.coarser)
    push(from_pattern(static_cast<uint32_t>(u)));
  while (n != 0)
    push(0.5f);
  return worst;
}

double exact_sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double exact_sign(double x) {
  return x < 0 ? -1 : x > 0 ? 1 : 0;
}
// Bisection in long double, apart from the prelude's own method.
double exact_erfinv(double x) {
  if (!(std::fabs(x) < 1) || x == 0) return x == 0 ? x : std::fabs(x) == 1 ? x * inf : NAN;
  long double a = std::fabs(x), low = 0, high = 6;
  if (a < 1e-10) return x * 0.886226925452758013649;
  for (int i = 0; i < 70; ++i) {
    long double mid = (low + high) / 2;
    bool below = a < 0.5 ? std::erf(mid) < a : std::erfc(mid) > 1 - a;
    (below ? low : high) = mid;
  }
  return std::copysign(static_cast<double>(low), x);
}

#define CASE(name, bound, coarser)                                                                           \
  Case1 {                                                                                                    \
#name, [](vf x) { return ap::name(x); }, [](double x) -> double { return std::name(x); }, bound, coarser \
  }
#define CASE_OWN(name, exact, bound, coarser)                                                         \
  Case1 {                                                                                             \
#name, [](vf x) { return ap::name(x); }, [](double x) -> double { return exact; }, bound, coarser \
  }

const Case1 cases[] = {
    CASE(exp, 1.1, 1),
    CASE(exp2, 0.95, 1),
    CASE(expm1, 1.1, 1),
    CASE(log, 0.9, 1),
    CASE(log2, 1.05, 1),
    CASE(log10, 0.9, 1),
    CASE(log1p, 0.95, 1),
    CASE(tanh, 1.3, 1),
    CASE(erf, 0.95, 1),
    CASE_OWN(sigmoid, exact_sigmoid(x), 1.1, 1),
    CASE(sin, 0.95, 1),
    CASE(cos, 0.95, 1),
    CASE(sqrt, 0.5, 1),
    CASE_OWN(recip, 1 / x, 0.5, 1),
    CASE_OWN(rsqrt, 1 / std::sqrt(x), 1.5, 1),
    CASE(floor, 0, 1),
    CASE(ceil, 0, 1),
    CASE(trunc, 0, 1),
    CASE_OWN(round, std::nearbyint(x), 0, 1),
    CASE_OWN(abs, std::fabs(x), 0, 1),
    CASE_OWN(neg, -x, 0, 1),
    CASE_OWN(sign, exact_sign(x), 0, 1),
    CASE_OWN(square, x* x, 0.5, 1),
    CASE(tan, 0.51, 16),
    CASE(sinh, 0.51, 16),
    CASE(cosh, 0.51, 16),
    CASE(asin, 0.51, 16),
    CASE(acos, 0.51, 16),
    CASE(atan, 0.51, 16),
    CASE(asinh, 0.51, 16),
    CASE(acosh, 0.51, 16),
    CASE(atanh, 0.51, 16),
    CASE_OWN(erfinv, exact_erfinv(x), 0.51, 256),
};

class Unary : public testing::TestWithParam<Case1> {};
TEST_P(Unary, StaysWithinItsBound) {
  Worst worst = sweep(GetParam());
  std::printf("%-8s %.4f ulp at %a\n", GetParam().name, worst.ulp, worst.x);
  EXPECT_LE(worst.ulp, GetParam().bound) << GetParam().name << " at " << worst.x;
}
INSTANTIATE_TEST_SUITE_P(Prelude, Unary, testing::ValuesIn(cases), [](const auto& i) {
  return i.param.name;
});

// Every pair of edges, and a million random pairs of each of two kinds: any bit pattern, and moderate
// numbers.
template <class F, class Exact>
Worst sweep2(F f, Exact exact) {
  Worst worst;
  float a[W], b[W], out[W];
  int n = 0;
  auto push = [&](float x, float y) {
    a[n] = x;
    b[n++] = y;
    if (n < W) return;
    n = 0;
    ap::store(out, f(ap::load(a), ap::load(b)));
    for (int l = 0; l < W; ++l)
      worst.see(ulps(out[l], exact(a[l], b[l])), a[l], b[l]);
  };
  for (float x : edges())
    for (float y : edges())
      push(x, y);
  std::mt19937 random(7);
  std::normal_distribution<float> moderate(0, 8);
  for (int i = 0; i < 300000; ++i) {
    push(from_pattern(random()), from_pattern(random()));
    push(moderate(random), moderate(random));
  }
  return worst;
}

TEST(Binary, PowAndAtan2) {
  Worst p =
      sweep2([](vf a, vf b) { return ap::pow(a, b); }, [](double a, double b) { return std::pow(a, b); });
  std::printf("pow      %.4f ulp at %a %a\n", p.ulp, p.x, p.y);
  EXPECT_LE(p.ulp, 0.75) << p.x << ' ' << p.y;
  Worst t =
      sweep2([](vf a, vf b) { return ap::atan2(a, b); }, [](double a, double b) { return std::atan2(a, b); });
  std::printf("atan2    %.4f ulp at %a %a\n", t.ulp, t.x, t.y);
  EXPECT_LE(t.ulp, 0.6) << t.x << ' ' << t.y;
}

// MLX rounds each of its steps, so near a result of 0 the error is a unit of the larger operand: measure
// against that.
TEST(Binary, LogaddexpFollowsMlx) {
  auto exact = [](double a, double b) {
    double high = a > b || std::isnan(a) ? a : b, low = a > b ? b : a;
    if (std::isnan(a) || std::isnan(b)) return double{NAN};
    return low == -inf || high == inf ? high : high + std::log1p(std::exp(low - high));
  };
  std::mt19937 random(11);
  std::normal_distribution<float> moderate(0, 8);
  double worst = 0;
  auto see = [&](const float* a, const float* b) {
    float out[W];
    ap::store(out, ap::logaddexp(ap::load(a), ap::load(b)));
    for (int l = 0; l < W; ++l) {
      double e = exact(a[l], b[l]);
      if (!std::isfinite(e) || std::fabs(e) > 3.4e38) {
        EXPECT_EQ(ulps(out[l], e), 0) << a[l] << ' ' << b[l];
        continue;
      }
      double size = std::max(std::fabs(e), std::fabs(double{std::fmax(a[l], b[l])}));
      worst = std::max(worst, std::fabs(out[l] - e) / std::ldexp(1.0, std::max(std::ilogb(size), -126) - 23));
    }
  };
  float a[W], b[W];
  for (float x : edges())
    for (float y : edges()) {
      std::fill_n(a, W, x);
      std::fill_n(b, W, y);
      see(a, b);
    }
  for (int i = 0; i < 60000; ++i) {
    for (int l = 0; l < W; ++l)
      a[l] = moderate(random), b[l] = moderate(random);
    see(a, b);
  }
  std::printf("logaddexp %.4f ulp of the larger of result and operand\n", worst);
  EXPECT_LE(worst, 6);
}

// Exactly MLX's C++: the IEEE remainder moved by b.
TEST(Binary, RemainderIsExact) {
  Worst w = sweep2(
      [](vf a, vf b) { return ap::remainder(a, b); },
      [](double a, double b) {
        float r = std::remainder(static_cast<float>(a), static_cast<float>(b));
        if (r != 0 && (r < 0) != (b < 0)) r += static_cast<float>(b);
        return double{r};
      });
  EXPECT_EQ(w.ulp, 0) << w.x << ' ' << w.y;
}

}  // namespace
