// What a library's attention must show before it may stand for one that was written out: families of inputs,
// and the rule by which its numbers are judged. Pure: who computes with MLX hands the results in.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "reference/tensor.h"

namespace autoperfect {

struct AttentionFamily {
  std::string name;
  std::vector<Tensor> inputs;  // q, k transposed, v [, mask], as the written graph has them
};

// Deterministic in the seed. `scale` is the call's: scores get the spread that a family is for.
std::vector<AttentionFamily> make_attention_families(const Graph& written, double scale, uint64_t seed);

// Of one family, by the reference executor.
struct AttentionReferences {
  Tensor oracle;     // in double
  Tensor magnitude;  // the same with |v|: what the weights' errors are multiplied with
  Tensor exact;      // rounded as it is written
};
Result<AttentionReferences> attention_references(const Graph& written, const std::vector<Tensor>& inputs);

struct AttentionVerdict {
  bool passed = false;
  std::string failure;  // the first element that is wrong
  double error = 0,
         written_error = 0;  // the largest, relative to the magnitude; of the call, of what is written
  bool decides = false;      // rounding leaves enough of the numbers for them to tell right from wrong
};

// The rule, element by element, `eager` being MLX's result of what is written:
//   1. NaN, +inf, -inf or finite, as in exact or in eager.
//   2. Where finite, it is what eager gives, or the distance to the oracle is at most twice the error of what
//      is written, plus 2 ulp. That error is the largest in the family, relative to the magnitude: of exact,
//      or of eager where that is at most 16 times exact's (beyond, MLX does something else than rounding,
//      which licenses nothing but those very numbers).
// A family decides where the error of what is written is at most an eighth.
AttentionVerdict judge_attention(
    const AttentionReferences& references, const Tensor& eager, const Tensor& got);

}  // namespace autoperfect
