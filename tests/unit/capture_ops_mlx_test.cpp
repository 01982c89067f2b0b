// Every op, captured and run again: bit for bit what MLX eager gives.
#include "capture_agreement.h"

namespace autoperfect {
namespace {

ArrayFunction unary(array (*op)(const array&, mx::StreamOrDevice)) {
  return [op](const Arrays& in) { return Arrays{op(in[0], {})}; };
}
ArrayFunction binary(array (*op)(const array&, const array&, mx::StreamOrDevice)) {
  return [op](const Arrays& in) { return Arrays{op(in[0], in[1], {})}; };
}

TEST(Capture, Unary) {
  auto x = sample({3, 5});
  auto unit = mx::sigmoid(x);
  unit.eval();
  for (const auto& program : std::vector<Program>{
           {"abs", unary(mx::abs), {x}, "abs"},
           {"negative", unary(mx::negative), {x}, "neg"},
           {"sign", unary(mx::sign), {x}, "sign"},
           {"exp", unary(mx::exp), {x}, "exp"},
           {"expm1", unary(mx::expm1), {x}, "expm1"},
           {"log", unary(mx::log), {unit}, "log"},
           {"log2", unary(mx::log2), {unit}, "log2"},
           {"log10", unary(mx::log10), {unit}, "log10"},
           {"log1p", unary(mx::log1p), {unit}, "log1p"},
           {"sqrt", unary(mx::sqrt), {unit}, "sqrt"},
           {"rsqrt", unary(mx::rsqrt), {unit}, "rsqrt"},
           {"square", unary(mx::square), {x}, "square"},
           {"sin", unary(mx::sin), {x}, "sin"},
           {"cos", unary(mx::cos), {x}, "cos"},
           {"tan", unary(mx::tan), {x}, "tan"},
           {"sinh", unary(mx::sinh), {x}, "sinh"},
           {"cosh", unary(mx::cosh), {x}, "cosh"},
           {"tanh", unary(mx::tanh), {x}, "tanh"},
           {"arcsin", unary(mx::arcsin), {unit}, "asin"},
           {"arccos", unary(mx::arccos), {unit}, "acos"},
           {"arctan", unary(mx::arctan), {x}, "atan"},
           {"arcsinh", unary(mx::arcsinh), {x}, "asinh"},
           {"arccosh", unary(mx::arccosh), {mx::abs(x) + array(1.5f)}, "acosh"},
           {"arctanh", unary(mx::arctanh), {unit}, "atanh"},
           {"erf", unary(mx::erf), {x}, "erf"},
           {"erfinv", unary(mx::erfinv), {unit}, "erfinv"},
           {"sigmoid", unary(mx::sigmoid), {x}, "sigmoid"},
           {"floor", unary(mx::floor), {x}, "floor"},
           {"ceil", unary(mx::ceil), {x}, "ceil"},
           {"logical_not", unary(mx::logical_not), {sample({7}, mx::bool_)}, "logical_not"},
           {"bitwise_invert", unary(mx::bitwise_invert), {sample({7}, mx::int16, 100)}, "bitwise_invert"},
           {"stop_gradient", unary(mx::stop_gradient), {x}, "stop_gradient"},
           {"half exp", unary(mx::exp), {sample({9}, mx::bfloat16)}, "exp"},
           {"real of complex",
            [](const Arrays& in) { return Arrays{mx::real(in[0])}; },
            {mx::astype(x, mx::complex64)},
            "real"},
       }) {
    check(program);
  }
}

TEST(Capture, Binary) {
  auto x = sample({3, 5}), y = sample({3, 5}, mx::float32, 1, 2), row = sample({5}, mx::float32, 1, 3);
  auto m = sample({4, 4}, mx::int32, 9, 4), n = mx::abs(sample({4, 4}, mx::int32, 9, 5)) + array(1);
  auto p = sample({6}, mx::bool_, 1, 6), q = sample({6}, mx::bool_, 1, 7);
  for (const auto& program : std::vector<Program>{
           {"add", binary(mx::add), {x, y}, "add"},
           {"subtract a row", binary(mx::subtract), {x, row}, "sub"},
           {"multiply", binary(mx::multiply), {x, y}, "mul"},
           {"divide", binary(mx::divide), {x, y}, "div"},
           {"divide integers", binary(mx::divide), {m, n}, "div"},
           {"floor_divide", binary(mx::floor_divide), {x, y}},
           {"floor_divide integers", binary(mx::floor_divide), {m, n}},
           {"remainder", binary(mx::remainder), {x, y}, "remainder"},
           {"remainder integers", binary(mx::remainder), {m, n}, "remainder"},
           {"power", binary(mx::power), {mx::abs(x), y}, "power"},
           {"maximum", binary(mx::maximum), {x, y}, "maximum"},
           {"minimum", binary(mx::minimum), {x, y}, "minimum"},
           {"logaddexp", binary(mx::logaddexp), {x, y}, "logaddexp"},
           {"arctan2", binary(mx::arctan2), {x, y}, "atan2"},
           {"equal", binary(mx::equal), {m, n}, "equal"},
           {"not_equal", binary(mx::not_equal), {m, n}, "not_equal"},
           {"less", binary(mx::less), {x, y}, "less"},
           {"less_equal", binary(mx::less_equal), {x, y}, "less_equal"},
           {"greater", binary(mx::greater), {x, y}, "greater"},
           {"greater_equal", binary(mx::greater_equal), {x, y}, "greater_equal"},
           {"logical_and", binary(mx::logical_and), {p, q}, "logical_and"},
           {"logical_or", binary(mx::logical_or), {p, q}, "logical_or"},
           {"bitwise_and", binary(mx::bitwise_and), {m, n}, "bitwise_and"},
           {"bitwise_or", binary(mx::bitwise_or), {m, n}, "bitwise_or"},
           {"bitwise_xor", binary(mx::bitwise_xor), {m, n}, "bitwise_xor"},
           {"left_shift", binary(mx::left_shift), {m, n}, "left_shift"},
           {"right_shift", binary(mx::right_shift), {m, n}, "right_shift"},
           {"mixed dtypes", binary(mx::add), {sample({4}, mx::float16), sample({4})}, "cast"},
           {"array_equal",
            [](const Arrays& in) { return Arrays{mx::array_equal(in[0], in[1], true)}; },
            {x, x}},
           {"where",
            [](const Arrays& in) { return Arrays{mx::where(in[0], in[1], array(0.5f))}; },
            {p, sample({6})},
            "select"},
           {"divmod", [](const Arrays& in) { return mx::divmod(in[0], in[1]); }, {m, n}, "divmod"},
           {"one result of divmod",
            [](const Arrays& in) { return Arrays{mx::divmod(in[0], in[1])[1]}; },
            {m, n}},
       }) {
    check(program);
  }
}

TEST(Capture, Reductions) {
  auto x = sample({4, 6, 5});
  auto flags = sample({4, 6}, mx::bool_);
  auto over = [](auto op, std::vector<int> axes, bool keepdims) {
    return [=](const Arrays& in) { return Arrays{op(in[0], axes, keepdims)}; };
  };
  auto sum = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::sum(a, axes, keep); };
  auto prod = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::prod(a, axes, keep); };
  auto max = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::max(a, axes, keep); };
  auto min = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::min(a, axes, keep); };
  auto mean = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::mean(a, axes, keep); };
  auto var = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::var(a, axes, keep); };
  auto all = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::all(a, axes, keep); };
  auto any = [](const array& a, const std::vector<int>& axes, bool keep) { return mx::any(a, axes, keep); };
  for (const auto& program : std::vector<Program>{
           {"sum last", over(sum, {-1}, false), {x}, "sum"},
           {"sum first", over(sum, {0}, true), {x}, "sum"},
           {"sum two", over(sum, {0, 2}, false), {x}, "sum"},
           {"sum all", over(sum, {0, 1, 2}, false), {x}, "sum"},
           {"sum of bool", over(sum, {1}, false), {flags}, "sum"},
           {"sum of i8", over(sum, {0}, false), {sample({9, 3}, mx::int8, 50)}, "sum"},
           {"sum of bf16", over(sum, {1}, false), {sample({3, 40}, mx::bfloat16)}, "sum"},
           {"sum of nothing", over(sum, {1}, false), {array(0.0f) + mx::zeros({2, 0})}, "sum"},
           {"prod", over(prod, {1}, false), {x}, "prod"},
           {"max", over(max, {-1}, true), {x}, "max"},
           {"min", over(min, {0}, false), {x}, "min"},
           {"mean", over(mean, {-1}, true), {x}, "sum"},
           {"var of f16", over(var, {-1}, true), {sample({3, 33}, mx::float16)}, "sum"},
           {"all", over(all, {1}, false), {flags}, "all"},
           {"any of numbers", over(any, {1}, false), {sample({3, 4}, mx::int32)}, "any"},
           {"argmax", [](const Arrays& in) { return Arrays{mx::argmax(in[0], 1, false)}; }, {x}, "argmax"},
           {"argmin of all", [](const Arrays& in) { return Arrays{mx::argmin(in[0])}; }, {x}, "argmin"},
           {"softmax",
            [](const Arrays& in) { return Arrays{mx::softmax(in[0], -1, true)}; },
            {sample({4, 9}, mx::float16)},
            "softmax"},
           {"softmax of the first axis",
            [](const Arrays& in) { return Arrays{mx::softmax(in[0], 0)}; },
            {x},
            "exp"},
           {"logsumexp", [](const Arrays& in) { return Arrays{mx::logsumexp(in[0], -1)}; }, {x}, "logsumexp"},
           {"cumsum", [](const Arrays& in) { return Arrays{mx::cumsum(in[0], 1)}; }, {x}, "cumsum"},
           {"sort", [](const Arrays& in) { return Arrays{mx::sort(in[0], -1)}; }, {x}, "sort"},
       }) {
    check(program);
  }
}

TEST(Capture, ViewsAndData) {
  auto x = sample({4, 6, 5});
  auto index = array({2, 0, 3, 1, 1, 0}, {6, 1});
  for (const auto& program : std::vector<Program>{
           {"transpose",
            [](const Arrays& in) {
              return Arrays{mx::transpose(in[0], {2, 0, 1})};
            },
            {x},
            "transpose"},
           {"reshape",
            [](const Arrays& in) {
              return Arrays{mx::reshape(in[0], {8, -1})};
            },
            {x},
            "reshape"},
           {"flatten", [](const Arrays& in) { return Arrays{mx::flatten(in[0], 1, 2)}; }, {x}, "reshape"},
           {"expand and squeeze",
            [](const Arrays& in) {
              return Arrays{mx::squeeze(mx::expand_dims(in[0], {0, 2}), 0)};
            },
            {x},
            "reshape"},
           {"unflatten",
            [](const Arrays& in) {
              return Arrays{mx::unflatten(in[0], 1, {2, 3})};
            },
            {x},
            "reshape"},
           {"broadcast",
            [](const Arrays& in) {
              return Arrays{mx::broadcast_to(in[0], {3, 4, 6, 5})};
            },
            {x},
            "broadcast"},
           {"slice",
            [](const Arrays& in) {
              return Arrays{mx::slice(in[0], {1, 0, 1}, {3, 6, 5}, {1, 2, 3})};
            },
            {x},
            "slice"},
           {"slice past the end",
            [](const Arrays& in) {
              return Arrays{mx::slice(in[0], {0, -2, 0}, {9, 99, -1})};
            },
            {x},
            "slice"},
           {"reversed",
            [](const Arrays& in) {
              return Arrays{mx::slice(in[0], {3, 5, 4}, {-5, 1, -6}, {-1, -2, -1})};
            },
            {x},
            "slice"},
           {"concatenate",
            [](const Arrays& in) {
              return Arrays{mx::concatenate({in[0], in[0], in[1]}, 1)};
            },
            {x, sample({4, 2, 5}, mx::float32, 1, 8)},
            "concatenate"},
           {"take_along_axis",
            [](const Arrays& in) { return Arrays{mx::take_along_axis(in[0], in[1], 1)}; },
            {sample({6, 4}), index},
            "gather_axis"},
           {"take",
            [](const Arrays& in) { return Arrays{mx::take(in[0], in[1], 0)}; },
            {x, array({1, 3, 3})},
            "gather"},
           {"split", [](const Arrays& in) { return mx::split(in[0], 3, 1); }, {x}, "split"},
           {"a piece of split, twice",
            [](const Arrays& in) {
              auto parts = mx::split(in[0], 2, 0);
              return Arrays{parts[1] * parts[1], parts[1]};
            },
            {x},
            "split"},
           {"pad", [](const Arrays& in) { return Arrays{mx::pad(in[0], 1)}; }, {x}, "pad"},
           {"slice_update",
            [](const Arrays& in) {
              return Arrays{mx::slice_update(in[0], in[1], mx::Shape{0, 0, 0}, mx::Shape{4, 1, 5})};
            },
            {x, sample({4, 1, 5})},
            "slice_update"},
           {"matmul",
            [](const Arrays& in) { return Arrays{mx::matmul(in[0], in[1])}; },
            {x, sample({5, 3})},
            "matmul"},
           {"batched matmul",
            [](const Arrays& in) { return Arrays{mx::matmul(in[0], in[1])}; },
            {x, sample({1, 5, 3})},
            "matmul"},
           {"addmm",
            [](const Arrays& in) { return Arrays{mx::addmm(in[0], in[1], in[2], 2.0f, 0.5f)}; },
            {sample({3}), sample({4, 5}), sample({5, 3})}},
           {"contiguous",
            [](const Arrays& in) { return Arrays{mx::contiguous(mx::transpose(in[0]))}; },
            {x},
            "copy"},
           {"astype",
            [](const Arrays& in) { return Arrays{mx::astype(in[0], mx::int32)}; },
            {x * array(9.0f)},
            "cast"},
           {"ones and arange",
            [](const Arrays& in) {
              return Arrays{
                  in[0] * mx::ones({5}) + mx::arange(0.5, 3.0, 0.5) + mx::full({5}, array(3), mx::float32)};
            },
            {x},
            "arange"},
           {"arange of halves",
            [](const Arrays& in) { return Arrays{in[0] + mx::arange(1.0, 9.0, 1.7, mx::float16)}; },
            {sample({5}, mx::float16)},
            "arange"},
           {"zeros_like",
            [](const Arrays& in) { return Arrays{mx::zeros_like(in[0]) + in[0]}; },
            {x},
            "full"},
           {"identity and constant outputs",
            [](const Arrays& in) {
              return Arrays{in[0], array(2.5f), in[0]};
            },
            {x}},
       }) {
    check(program);
  }
}

TEST(Capture, Programs) {
  auto x = sample({8, 16}), w = sample({16, 4}, mx::float32, 0.3f, 2), b = sample({4}, mx::float32, 1, 3);
  auto layer_norm = [](const Arrays& in) {
    auto mean = mx::mean(in[0], -1, true);
    auto var = mx::mean(mx::square(in[0] - mean), -1, true);
    return Arrays{(in[0] - mean) * mx::rsqrt(var + array(1e-5f)) * in[1]};
  };
  auto loss = [](const Arrays& in) {
    return mx::mean(mx::square(mx::tanh(mx::matmul(in[0], in[1]) + in[2])));
  };
  for (const auto& program : std::vector<Program>{
           {"layer norm", layer_norm, {x, sample({16})}},
           {"fast rms norm",
            [](const Arrays& in) { return Arrays{mx::fast::rms_norm(in[0], in[1], 1e-5f)}; },
            {sample({3, 16}, mx::bfloat16), sample({16}, mx::bfloat16)}},
           {"fast layer norm",
            [](const Arrays& in) { return Arrays{mx::fast::layer_norm(in[0], in[1], in[1], 1e-5f)}; },
            {x, sample({16})}},
           {"attention",
            [](const Arrays& in) {
              return Arrays{mx::fast::scaled_dot_product_attention(in[0], in[0], in[0], 0.5f)};
            },
            {sample({1, 2, 8, 16})}},
           {"rope",
            [](const Arrays& in) { return Arrays{mx::fast::rope(in[0], 16, false, 10000.0f, 1.0f, 3)}; },
            {sample({1, 2, 8, 16})}},
           {"gelu",
            [](const Arrays& in) {
              return Arrays{in[0] * (array(1.0f) + mx::erf(in[0] / array(std::sqrt(2.0f)))) / array(2.0f)};
            },
            {x}},
           {"gradient",
            [loss](const Arrays& in) {
              return mx::grad(loss, {1, 2})(in);
            },
            {x, w, b}},
           {"value and gradient",
            [loss](const Arrays& in) {
              auto [value, gradients] = mx::value_and_grad(loss, {0, 1})(in);
              gradients.push_back(value);
              return gradients;
            },
            {x, w, b}},
           {"vmap",
            [](const Arrays& in) {
              return Arrays{mx::vmap([](const array& row) { return mx::softmax(row * array(2.0f)); })(in[0])};
            },
            {x}},
           {"random bits with a key",
            [](const Arrays& in) {
              return Arrays{in[0] + mx::random::uniform({16}, mx::float32, mx::random::key(3))};
            },
            {x}},
           {"complex", [](const Arrays& in) { return Arrays{mx::abs(mx::fft::fft(in[0]))}; }, {x}},
       }) {
    check(program);
  }
}

}  // namespace
}  // namespace autoperfect
