// The languages a candidate may be written in by somebody else, a model or a person: what a draft is, and the
// part of a prompt that says what the language allows. The check (check/check.h) reads the same tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost/target.h"
#include "ir/kernel.h"

namespace autoperfect {

// What an author wrote: the one fenced block, unchanged.
struct Draft {
  std::string language;  // one of languages()
  std::string source;
};

const std::vector<std::string_view>& languages();  // "mlx", "cpu", "cuda", "metal"

// The kernel in the names that drafts, prompts and evidence use: buffers in0, in1, ..., out0, ..., tmp0, ...;
// axes i, j, k, l, m, n, a6, ...; values t0, t1, ...; @region. A stored value has the name of its buffer. Ids
// stay.
Kernel with_neutral_names(Kernel kernel);

// What a draft finds the stride of a dimension declared as, where it is told at launch: s_in0_1.
std::string stride_name(const Buffer& buffer, size_t dimension);

// The allowed language: launch line, what the code finds declared, every function with its cost and accuracy,
// what is allowed and what is not, and one small complete draft of another kernel. Deterministic.
std::string language_reference(const Kernel& kernel, const std::string& language, const Target& target);

}  // namespace autoperfect
