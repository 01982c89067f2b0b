#include "generate/schedule/writer.h"

#include <algorithm>

#include "generate/schedule/body.h"
#include "generate/schedule/frame.h"
#include "generate/schedule/strips.h"

namespace autoperfect::schedule {
namespace {

class Writer {
 public:
  Writer(const Kernel& kernel, const Nest& nest, const Choice& choice)
      : kernel_(kernel),
        nest_(nest),
        choice_(choice),
        passes_(find_passes(kernel, nest, choice.keep)),
        body_(kernel, nest, passes_, choice) {}

  std::optional<Written> run();

 private:
  bool full() const { return nest_.full(); }
  void open(const char* head);
  void sweep(int s, bool accumulators_outside);
  void vector_loop(int s);
  void vector_steps(int s);
  void vector_steps_backwards(int s);
  void column(bool tail);
  void rows_of_column(int s, bool tail);
  void columns();
  void finish();
  void set_launch();
  void line(const std::string& text) { source_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void begin_block(const std::string& text) { line(text + " {"), ++depth_; }
  void end_block() { --depth_, line("}"); }

  const Kernel& kernel_;
  const Nest& nest_;
  Choice choice_;
  Passes passes_;
  Body body_;
  std::string source_;
  int depth_ = 0;
  Launch launch_;
};

void Writer::open(const char* head) {
  source_ += head + buffer_pointers(kernel_, 1);
  depth_ = 1;
}

// The loop along the lanes: unrolled steps, single vectors, and the last few elements.
void Writer::vector_loop(int s) {
  bool split = nest_.splits_vector_group();
  std::string hi = split                    ? "end"
                   : nest_.vector_group < 0 ? "1"
                                            : nest_.groups[nest_.vector_group].size.text();
  line("long j = " + std::string(split ? "begin" : "0") + ";");
  line("const long hi = " + hi + ";");
  line("auto body = [&](long j" + body_.accumulator_parameters(s) + ") __attribute__((always_inline)) {");
  source_ += body_.elements(s, false, depth_ + 1);
  line("};");
  body_.runs_backwards() ? vector_steps_backwards(s) : vector_steps(s);
}

void Writer::vector_steps(int s) {
  for (int step : {choice_.unroll, 1}) {
    std::string calls;
    for (int k = 0; k < step; ++k) {
      std::string at = k ? "j + " + std::to_string(k) + " * ap::W" : "j";
      calls += "body(" + at + body_.accumulator_arguments(s, k) + "); ";
    }
    std::string width = step == 1 ? "ap::W" : std::to_string(step) + " * ap::W";
    line("for (; j + " + width + " <= hi; j += " + width + ") { " + calls + "}");
    if (choice_.unroll == 1) break;
  }
  begin_block("if (j < hi)");
  line("const long n = hi - j;");
  source_ += body_.elements(s, true, depth_);
  end_block();
}

// From the last element to the first, for scans that go that way.
void Writer::vector_steps_backwards(int s) {
  line("j = hi / ap::W * ap::W;");
  begin_block("if (j < hi)");
  line("const long n = hi - j;");
  source_ += body_.elements(s, true, depth_);
  end_block();
  line("while (j > 0) { j -= ap::W; body(j" + body_.accumulator_arguments(s, 0) + "); }");
}

void Writer::sweep(int s, bool accumulators_outside) {
  if (!accumulators_outside) source_ += body_.declare_accumulators(s, depth_);
  for (int g : nest_.inner_groups) {
    std::string index = "g" + std::to_string(g);
    begin_block(
        "for (long " + index + " = 0; " + index + " < " + nest_.groups[g].size.text() + "; ++" + index + ")");
  }
  begin_block("");
  source_ += body_.inner_pointers(depth_) + body_.inner_ranges(depth_) + body_.declare_carries(s, depth_);
  if (body_.has_elements(s)) vector_loop(s);
  if (auto scalars = body_.scalars(s, depth_ + 1); !scalars.empty()) {
    begin_block("");
    line("const long j = 0;");
    source_ += scalars;
    end_block();
  }
  end_block();
  for (size_t k = 0; k < nest_.inner_groups.size(); ++k)
    end_block();
  if (!accumulators_outside) source_ += body_.combine(s, depth_);
}

// The rows under one vector of columns, the innermost loop unrolled.
void Writer::rows_of_column(int s, bool tail) {
  source_ += body_.declare_accumulators(s, depth_);
  for (size_t k = 0; k + 1 < nest_.inner_groups.size(); ++k) {
    std::string index = id("g", nest_.inner_groups[k]);
    begin_block(
        "for (long " + index + " = 0; " + index + " < " + nest_.groups[nest_.inner_groups[k]].size.text() +
        "; ++" + index + ")");
  }
  int innermost = nest_.inner_groups.back();
  std::string index = id("g", innermost), size = nest_.groups[innermost].size.text();
  begin_block("");
  source_ += body_.declare_carries(s, depth_);
  line(
      "auto body = [&](long " + index + body_.accumulator_parameters(s) +
      ") __attribute__((always_inline)) {");
  source_ +=
      body_.inner_pointers(depth_ + 1) + body_.inner_ranges(depth_ + 1) + body_.elements(s, tail, depth_ + 1);
  line("};");
  if (body_.runs_backwards()) {
    line("for (long r = " + size + "; r-- > 0;) body(r" + body_.accumulator_arguments(s, 0) + ");");
  } else {
    line("long r = 0;");
    std::string calls, step = std::to_string(choice_.unroll);
    for (int k = 0; k < choice_.unroll; ++k)
      calls += "body(r + " + std::to_string(k) + body_.accumulator_arguments(s, k) + "); ";
    line("for (; r + " + step + " <= " + size + "; r += " + step + ") { " + calls + "}");
    line("for (; r < " + size + "; ++r) body(r" + body_.accumulator_arguments(s, 0) + ");");
  }
  end_block();
  for (size_t k = 0; k + 1 < nest_.inner_groups.size(); ++k)
    end_block();
  source_ += body_.combine(s, depth_);
}

void Writer::column(bool tail) {
  source_ += body_.unit_values(0, depth_, tail);
  for (int s = 0; s < passes_.count; ++s) {
    rows_of_column(s, tail);
    source_ += body_.unit_values(s + 1, depth_, tail);
  }
}

void Writer::columns() {
  bool split = nest_.splits_vector_group();
  line("const long first = " + std::string(split ? "begin" : "0") + ";");
  line("const long hi = " + (split ? "end" : nest_.groups[nest_.vector_group].size.text()) + ";");
  if (choice_.strips) {
    source_ += StripWriter(kernel_, nest_, passes_, body_).run(depth_);
    return;
  }
  line("long j = first;");
  begin_block("for (; j + ap::W <= hi; j += ap::W)");
  column(false);
  end_block();
  begin_block("if (j < hi)");
  line("const long n = hi - j;");
  column(true);
  end_block();
}

void Writer::finish() {
  open(finish_text);
  source_ += indent(depth_) + partial_step(launch_.partial_bytes) + body_.gather_partials(depth_);
  source_ += body_.unit_ranges(depth_, true);
  source_ += body_.unit_values(0, depth_, false, true);
  source_ += body_.unit_values(1, depth_);
  end_block();
}

void Writer::set_launch() {
  for (int g : nest_.unit_groups)
    for (AxisId axis : nest_.groups[g].axes)
      launch_.parallel.push_back(axis);
  int64_t elements = 1;
  auto reduced_elements = [&] {
    int64_t count = 1;
    for (auto& group : nest_.groups)
      count *= group.swept ? group.seen_size : 1;
    return count;
  };
  for (size_t g = 0; g < nest_.groups.size(); ++g)
    if (std::find(nest_.unit_groups.begin(), nest_.unit_groups.end(), static_cast<int>(g)) ==
        nest_.unit_groups.end())
      elements *= nest_.groups[g].seen_size;
  constexpr int64_t elements_a_chunk = 16384;
  if (nest_.splits_vector_group()) {
    if (nest_.vector_group >= 0)
      for (AxisId axis : nest_.groups[nest_.vector_group].axes)
        launch_.parallel.push_back(axis);
    launch_.grain = std::max<int64_t>(
        64, elements_a_chunk / std::max<int64_t>(1, nest_.columns() ? reduced_elements() : 1));
    launch_.align = 64;  // chunks start on a cache line of the aligned outputs, whatever the dtype
  } else {
    launch_.grain = std::max<int64_t>(1, elements_a_chunk / std::max<int64_t>(1, elements));
  }
  launch_.scratch_bytes =
      choice_.strips ? StripWriter(kernel_, nest_, passes_, body_).scratch_bytes() : body_.scratch_bytes();
  if (full()) launch_.partial_bytes = partial_slot * static_cast<int64_t>(passes_.reductions[0].size());
}

std::optional<Written> Writer::run() {
  if (!body_.supported()) return std::nullopt;
  set_launch();
  open(signature_text);
  source_ += body_.scratch_pointers(depth_);
  if (full()) source_ += body_.declare_accumulators(0, depth_);
  bool units = !nest_.splits_vector_group();
  if (units) {
    begin_block("for (long u = begin; u < end; ++u)");
    source_ += group_indices(nest_, nest_.unit_groups, "u", depth_);
  }
  source_ += body_.unit_pointers(depth_) + body_.unit_ranges(depth_);
  if (nest_.columns()) {
    columns();
  } else {
    source_ += body_.unit_values(0, depth_);
    for (int s = 0; s < passes_.count; ++s) {
      sweep(s, full());
      if (!full()) source_ += body_.unit_values(s + 1, depth_);
    }
  }
  if (units) end_block();
  if (full()) source_ += body_.store_partials(depth_);
  if (choice_.stream) line("ap::fence();");
  end_block();
  if (full()) finish();
  return Written{source_, launch_};
}

}  // namespace

std::string Choice::text() const {
  const char* kept = keep == Keep::nothing ? "nothing" : keep == Keep::costly ? "costly" : "everything";
  return std::string("keep=") + kept + " prefetch=" + (prefetch ? "next" : "none") +
         (strips ? " strips" : "") + " store=" + (stream ? "stream" : "plain") +
         " unroll=" + std::to_string(unroll);
}

std::optional<Written> write_source(const Kernel& kernel, const Nest& nest, const Choice& choice) {
  return Writer(kernel, nest, choice).run();
}

}  // namespace autoperfect::schedule
