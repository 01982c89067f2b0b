// Drafts in C++, CUDA and Metal.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/arms.h"
#include "check/languages.h"
#include "check/launch_line.h"
#include "check/memory.h"
#include "check/names.h"
#include "check/wrap.h"
#include "ir/kernel_text.h"
#include "ir/layout.h"

namespace autoperfect::code {

namespace {

// One of the functions of a draft.
struct Function {
  Part part;
  Abi abi;
  Program program;
  Flow flow;
};

class CodeCheck {
 public:
  CodeCheck(const Kernel& kernel, const Draft& draft)
      : kernel_(kernel), draft_(draft), source_(draft.source), vocabulary_(vocabulary(draft.language)) {}

  Result<Checked> run(const Target& target) {
    check_kernel();
    if (!is_text(source_, errors_)) return errors_.take();
    check_traps();
    auto lexed = lex(source_, errors_);
    const Abi abi = make_abi(kernel_, draft_.language, Part::kernel);
    auto launch = read_launch(lexed.directives, abi, draft_.language, errors_);
    auto& candidate = checked_.candidate;
    candidate.guards = read_guards(lexed.directives, abi, draft_.language, errors_);
    if (launch) candidate.launch = *launch;
    const Directive* finish = find_finish(lexed.directives);
    read_functions(std::move(lexed.tokens), finish);
    check_written();
    if (!errors_.empty()) return errors_.take();

    candidate.signature = signature(kernel_);
    candidate.target = target.name;
    candidate.language = draft_.language;
    write(finish);
    return std::move(checked_);
  }

 private:
  void check_kernel() {
    for (const auto& buffer : kernel_.buffers) {
      if (buffer.type.dtype == Dtype::c64)
        errors_.add("unsupported", "kernels of complex numbers are not written by others", {1, 1, 1});
      if (draft_.language != "cpu" && (!is_row(buffer) || buffer.role == BufferRole::temp))
        errors_.add(
            "unsupported",
            fmt::format("'{}' is not row, or a temporary: such kernels are written for the CPU", buffer.name),
            {1, 1, 1});
    }
    auto open = std::count_if(
        kernel_.axes.begin(), kernel_.axes.end(), [](const Axis& axis) { return axis.dynamic; });
    if (draft_.language == "cuda" && open > 1)
      errors_.add("unsupported", "kernels of several open sizes are not launched on GPUs", {1, 1, 1});
  }

  // MLX adds a parameter for each `in0_shape` in a text, comments included.
  void check_traps() {
    if (draft_.language == "cpu") return;
    for (const auto& buffer : with_neutral_names(kernel_).buffers) {
      for (const char* suffix : {"_shape", "_strides", "_ndim"}) {
        const auto word = buffer.name + suffix;
        const auto at = source_.find(word);
        if (at == std::string_view::npos) continue;
        const auto before = source_.substr(0, at);
        const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
        const auto column = static_cast<int>(at - (before.rfind('\n') + 1)) + 1;
        errors_.add(
            "reserved-name",
            fmt::format("'{}' would change the kernel's parameters, even in a comment", word),
            {line, column, static_cast<int>(word.size())});
      }
    }
  }

  const Directive* find_finish(const std::vector<Directive>& directives) {
    const Directive* found = nullptr;
    for (const auto& directive : directives) {
      if (directive.name != "finish") continue;
      if (found) errors_.add("bad-launch", "there is a finish already", directive.where);
      found = &directive;
    }
    const bool has_partial = checked_.candidate.launch.partial_bytes > 0;
    if (found && !has_partial)
      errors_.add("bad-launch", "finish needs partial= in the launch line", found->where);
    if (!found && has_partial)
      errors_.add(
          "bad-launch",
          "partial results need a finish",
          {1, 1, 1},
          "write a line // finish: and its statements");
    return found;
  }

  void read_functions(std::vector<Token> tokens, const Directive* finish) {
    std::vector<Token> rest;
    if (finish) {
      auto is_before = [&](const Token& token) { return token.where.line < finish->where.line; };
      auto middle = std::partition_point(tokens.begin(), tokens.end() - 1, is_before);
      rest.assign(middle, tokens.end());
      tokens.erase(middle, tokens.end());
      tokens.push_back({TokenKind::end, rest.front().text.substr(0, 0), rest.front().where});
    }
    read_function(Part::kernel, std::move(tokens));
    if (finish) read_function(Part::finish, std::move(rest));
  }

  void read_function(Part part, std::vector<Token> tokens) {
    Errors wrong;
    Abi abi = make_abi(kernel_, draft_.language, part);
    Program program = parse(std::move(tokens), vocabulary_, wrong);
    const bool whole = wrong.empty(), balanced = program.body.range.end > 0 || whole;
    for (auto& error : wrong.take())
      errors_.add(error.code, error.message, error.where, error.hint);
    readable_ &= whole;
    if (!balanced) return;
    check_names(program, vocabulary_, abi, whole, errors_);
    Flow flow(program, vocabulary_, abi);
    check_memory(program, vocabulary_, abi, flow, errors_, written_);
    if (!whole) return;
    add_arms(program, vocabulary_, flow, source_, checked_.arms, insertions_);
    if (draft_.language == "cuda") poison_shared(program);
    add_constants(program, vocabulary_, flow, checked_.constants);
    if (checked_.constants.size() > most_constants) errors_.add_too_many_constants(most_constants);
  }

  // Where every thread comes by. Behind an inner declaration not all may meet.
  void poison_shared(const Program& program) {
    for (const auto& statement : program.body.children) {
      for (const auto& one : statement.declared) {
        if (!one.is_shared) continue;
        const auto end = program.tokens[statement.range.end - 1].text;
        const auto offset = static_cast<size_t>(end.data() - source_.data()) + end.size();
        insertions_.push_back({offset, fmt::format("ap::poison({});", program.tokens[one.name].text)});
      }
    }
  }

  void check_written() {
    if (!readable_) return;
    for (const auto& name : make_abi(kernel_, draft_.language, Part::kernel).outputs) {
      if (!written_.count(name))
        errors_.add("output-not-written", fmt::format("nothing is stored to '{}'", name), {1, 1, 1});
    }
  }

  // The line of `finish` becomes the end of one function and the head of the other.
  std::string wrapped(const Directive* finish, bool counted) const {
    const auto& candidate = checked_.candidate;
    auto head = [&](Part part) {
      return head_of(make_abi(kernel_, draft_.language, part), draft_.language, part, candidate, counted);
    };
    auto insertions = counted ? insertions_ : std::vector<Insertion>{};
    std::string text;
    if (finish) {
      const auto begin = static_cast<size_t>(finish->line.data() - source_.data());
      insertions.push_back({begin, fmt::format("{} {} ", tail_of(draft_.language), head(Part::finish))});
    }
    text = with_insertions(source_, std::move(insertions));
    return fmt::format("{}\n{}\n{}\n", head(Part::kernel), text, tail_of(draft_.language));
  }

  void write(const Directive* finish) {
    checked_.first_line = 1;
    checked_.candidate.source = wrapped(finish, false);
    checked_.counted_source = wrapped(finish, true);
  }

  const Kernel& kernel_;
  const Draft& draft_;
  std::string_view source_;
  const Vocabulary& vocabulary_;
  Errors errors_;
  Checked checked_;
  std::vector<Insertion> insertions_;
  std::set<std::string> written_;
  bool readable_ = true;
};

}  // namespace

Result<Checked> check_code(const Kernel& kernel, const Draft& draft, const Target& target) {
  return CodeCheck(kernel, draft).run(target);
}

}  // namespace autoperfect::code
