#include "generate/model/prompt.h"

#include <fmt/format.h>

#include <algorithm>

#include "generate/model/prompt_parts.h"
#include "ir/kernel_text.h"

namespace autoperfect {

namespace {

constexpr size_t most_evidence = 4000, most_source = 64000;  // bytes

// Longer than any row of ticks in the text, so that nothing in it can end the block.
std::string fenced(const std::string& text) {
  size_t longest = 2;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find_first_not_of('`', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  std::string fence(longest + 1, '`');
  auto newline = text.empty() || text.back() == '\n' ? "" : "\n";
  return fmt::format("{}\n{}{}{}\n", fence, text, newline, fence);
}

std::string section(std::string_view title, const std::string& text) {
  return fmt::format("\n## {}\n\n{}", title, text);
}

// What holds in every language; the language section says how each may be written.
constexpr const char* native_rules =
    R"(- The code uses its inputs and outputs and nothing else: no global or static state, no files, no system
  calls, no allocation, no threads, no recursion. It is a pure function of the inputs, and has no effect
  but its outputs.
- Every element of every output is written, no element of an input is, and nothing else in memory is.
- No high-level calls: only the functions listed for the language.
- The result does not depend on what memory held before, on earlier calls, or on how the work is cut up.
- Do not write for particular values, sizes or tests: code that is right on the inputs tried and wrong
  elsewhere is rejected.
)";

constexpr const char* mlx_rules =
    R"(- The code uses its inputs and makes its outputs and nothing else; it changes no array and no graph.
- No branches, loops, functions, evaluation, random numbers, printing or allocation.
- No high-level calls (`mx.softmax`, `mx.fast.*`, `mx.compile`, `nn.*`): only the functions listed for the
  language.
)";

std::string timing(const PromptRequest& request) {
  const auto& target = *request.target;
  auto bytes = static_cast<double>(bytes_of_buffers(*request.kernel));
  bool cached = bytes <= static_cast<double>(target.l3_bytes);
  double bandwidth = cached ? target.cache_bytes_per_second : target.copy_bytes_per_second;
  return fmt::format(
      R"(What passes is timed at the sizes of the contract, after a warm-up, in turns with MLX's own operations and
other candidates on the same inputs; the median counts. So the last cache is warm as far as the data fits
it, nearer caches are not. Inputs and outputs hold {} together, which this machine moves in {}
at best.
)",
      prompt::bytes_text(bytes),
      prompt::time_text(bytes / bandwidth + target.launch_seconds));
}

// The beginning, at the end of a line, of a text that is longer than `most`.
std::string shortened(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  auto end = text.rfind('\n', most);
  return text.substr(0, end == std::string::npos ? most : end + 1) + "...\n";
}

std::string best_known(const BestKnown& best) {
  auto text = fmt::format(
      R"(This takes {}, {:.0f}% of what the machine can do; MLX's own operations take {}. Write something faster.
Find what limits it first; a rewording with the same loops and the same memory traffic is no improvement.
)",
      prompt::time_text(best.seconds),
      100 * best.roofline,
      prompt::time_text(best.baseline_seconds));
  if (!best.is_draft)
    text += "It was written by a program and uses functions that are not all allowed to you.\n";
  return text + "\n" + fenced(best.source);
}

std::string repair(const Repair& repair) {
  return fmt::format(
      R"(This was your last answer. It was rejected at the stage `{}`:

{}
{}
Correct the cause, not only the line that was named, and answer with the whole code again.
)",
      repair.stage,
      fenced(shortened(repair.evidence, most_evidence)),
      fenced(shortened(repair.source, most_source)));
}

}  // namespace

std::string make_prompt(const PromptRequest& request) {
  auto kernel = with_neutral_names(*request.kernel);
  const bool is_mlx = request.language == "mlx";
  std::string out = fmt::format(
      R"(# Write one kernel

Below is the contract of one kernel. Write code in the language `{}` that computes what it says, as fast as
possible on the machine described. The code is checked, {}proved numerically against a reference on
many inputs, and then timed.
)",
      request.language,
      is_mlx ? "" : "compiled, ");
  out += section("Contract", fenced(print(kernel)) + "\n" + prompt::how_to_read(kernel));
  out += section("Accuracy and values", prompt::accuracy(kernel));
  out += section("Machine", prompt::machine(*request.target));
  out += section("Language", language_reference(kernel, request.language, *request.target));
  out += section("Rules", is_mlx ? mlx_rules : native_rules);
  out += section("Timing", timing(request));
  if (request.best) out += section("The fastest so far", best_known(*request.best));
  out += section("Approach", prompt::approach(request.language, request.variant));
  if (request.repair) out += section("Your last answer", repair(*request.repair));
  out += section(
      "Answer",
      R"(Answer with exactly one block, as here, which holds the complete draft. Text around the block is not read.

```
(the draft)
```
)");
  return out;
}

}  // namespace autoperfect
