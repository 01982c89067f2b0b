#include "lower/mlx_names.h"

namespace autoperfect {

namespace {

// Ops whose function of mlx.core has another name than ours, or is not a function of all operands.
struct Function {
  Op op;
  const char* name;
};
constexpr Function renamed[] = {
    {Op::neg, "negative"},
    {Op::asin, "arcsin"},
    {Op::acos, "arccos"},
    {Op::atan, "arctan"},
    {Op::asinh, "arcsinh"},
    {Op::acosh, "arccosh"},
    {Op::atanh, "arctanh"},
    {Op::sub, "subtract"},
    {Op::mul, "multiply"},
    {Op::div, "divide"},
    {Op::atan2, "arctan2"},
    {Op::select, "where"},
    {Op::copy, "contiguous"},
    {Op::arg_sort, "argsort"},
};

}  // namespace

std::string mlx_function(Op op) {
  for (const auto& [renamed_op, name] : renamed) {
    if (renamed_op == op) return name;
  }
  return std::string(name(op));
}

std::optional<Op> op_of_mlx(std::string_view function) {
  for (const auto& [op, name] : renamed) {
    if (function == name) return op;
  }
  auto op = parse_op(function);
  // neg is ours alone, and mx.negative was found above.
  if (!op || mlx_function(*op) != function) return std::nullopt;
  return op;
}

const char* mlx_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return "mx.bool_";
    case Dtype::u8:
      return "mx.uint8";
    case Dtype::u16:
      return "mx.uint16";
    case Dtype::u32:
      return "mx.uint32";
    case Dtype::u64:
      return "mx.uint64";
    case Dtype::i8:
      return "mx.int8";
    case Dtype::i16:
      return "mx.int16";
    case Dtype::i32:
      return "mx.int32";
    case Dtype::i64:
      return "mx.int64";
    case Dtype::f16:
      return "mx.float16";
    case Dtype::bf16:
      return "mx.bfloat16";
    case Dtype::f32:
      return "mx.float32";
    case Dtype::f64:
      return "mx.float64";
    case Dtype::c64:
      return "mx.complex64";
  }
  return "";
}

std::optional<Dtype> dtype_of_mlx(std::string_view name) {
  for (auto dtype :
       {Dtype::bool_,
        Dtype::u8,
        Dtype::u16,
        Dtype::u32,
        Dtype::u64,
        Dtype::i8,
        Dtype::i16,
        Dtype::i32,
        Dtype::i64,
        Dtype::f16,
        Dtype::bf16,
        Dtype::f32,
        Dtype::f64,
        Dtype::c64}) {
    if (name == std::string_view(mlx_dtype(dtype)).substr(3)) return dtype;
  }
  return std::nullopt;
}

}  // namespace autoperfect
