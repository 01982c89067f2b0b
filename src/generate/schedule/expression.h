// One op as a C++ expression over the prelude's vectors, rounded where MLX rounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect::schedule {

std::string vector_type(Dtype dtype);   // of a value: "ap::vf", "ap::mask", "ap::vi32"...
std::string element_type(Dtype dtype);  // in memory: "ap::bf16"...

std::string literal(Dtype dtype, double value);
std::string rounded(Dtype dtype, const std::string& x);  // an f32 vector, to a half type where it is of one
std::string convert(Dtype from, Dtype to, const std::string& x);

// `dtypes`: of the operands. None when the CPU schedules have no form for it.
std::optional<std::string> expression(
    const KernelValue& value, const std::vector<Dtype>& dtypes, const std::vector<std::string>& operands);

// Reductions: the dtype they accumulate in, where they start, one step, and the end across lanes.
struct ReductionText {
  Dtype accumulate;
  std::string init;    // a vector
  std::string step;    // function of two vectors: "ap::add" style text with {a} and {b}
  std::string across;  // function name giving a splat: "ap::hsum"
};
std::optional<ReductionText> reduction(Op op, Dtype operand, Dtype result);
std::string fill(const std::string& pattern, const std::string& a, const std::string& b);

}  // namespace autoperfect::schedule
