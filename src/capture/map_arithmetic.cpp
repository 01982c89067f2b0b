#include "capture/mapping.h"

namespace autoperfect::mapping {

namespace {

namespace mx = mlx::core;

MappedPrimitive map_reduce(const mx::array& output) {
  auto [type, axes] = as<mx::Reduce>(output).state();
  auto op = [type = type] {
    switch (type) {
      case mx::Reduce::And:
        return Op::all;
      case mx::Reduce::Or:
        return Op::any;
      case mx::Reduce::Sum:
        return Op::sum;
      case mx::Reduce::Prod:
        return Op::prod;
      case mx::Reduce::Min:
        return Op::min;
      case mx::Reduce::Max:
        return Op::max;
    }
    return Op::opaque;
  }();
  return with(op, {{"axes", widen(axes)}, {"keepdims", true}});
}

MappedPrimitive map_arg_reduce(const mx::array& output) {
  auto [type, axis] = as<mx::ArgReduce>(output).state();
  auto op = type == mx::ArgReduce::ArgMax ? Op::argmax : Op::argmin;
  return with(op, {{"axis", int64_t{axis}}, {"keepdims", true}});
}

MappedPrimitive map_log(const mx::array& output) {
  switch (as<mx::Log>(output).state()) {
    case mx::Log::two:
      return {Op::log2, {}};
    case mx::Log::ten:
      return {Op::log10, {}};
    case mx::Log::e:
      return {Op::log, {}};
  }
  return {};
}

MappedPrimitive map_bitwise(const mx::array& output) {
  switch (as<mx::BitwiseBinary>(output).state()) {
    case mx::BitwiseBinary::And:
      return {Op::bitwise_and, {}};
    case mx::BitwiseBinary::Or:
      return {Op::bitwise_or, {}};
    case mx::BitwiseBinary::Xor:
      return {Op::bitwise_xor, {}};
    case mx::BitwiseBinary::LeftShift:
      return {Op::left_shift, {}};
    case mx::BitwiseBinary::RightShift:
      return {Op::right_shift, {}};
  }
  return {};
}

MappedPrimitive map_arange(const mx::array& output) {
  auto [start, stop, step] = as<mx::Arange>(output).state();
  return with(
      Op::arange,
      {{"start", start},
       {"step", step},
       {"size", static_cast<int64_t>(output.size())},
       {"dtype", from_mlx(output.dtype())}});
}

MappedPrimitive map_scan(const mx::array& output) {
  auto [type, axis, reverse, inclusive] = as<mx::Scan>(output).state();
  auto op = [type = type] {
    switch (type) {
      case mx::Scan::Max:
        return Op::cummax;
      case mx::Scan::Min:
        return Op::cummin;
      case mx::Scan::Sum:
        return Op::cumsum;
      case mx::Scan::Prod:
        return Op::cumprod;
      case mx::Scan::LogAddExp:
        return Op::logcumsumexp;
    }
    return Op::opaque;
  }();
  auto mapped = flagged(with(op, {{"axis", int64_t{axis}}}), "reverse", reverse);
  if (!inclusive) mapped.attributes.set("inclusive", false);
  return mapped;
}

MappedPrimitive map_sqrt(const mx::array& output) {
  return {as<mx::Sqrt>(output).state() ? Op::rsqrt : Op::sqrt, {}};
}

MappedPrimitive map_equal(const mx::array& output) {
  return with(Op::equal, {{"nan_equal", as<mx::Equal>(output).state()}});
}

}  // namespace

const Table& arithmetic() {
  static const Table table = {
      {"Reduce", map_reduce},
      {"ArgReduce", map_arg_reduce},
      {"Scan", map_scan},
      {"Log", map_log},
      {"Sqrt", map_sqrt},
      {"Equal", map_equal},
      {"BitwiseBinary", map_bitwise},
      {"AsType", to_dtype<Op::cast>},
      {"Full", to_shape<Op::full>},
      {"Arange", map_arange},
  };
  return table;
}

}  // namespace autoperfect::mapping
