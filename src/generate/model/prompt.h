// The question put to a model: a pure function of a kernel, a target, a language and, when there are any, the
// best candidate so far or a draft that failed. Deterministic to the byte. Nothing of the user's program is
// in it but structure and numbers: names are replaced, and KernelIR has no comments or other free text.
#pragma once

#include <optional>
#include <string>

#include "cost/target.h"
#include "generate/language/language.h"
#include "ir/kernel.h"

namespace autoperfect {

// The fastest candidate so far, shown when the next is to be faster.
struct BestKnown {
  std::string source;    // a draft as a model would write it, or a source of the built-in generator
  bool is_draft = true;  // false: shown as a description, not as something to continue from
  double seconds = 0;
  double roofline = 0;          // share of what the machine can do, 0..1
  double baseline_seconds = 0;  // of MLX for the same
};

// A draft that was rejected, and the smallest evidence of why.
struct Repair {
  std::string source;
  std::string stage;     // "extract", "check", "compile", "gate"
  std::string evidence;  // Diagnostics as text; names as with_neutral_names() gives them
};

struct PromptRequest {
  const Kernel* kernel = nullptr;
  const Target* target = nullptr;
  std::string language = "cpu";
  int variant = 0;  // asks for another approach each time
  std::optional<BestKnown> best;
  std::optional<Repair> repair;
};
std::string make_prompt(const PromptRequest& request);

}  // namespace autoperfect
