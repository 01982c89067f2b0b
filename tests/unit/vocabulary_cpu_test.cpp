// The language `cpu`: every function that its prompt names, called in a draft that passes the check, and what
// it gives; errors are held to those the prompt states.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include "check/check.h"
#include "compile/cpu/compile.h"
#include "generate/language/vocabulary.h"
#include "ir/kernel_text.h"
#include "reference_kernels.h"

namespace autoperfect {
namespace {

constexpr int columns = 16;  // a multiple of the lanes of every machine

float x_at(int c) {
  return 0.02f + 0.06f * c;
}
float y_at(int c) {
  return 1.45f - 0.1f * c;
}

// Column `c`; its vector begins at column `j` and has `w` lanes.
struct At {
  int c, j, w;
  double x() const { return x_at(c); }
  double y() const { return y_at(c); }
  int lane() const { return c - j; }
};
using Expected = double (*)(At);

// What `code` stores at `o`, the columns of a vector; x and y are the vectors of the inputs in0 and in1 at j.
struct Use {
  std::string code;
  Expected expected;
};

std::string stored(const std::string& value) {
  return fmt::format("store(o, {});", value);
}

double folded(At at, double start, double (*step)(double, double)) {
  for (int c = at.j; c < at.j + at.w; ++c)
    start = step(start, x_at(c));
  return start;
}

#define SAME(name, function)                                              \
  {                                                                       \
    stored(#name "(x)"), [](At at) -> double { return function(at.x()); } \
  }
#define SAME_2(name, function)                                                       \
  {                                                                                  \
    stored(#name "(x, y)"), [](At at) -> double { return function(at.x(), at.y()); } \
  }

double sign_of(double y) {
  return (y > 0) - (y < 0);
}
double python_remainder(double x, double y) {
  return x - y * std::floor(x / y);
}
double larger_of(double a, double b) {
  return std::fmax(a, b);
}
double smaller_of(double a, double b) {
  return std::fmin(a, b);
}

const std::vector<Use> functions = {
    SAME(exp, std::exp),
    SAME(exp2, std::exp2),
    SAME(expm1, std::expm1),
    SAME(log, std::log),
    SAME(log2, std::log2),
    SAME(log10, std::log10),
    SAME(log1p, std::log1p),
    SAME(tanh, std::tanh),
    SAME(erf, std::erf),
    SAME(sin, std::sin),
    SAME(cos, std::cos),
    SAME(tan, std::tan),
    SAME(sinh, std::sinh),
    SAME(cosh, std::cosh),
    SAME(asin, std::asin),
    SAME(acos, std::acos),
    SAME(atan, std::atan),
    SAME(asinh, std::asinh),
    SAME(atanh, std::atanh),
    SAME(sqrt, std::sqrt),
    SAME_2(pow, std::pow),
    SAME_2(atan2, std::atan2),
    SAME_2(maximum, larger_of),
    SAME_2(minimum, smaller_of),
    SAME_2(larger, larger_of),
    SAME_2(smaller, smaller_of),
    SAME_2(remainder, python_remainder),
    {stored("acosh(x + 1.0f)"), [](At at) { return std::acosh(double(x_at(at.c) + 1.0f)); }},
    {stored("erfinv(erf(x))"), [](At at) { return at.x(); }},
    {stored("logaddexp(x, y)"), [](At at) { return std::log(std::exp(at.x()) + std::exp(at.y())); }},
    {stored("sigmoid(y)"), [](At at) { return 1 / (1 + std::exp(-at.y())); }},
    {stored("sigmoid_of(y, exp(abs(y)))"), [](At at) { return 1 / (1 + std::exp(-at.y())); }},
    {stored("rsqrt(x)"), [](At at) { return 1 / std::sqrt(at.x()); }},
    {stored("recip(x)"), [](At at) { return 1 / at.x(); }},
    {stored("abs(y)"), [](At at) { return std::abs(at.y()); }},
    {stored("neg(x)"), [](At at) { return -at.x(); }},
    {stored("square(x)"), [](At at) { return at.x() * at.x(); }},
    {stored("sign(y)"), [](At at) { return sign_of(at.y()); }},
    {stored("with_sign(x, y)"), [](At at) { return std::copysign(at.x(), at.y()); }},
    {stored("sign_bit(y) + x"), [](At at) { return at.x(); }},
    {stored("round(x * 8.0f)"), [](At at) { return std::rint(at.x() * 8); }},
    {stored("floor(y)"), [](At at) { return std::floor(at.y()); }},
    {stored("ceil(y)"), [](At at) { return std::ceil(at.y()); }},
    {stored("trunc(y)"), [](At at) { return std::trunc(at.y()); }},
    {stored("clamp(y, 0.25f, 0.75f)"), [](At at) { return std::clamp(at.y(), 0.25, 0.75); }},
    {stored("floor_divide(y, splat(0.25f))"), [](At at) { return std::floor(at.y() * 4); }},
    {stored("fma(x, y, splat(-1.0f))"), [](At at) { return std::fma(at.x(), at.y(), -1.0); }},
    {stored("to_f32(int_div(to_i32(x * 100.0f), splat<vi32>(7)))"),
     [](At at) { return double(int(x_at(at.c) * 100.0f) / 7); }},
    {stored("to_f32(shift_left(iota(), splat<vi32>(3)))"), [](At at) { return 8.0 * at.lane(); }},
    {stored("to_f32(shift_right(iota(), splat<vi32>(1)))"), [](At at) { return double(at.lane() / 2); }},
};

// Through the type and back.
#define THROUGH(type, factor)                                           \
  {                                                                     \
    stored("to_f32(to_" #type "(x * " #factor "))"),                    \
        [](At at) -> double { return std::trunc(x_at(at.c) * factor); } \
  }

const std::vector<Use> conversions = {
    THROUGH(i8, 100.0f),
    THROUGH(u8, 200.0f),
    THROUGH(i16, 1000.0f),
    THROUGH(u16, 1000.0f),
    THROUGH(i32, 1000.0f),
    THROUGH(u32, 1000.0f),
    THROUGH(i64, 1000.0f),
    THROUGH(u64, 1000.0f),
    {stored("to_f32(to_f64(x) * 2.0)"), [](At at) { return 2 * at.x(); }},
    {stored("to_f32(from_bool(to_bool(floor(y))))"), [](At at) { return double(std::floor(at.y()) != 0); }},
    {stored("round_bf16(splat(1.00390625f) + to_f32(iota()))"),
     [](At at) { return at.lane() % 2 || at.lane() == 0 ? std::round(1 + at.lane()) : 1.0 + at.lane(); }},
    {stored("round_f16(splat(1.00048828125f))"), [](At) { return 1.0; }},
    {stored("bf16_to_f32(f32_to_bf16(round_bf16(x))) - round_bf16(x)"), [](At) { return 0.0; }},
    {stored("f16_to_f32(f32_to_f16(round_f16(x))) - round_f16(x)"), [](At) { return 0.0; }},
    {stored("from_bits(bits(x) ^ splat<vi32>(-2147483647 - 1))"), [](At at) { return -at.x(); }},
    {stored("to_f32(iota())"), [](At at) { return double(at.lane()); }},
    {stored("select(splat_bool(j == 0), x, y)"), [](At at) { return at.j == 0 ? at.x() : at.y(); }},
    {stored("to_f32(positions(j, 3))"), [](At at) { return double(at.j + std::min(at.lane(), 2)); }},
    {stored("to_f32(positions_32(j, 3))"), [](At at) { return double(at.j + std::min(at.lane(), 2)); }},
    {stored("select(first(3), x, y)"), [](At at) { return at.lane() < 3 ? at.x() : at.y(); }},
    {stored("splat(lane(y))"), [](At at) -> double { return y_at(at.j); }},
};

#define WHERE(mask, condition)                                                            \
  {                                                                                       \
    stored("select(" mask ", x, y)"), [](At at) { return (condition) ? at.x() : at.y(); } \
  }

const std::vector<Use> comparisons = {
    WHERE("eq(to_f32(iota()), splat(2.0f))", at.lane() == 2),
    WHERE("ne(to_f32(iota()), splat(2.0f))", at.lane() != 2),
    WHERE("lt(x, y)", at.x() < at.y()),
    WHERE("le(iota(), splat<vi32>(2))", at.lane() <= 2),
    WHERE("gt(x, y)", at.x() > at.y()),
    WHERE("ge(iota(), splat<vi32>(2))", at.lane() >= 2),
    WHERE("mask_not(lt(x, y))", !(at.x() < at.y())),
    WHERE("mask_and(lt(x, y), gt(x, splat(0.2f)))", at.x() < at.y() && at.x() > 0.2f),
    WHERE("mask_or(gt(x, y), lt(x, splat(0.2f)))", at.x() > at.y() || at.x() < 0.2f),
    WHERE("is_nan(log(y))", at.y() < 0),
    WHERE("splat_bool(any(lt(x, splat(0.1f))))", at.j == 0),
    WHERE("splat_bool(all(lt(x, splat(0.97f))))", true),
    WHERE("hany(lt(x, splat(0.1f)))", at.j == 0),
    WHERE("hall(gt(x, splat(0.1f)))", at.j != 0),
    WHERE("beats_max(x, y)", at.x() > at.y()),
    WHERE("beats_min(x, y)", at.x() < at.y()),
    WHERE("same_number(log(y), splat(nan))", at.y() < 0),
};

const std::vector<Use> across = {
    {stored("hsum(x)"), [](At at) { return folded(at, 0, [](double a, double b) { return a + b; }); }},
    {stored("hprod(x)"), [](At at) { return folded(at, 1, [](double a, double b) { return a * b; }); }},
    {stored("hmax(x)"), [](At at) { return folded(at, 0, larger_of); }},
    {stored("hmin(x)"), [](At at) { return folded(at, 9, smaller_of); }},
    {"vf best = x; vi32 at = iota(); keep_first(gt(y, best), best, at, y, splat<vi32>(99)); store(o, best + "
     "to_f32(at));",
     [](At at) {
       return at.y() > at.x() ? double(y_at(at.c) + 99.0f) : double(x_at(at.c) + float(at.lane()));
     }},
    {stored("to_f32(position_of(x, hmax(x), iota()))"), [](At at) { return at.w - 1.0; }},
    {"vf carry = splat(1.0f); store(o, scan<Plus, false, true>(to_f32(iota()), carry, splat(0.0f)));",
     [](At at) { return 1 + at.lane() * (at.lane() + 1) / 2.0; }},
    {"vf carry = splat(2.0f); vf s = scan_rows<Times, false>(x, carry); store(o, s * carry);",
     [](At at) { return 4 * at.x(); }},
    {"vf carry = splat(9.0f); store(o, scan<Smaller, true, true>(to_f32(iota()), carry, splat(inf)));",
     [](At at) { return std::min(at.lane(), 9) * 1.0; }},
    {"vf carry = splat(0.0f); store(o, scan_rows<Larger, true>(y, carry));",
     [](At at) { return std::max(at.y(), 0.0); }},
    {"vf carry = x; store(o, scan_rows<LogAddExp, true>(x, carry) - logaddexp(x, x));",
     [](At at) { return 0.0; }},
};

const std::vector<Use> placing = {
    {stored("splat((float)(row((i32)-1, 7) * 10 + row((i32)9, 7)))"), [](At) { return 66.0; }},
    {stored("to_f32(rows(iota() - 2, 2))"), [](At at) { return double(at.lane() == 1 || at.lane() >= 3); }},
    {stored("to_f32(rows_32(iota() - 2, 2))"),
     [](At at) { return double(at.lane() == 1 || at.lane() >= 3); }},
    {"long lo = 0, hi = 100; clip(lo, hi, -4, 3, 10); store(o, splat((float)(lo * 100 + hi)));",
     [](At) { return 205.0; }},
    {stored("splat((float)share(5, 10, 100, 8))"), [](At) { return 48.0; }},
    {"vf t[W]; for (int r = 0; r < W; ++r) t[r] = splat((float)r); transpose(t); store(o, t[1]);",
     [](At at) { return double(at.lane()); }},
    {"f32 a[3] = {1, 2, 3}; alignas(64) f32 b[3 * tile_columns]; f32 c[tile_columns];\n"
     "for (long n = 0; n < 3 * tile_columns; ++n) b[n] = (float)n;\n"
     "multiply<3, 1, true>(a, b, c, 1, tile_columns, 3, 3 * tile_columns, tile_columns, false);\n"
     "store(o, splat(c[2] - 8.0f * tile_columns));",
     [](At) { return 12.0; }},
};

const std::vector<Use> memory = {
    {"f32 t[2 * W]; store(t, x); store(t + W, y, 2); store(t + W + 2, load(t + 2, W - 2), W - 2); store(o, "
     "load(t + W));",
     [](At at) { return at.lane() < 2 ? at.y() : at.x(); }},
    {"alignas(64) f32 t[W]; stream(t, x); fence(); store(o, load(t));", [](At at) { return at.x(); }},
    {"prefetch(in0); copy(o, in1 + j);", [](At at) { return at.y(); }},
    {"store(o, x); copy(o, in1 + j, 3);", [](At at) { return at.lane() < 3 ? at.y() : at.x(); }},
    {"stream_copy(o, in1 + j); fence();", [](At at) { return at.y(); }},
    {stored("uniform(in0 + 3)"), [](At) -> double { return x_at(3); }},
    {stored("gather(in0, 3 - (iota() & 3))"), [](At at) -> double { return x_at(3 - at.lane() % 4); }},
    {"f32 t[2 * W]; store(t, x - x); store(t + W, x - x); scatter(t, 2, x, W); store(o, load_strided<2>(t));",
     [](At at) { return at.x(); }},
    {stored("load_strided<-1>(in0 + j + W - 1)"),
     [](At at) -> double { return x_at(at.j + at.w - 1 - at.lane()); }},
    {stored("load_strided<3>(in0, 2) * select(first(2), splat(1.0f), splat(0.0f))"),
     [](At at) -> double { return at.lane() < 2 ? x_at(3 * at.lane()) : 0; }},
    {stored("load_within(in0 + j, j, W, 1, 5)"), [](At at) { return at.c >= 1 && at.c < 5 ? at.x() : 0; }},
    {stored("load_within(in0 + j, j, W, 1, 5, y)"),
     [](At at) { return at.c >= 1 && at.c < 5 ? at.x() : at.y(); }},
    {stored("gather_within(in0, positions(j, W), j, W, 2, 9, y)"),
     [](At at) { return at.c >= 2 && at.c < 9 ? at.x() : at.y(); }},
    {stored("uniform_within(in0 + 5, j == 0, y)"),
     [](At at) { return at.j == 0 ? double(x_at(5)) : at.y(); }},
    {"raw_store(o, raw_load<vf>(in1 + j)); raw_store(o, raw_load<vf>(in0 + j, 2), 2);",
     [](At at) { return at.lane() < 2 ? at.x() : at.y(); }},
};

#define SCALAR(call, expected)                                              \
  {                                                                         \
    stored("splat((float)" call ")"), [](At) -> double { return expected; } \
  }

const std::vector<Use> scalars = {
    SCALAR("__builtin_fmaf(2.0f, 3.0f, 1.0f)", 7),
    SCALAR("__builtin_sqrtf(2.25f)", 1.5),
    SCALAR("__builtin_fabsf(-3.5f)", 3.5),
    SCALAR("__builtin_floorf(-3.5f)", -4),
    SCALAR("__builtin_ceilf(-3.5f)", -3),
    SCALAR("__builtin_truncf(-3.5f)", -3),
    SCALAR("__builtin_rintf(2.5f)", 2),
    SCALAR("__builtin_copysignf(2.0f, -0.0f)", -2),
    SCALAR("__builtin_fma(2.0, 3.0, 1.0)", 7),
    SCALAR("__builtin_sqrt(2.25)", 1.5),
    SCALAR("__builtin_fabs(-3.5)", 3.5),
    SCALAR("__builtin_inff()", INFINITY),
    SCALAR("__builtin_inf()", INFINITY),
    SCALAR("__builtin_expect(3, 1)", 3),
};

std::vector<Use> all_uses() {
  std::vector<Use> all;
  for (const auto* some : {&functions, &conversions, &comparisons, &across, &placing, &memory, &scalars})
    all.insert(all.end(), some->begin(), some->end());
  return all;
}

std::string draft_of(const std::vector<Use>& uses) {
  std::string text = "// launch: parallel=none\nfor (long j = 0; j < n_j; j += W) {\n";
  text += "const vf x = load(in0 + j), y = load(in1 + j);\n";
  for (size_t r = 0; r < uses.size(); ++r)
    text += fmt::format("{{ f32* o = out0 + {} * n_j + j; {} }}\n", r, uses[r].code);
  return text + fmt::format("store(out0 + {} * n_j + j, splat((float)W));\n}}\n", uses.size());
}

// Greatest error that the prompt states of any function the code calls, in ulp, and one rounding.
double allowed_ulp(const std::string& code) {
  double most = 0;
  const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  for (std::sregex_iterator at(code.begin(), code.end(), word), end; at != end; ++at) {
    const auto* function = find_function(vocabulary("cpu"), at->str());
    if (function && !function->ulp.empty()) most = std::max(most, std::stod(std::string(function->ulp)));
  }
  return most + 0.5;
}

TEST(vocabulary_cpu, every_function_is_used_here) {
  std::set<std::string> used;
  const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  const auto text = draft_of(all_uses());
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    used.insert(at->str());
  for (const auto& group : vocabulary("cpu").functions)
    for (const auto& function : group.functions)
      EXPECT_TRUE(used.count(std::string(function.name))) << function.name;
}

// Rows of outputs of the draft, as it is compiled on this machine; the last one holds the lanes of a vector.
std::vector<float> outputs_of(const std::vector<Use>& uses) {
  const auto rows = static_cast<int>(uses.size()) + 1;
  auto kernel = parsed(
      fmt::format(
          "    in %x: f32[{0}] row\n    in %y: f32[{0}] row\n    out %o: f32[{1},{0}] row\n", columns, rows),
      fmt::format("    axes r={}, c={}\n    %o[r,c] = add %x[c], %y[c] : f32\n", rows, columns));
  const Draft draft{"cpu", draft_of(uses)};
  auto checked = check(kernel, draft, default_cpu_target());
  if (!checked) throw std::runtime_error(format(checked.errors(), draft.source));
  auto binary = compile_cpu(checked->candidate.source, *system_compiler());
  if (!binary) throw std::runtime_error(format(binary.errors(), checked->candidate.source));
  auto loaded = load_cpu(*binary, checked->candidate.launch);
  if (!loaded) throw std::runtime_error(format(loaded.errors()));
  std::vector<float> x, y, o(static_cast<size_t>(rows) * columns, -77);
  for (int c = 0; c < columns; ++c) {
    x.push_back(x_at(c));
    y.push_back(y_at(c));
  }
  const void* in[] = {x.data(), y.data()};
  void* out[] = {o.data()};
  (*loaded)->kernel(in, out, nullptr, nullptr, nullptr, 0, 1);
  return o;
}

TEST(vocabulary_cpu, every_function_gives_what_it_says) {
  if (!system_compiler()) GTEST_SKIP() << "no C++ compiler";
  const auto uses = all_uses();
  const auto o = outputs_of(uses);
  const int w = static_cast<int>(o[uses.size() * columns]);
  for (size_t r = 0; r < uses.size(); ++r) {
    const double ulps = allowed_ulp(uses[r].code);
    for (int c = 0; c < columns; ++c) {
      const double got = o[r * columns + c], expected = uses[r].expected({c, c - c % w, w});
      if (got == expected || (std::isnan(got) && std::isnan(expected))) continue;
      const double ulp = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
      EXPECT_LE(std::abs(got - expected), ulps * ulp)
          << uses[r].code << " at " << c << ": " << got << ", not " << expected;
    }
  }
}

}  // namespace
}  // namespace autoperfect
