// Columns in strips: sums, carries and values of a strip of columns lie in scratch, and memory is read row by
// row, as it lies.
#pragma once

#include <string>

#include "generate/schedule/body.h"

namespace autoperfect::schedule {

class StripWriter {
 public:
  StripWriter(const Kernel& kernel, const Nest& nest, const Passes& passes, const Body& body)
      : kernel_(kernel), nest_(nest), passes_(passes), body_(body) {}

  int64_t scratch_bytes() const;
  // The loops over columns [first, hi), two names known to the text before.
  std::string run(int depth);

 private:
  std::vector<int> unit_values(int after) const;
  std::vector<int> states(int sweep) const;  // reductions and scans
  std::string slot(int v) const;
  std::string keep(const std::string& prefix, const std::vector<int>& values);
  void load(const char* prefix, int v, bool constant);
  void start(int sweep);
  void rows(int sweep);
  void row_steps(int sweep, const std::string& row, int count);
  void end(int sweep);
  template <class Write>
  void over_columns(Write write);
  void line(const std::string& text) { text_ += indent(depth_) + text + "\n"; }
  void begin_block(const std::string& text) { line(text + (text.empty() ? "{" : " {")), ++depth_; }
  void end_block() { --depth_, line("}"); }

  const Kernel& kernel_;
  const Nest& nest_;
  const Passes& passes_;
  const Body& body_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace autoperfect::schedule
