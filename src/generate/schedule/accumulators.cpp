// The part of Body that holds reductions: accumulators of the unrolled copies, their merge, and the end
// across lanes.
#include "generate/schedule/body.h"

namespace autoperfect::schedule {
namespace {

std::string copy(const char* letter, int number, int k) {
  return id(letter, number) + "_" + std::to_string(k);
}

}  // namespace

ReductionText Body::text_of(int v) const {
  auto& value = kernel_.values[v];
  return *reduction(value.op, operand_dtype(kernel_, value, 0), value.dtype);
}

// Where argmax starts: below every element. MLX takes the first NaN of a row, else the first of the largest.
std::string Body::extreme_init(int v) const {
  Dtype dtype = operand_dtype(kernel_, kernel_.values[v], 0);
  return reduction(kernel_.values[v].op == Op::argmax ? Op::max : Op::min, dtype, dtype)->init;
}

Dtype Body::state_dtype(int v) const {
  auto& value = kernel_.values[v];
  return is_reduction(value) && !arg(v) ? text_of(v).accumulate : value.dtype;
}

std::string Body::state_start(int v) const {
  auto& value = kernel_.values[v];
  return is_scan(value) ? *scan_identity(value) : text_of(v).init;
}

std::string Body::declare_accumulators(int sweep, int depth) const {
  std::string text;
  for (int v : passes_.reductions[sweep]) {
    Dtype dtype = arg(v) ? operand_dtype(kernel_, kernel_.values[v], 0) : text_of(v).accumulate;
    std::string init = arg(v) ? extreme_init(v) : text_of(v).init;
    for (int k = 0; k < choice_.unroll; ++k) {
      text += indent(depth) + vector_type(dtype) + " " + copy("a", v, k) + " = " + init + ";\n";
      if (arg(v)) text += indent(depth) + "ap::vi32 " + copy("i", v, k) + " = {};\n";
    }
  }
  return text;
}

std::string Body::accumulator_parameters(int sweep) const {
  std::string text;
  for (int v : passes_.reductions[sweep]) {
    Dtype dtype = arg(v) ? operand_dtype(kernel_, kernel_.values[v], 0) : text_of(v).accumulate;
    text += ", " + vector_type(dtype) + "& " + id("a", v);
    if (arg(v)) text += ", ap::vi32& " + id("i", v);
  }
  return text;
}

std::string Body::accumulator_arguments(int sweep, int k) const {
  std::string text;
  for (int v : passes_.reductions[sweep]) {
    text += ", " + copy("a", v, k);
    if (arg(v)) text += ", " + copy("i", v, k);
  }
  return text;
}

void Body::accumulate(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  auto text = text_of(v);
  std::string x =
      convert(operand_dtype(kernel_, value, 0), text.accumulate, element_operand(scope, value, 0));
  std::string a = id("a", v);
  std::string next = value.op == Op::matmul
                         ? "ap::fma(" + x + ", " + element_operand(scope, value, 1) + ", " + a + ")"
                         : fill(text.step, a, x);
  // Lanes past the end are no part of a row; of columns each lane is its own row.
  bool partial = scope.tail && !nest_.columns();
  scope.statement(a + " = " + (partial ? "ap::select(ap::first(n), " + next + ", " + a + ")" : next) + ";");
}

void Body::accumulate_position(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  std::string x = element_operand(scope, value, 0);
  std::string a = id("a", v), i = id("i", v), t = id("t", v);
  std::string better =
      std::string(value.op == Op::argmax ? "ap::beats_max(" : "ap::beats_min(") + x + ", " + a + ")";
  if (scope.tail) better = "ap::mask_and(ap::first(n), " + better + ")";
  scope.statement("const ap::mask " + t + " = " + better + ";");
  scope.statement(a + " = ap::select(" + t + ", " + x + ", " + a + ");");
  scope.statement(i + " = ap::select(" + t + ", ap::iota() + (int)j, " + i + ");");
}

// The unrolled copies into copy 0, in a fixed order.
std::string Body::merge_copies(int v, int depth) const {
  std::string text;
  for (int step = 1; step < choice_.unroll; step *= 2) {
    for (int k = 0; k + step < choice_.unroll; k += 2 * step) {
      std::string a = copy("a", v, k), b = copy("a", v, k + step);
      if (!arg(v)) {
        text += indent(depth) + a + " = " + fill(text_of(v).step, a, b) + ";\n";
        continue;
      }
      std::string i = copy("i", v, k), j = copy("i", v, k + step);
      bool max = kernel_.values[v].op == Op::argmax;
      text += indent(depth) + "ap::keep_first(" + (max ? "ap::beats_max(" : "ap::beats_min(") + b + ", " + a +
              "), " + a + ", " + i + ", " + b + ", " + j + ");\n";
    }
  }
  return text;
}

std::string Body::end_across(int v, const std::string& vector, int depth) const {
  auto& value = kernel_.values[v];
  auto text = text_of(v);
  std::string end = nest_.columns() ? vector : text.across + "(" + vector + ")";
  if (value.dtype == Dtype::bf16) end = "ap::round_bf16(" + end + ")";
  if (value.dtype == Dtype::f16) end = "ap::round_f16(" + end + ")";
  return indent(depth) + "const " + vector_type(value.dtype) + " " + id("u", v) + " = " + end + ";\n";
}

std::string Body::combine(int sweep, int depth) const {
  std::string text;
  for (int v : passes_.reductions[sweep]) {
    text += merge_copies(v, depth);
    if (!arg(v)) {
      text += end_across(v, copy("a", v, 0), depth);
      continue;
    }
    bool max = kernel_.values[v].op == Op::argmax;
    std::string found = std::string("ap::position_of(") + copy("a", v, 0) + ", " +
                        (max ? "ap::hmax(" : "ap::hmin(") + copy("a", v, 0) + "), " + copy("i", v, 0) + ")";
    text += indent(depth) + "const ap::vu32 " + id("u", v) + " = ap::to_u32(" + found + ");\n";
  }
  return text;
}

std::string Body::store_partials(int depth) const {
  std::string text;
  int slot = 0;
  for (int v : passes_.reductions[0])
    text += merge_copies(v, depth) + indent(depth) + "ap::raw_store((char*)partial + " +
            std::to_string(partial_slot * slot++) + ", " + copy("a", v, 0) + ");\n";
  return text;
}

std::string Body::gather_partials(int depth) const {
  std::string text;
  int slot = 0;
  for (int v : passes_.reductions[0]) {
    auto reduction_text = text_of(v);
    std::string type = vector_type(reduction_text.accumulate), a = id("a", v);
    text += indent(depth) + type + " " + a + " = " + reduction_text.init + ";\n";
    text += indent(depth) + "for (long c = 0; c < chunks; ++c) " + a + " = " +
            fill(
                reduction_text.step,
                a,
                "ap::raw_load<" + type + ">((const char*)partials + c * partial_step + " +
                    std::to_string(partial_slot * slot++) + ")") +
            ";\n";
    text += end_across(v, a, depth);
  }
  return text;
}

}  // namespace autoperfect::schedule
