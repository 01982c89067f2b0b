// Elementwise ops, reductions, scans and sources over every dtype, shape and layout.
#include "op_surface.h"

namespace autoperfect {
namespace {

using Unary = array (*)(const array&, mx::StreamOrDevice);
using Binary = array (*)(const array&, const array&, mx::StreamOrDevice);

const std::vector<std::pair<const char*, Unary>> unary_functions{
    {"abs", mx::abs},
    {"negative", mx::negative},
    {"sign", mx::sign},
    {"exp", mx::exp},
    {"expm1", mx::expm1},
    {"log", mx::log},
    {"log2", mx::log2},
    {"log10", mx::log10},
    {"log1p", mx::log1p},
    {"sqrt", mx::sqrt},
    {"rsqrt", mx::rsqrt},
    {"square", mx::square},
    {"sin", mx::sin},
    {"cos", mx::cos},
    {"tan", mx::tan},
    {"sinh", mx::sinh},
    {"cosh", mx::cosh},
    {"tanh", mx::tanh},
    {"arcsin", mx::arcsin},
    {"arccos", mx::arccos},
    {"arctan", mx::arctan},
    {"arcsinh", mx::arcsinh},
    {"arccosh", mx::arccosh},
    {"arctanh", mx::arctanh},
    {"erf", mx::erf},
    {"erfinv", mx::erfinv},
    {"sigmoid", mx::sigmoid},
    {"floor", mx::floor},
    {"ceil", mx::ceil},
    {"round", [](const array& a, mx::StreamOrDevice s) { return mx::round(a, s); }},
    {"logical_not", mx::logical_not},
    {"bitwise_invert", mx::bitwise_invert},
    {"conjugate", mx::conjugate},
    {"real", mx::real},
    {"imag", mx::imag},
    {"stop_gradient", mx::stop_gradient},
    {"copy", [](const array& a, mx::StreamOrDevice s) { return mx::copy(a, s); }},
    {"contiguous", [](const array& a, mx::StreamOrDevice s) { return mx::contiguous(a, true, s); }},
};

const std::vector<std::pair<const char*, Binary>> binary_functions{
    {"add", mx::add},
    {"subtract", mx::subtract},
    {"multiply", mx::multiply},
    {"divide", mx::divide},
    {"floor_divide", mx::floor_divide},
    {"remainder", mx::remainder},
    {"power", mx::power},
    {"maximum", mx::maximum},
    {"minimum", mx::minimum},
    {"logaddexp", mx::logaddexp},
    {"arctan2", mx::arctan2},
    {"equal", mx::equal},
    {"not_equal", mx::not_equal},
    {"less", mx::less},
    {"less_equal", mx::less_equal},
    {"greater", mx::greater},
    {"greater_equal", mx::greater_equal},
    {"logical_and", mx::logical_and},
    {"logical_or", mx::logical_or},
    {"bitwise_and", mx::bitwise_and},
    {"bitwise_or", mx::bitwise_or},
    {"bitwise_xor", mx::bitwise_xor},
    {"left_shift", mx::left_shift},
    {"right_shift", mx::right_shift},
};

void run_unary(Surface& surface) {
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      auto x = numbers(shape, dtype);
      for (auto layout : every_layout) {
        for (const auto& [name, op] : unary_functions) {
          surface.run(
              name, [op = op](const Arrays& in) { return Arrays{op(in[0], {})}; }, {stored(x, layout)});
        }
      }
    }
  }
}

// The second operand is the first one's shape, a row of it, a column of it, or one number.
void run_binary(Surface& surface) {
  auto broadcasts = [](mx::Shape shape) {
    std::vector<mx::Shape> others{shape, {}};
    if (!shape.empty()) others.push_back({shape.back()});
    if (shape.size() > 1) {
      shape.back() = 1;
      others.push_back(shape);
    }
    return others;
  };
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (const auto& other : broadcasts(shape)) {
        auto x = numbers(shape, dtype), y = mx::abs(numbers(other, dtype, 2));
        y.eval();
        for (const auto& [name, op] : binary_functions) {
          auto fn = [op = op](const Arrays& in) { return Arrays{op(in[0], in[1], {})}; };
          surface.run(name, fn, {x, y});
          surface.run(name, fn, {stored(y, Layout::reversed), stored(x, Layout::transposed)});
        }
      }
    }
  }
}

TEST(OpSurface, Elementwise) {
  Surface surface;
  run_unary(surface);
  run_binary(surface);
  for (auto from : every_dtype()) {
    for (auto to : every_dtype()) {
      auto positive = mx::abs(numbers({2, 3}, from));
      positive.eval();
      surface.run("astype", [to](const Arrays& in) { return Arrays{mx::astype(in[0], to)}; }, {positive});
    }
    for (const auto& shape : every_shape) {
      auto x = numbers(shape, from), y = numbers({}, from, 3);
      auto where = [](const Arrays& in) { return Arrays{mx::where(in[0], in[1], in[2])}; };
      surface.run("where", where, {numbers(shape, mx::bool_, 1), x, y});
      auto same = [](const Arrays& in) { return Arrays{mx::array_equal(in[0], in[1], true)}; };
      surface.run("array_equal", same, {x, x});
    }
  }
  surface.expect_all(OpClass::elementwise, 5);
}

// All, none, each axis, the first and last.
std::vector<std::vector<int>> axis_choices(int rank) {
  std::vector<std::vector<int>> choices;
  std::vector<int> all;
  for (int axis = 0; axis < rank; ++axis) {
    choices.push_back({axis});
    all.push_back(axis);
  }
  choices.push_back(all);
  if (rank > 2) choices.push_back({0, rank - 1});
  return choices;
}

TEST(OpSurface, Reductions) {
  using Over = array (*)(const array&, const std::vector<int>&, bool, mx::StreamOrDevice);
  const std::vector<std::pair<const char*, Over>> reductions{
      {"sum", mx::sum},
      {"prod", mx::prod},
      {"max", mx::max},
      {"min", mx::min},
      {"any", mx::any},
      {"all", mx::all}};
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (auto layout : every_layout) {
        auto x = stored(numbers(shape, dtype), layout);
        for (const auto& axes : axis_choices(static_cast<int>(shape.size()))) {
          for (bool keepdims : {false, true}) {
            for (const auto& [name, op] : reductions) {
              auto fn = [=, op = op](const Arrays& in) { return Arrays{op(in[0], axes, keepdims, {})}; };
              surface.run(name, fn, {x});
            }
            if (axes.size() != 1) continue;
            int axis = axes[0];
            surface.run(
                "argmax", [=](const Arrays& in) { return Arrays{mx::argmax(in[0], axis, keepdims)}; }, {x});
            surface.run(
                "argmin", [=](const Arrays& in) { return Arrays{mx::argmin(in[0], axis, keepdims)}; }, {x});
          }
        }
      }
    }
  }
  surface.expect_all(OpClass::reduction, 100);
}

TEST(OpSurface, Scans) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
        for (auto layout : every_layout) {
          auto x = stored(numbers(shape, dtype), layout);
          for (int mode = 0; mode < 4; ++mode) {
            bool reverse = mode & 1, inclusive = mode & 2;
            auto each = [&](const char* name, auto op) {
              surface.run(
                  name, [=](const Arrays& in) { return Arrays{op(in[0], axis, reverse, inclusive)}; }, {x});
            };
            each("cumsum", [](auto&&... a) { return mx::cumsum(a...); });
            each("cumprod", [](auto&&... a) { return mx::cumprod(a...); });
            each("cummax", [](auto&&... a) { return mx::cummax(a...); });
            each("cummin", [](auto&&... a) { return mx::cummin(a...); });
            each("logcumsumexp", [](auto&&... a) { return mx::logcumsumexp(a...); });
          }
        }
      }
    }
  }
  surface.expect_all(OpClass::scan, 50);
}

TEST(OpSurface, Sources) {
  Surface surface;
  for (auto dtype : every_dtype()) {
    for (const auto& shape : every_shape) {
      auto x = numbers(shape, dtype);
      surface.run(
          "full", [=](const Arrays& in) { return Arrays{mx::full(shape, in[0])}; }, {numbers({}, dtype, 1)});
      surface.run("zeros_like", [](const Arrays& in) { return Arrays{mx::zeros_like(in[0]) + in[0]}; }, {x});
      auto constant = [=](const Arrays& in) { return Arrays{in[0] + numbers({}, dtype, 2)}; };
      surface.run("constant", constant, {x});
    }
    for (double step : {1.0, 2.0, 0.5, -1.0, 1.7}) {
      auto range = [=](const Arrays& in) {
        return Arrays{in[0] + mx::arange(1.0, step > 0 ? 8.0 : -6.0, step, dtype)};
      };
      surface.run("arange", range, {numbers({}, dtype)});
    }
  }
  surface.expect_all(OpClass::source, 20);
}

}  // namespace
}  // namespace autoperfect
