// The text inside the loops of a CPU kernel: values of one unit, values of one vector of elements,
// accumulators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate/schedule/expression.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/passes.h"
#include "generate/schedule/scope.h"
#include "generate/schedule/writer.h"
#include "ir/kernel.h"

namespace autoperfect::schedule {

class Body {
 public:
  Body(const Kernel& kernel, const Nest& nest, const Passes& passes, const Choice& choice)
      : kernel_(kernel), nest_(nest), passes_(passes), choice_(choice) {}

  bool supported() const;
  int64_t scratch_bytes() const;

  std::string scratch_pointers(int depth) const;
  std::string unit_pointers(int depth) const;   // p<k>: where access k starts for this unit
  std::string inner_pointers(int depth) const;  // q<k>: p<k> moved by the inner groups
  // lo<k>, hi<k>: where along the lanes access k is inside; of those that depend on the inner groups inside
  // their loops. constant: those that depend on nothing.
  std::string unit_ranges(int depth, bool constant = false) const;
  std::string inner_ranges(int depth) const;
  // Values of the unit that are ready after that many sweeps. Of columns they are vectors at j (tail: n lanes
  // of them). scalars_only: those without any axis.
  std::string unit_values(int after, int depth, bool tail = false, bool scalars_only = false) const;
  bool has_elements(int sweep) const;                           // anything along the lanes
  std::string elements(int sweep, bool tail, int depth) const;  // one vector at j; tail: n elements of it
  // Outputs that vary over the inner groups and not along the lanes: stored once, after all lanes have read
  // what may lie in the same memory.
  std::string scalars(int sweep, int depth) const;
  // The same of a single value, which gets its name v<k> and is not stored.
  std::string element(int value, bool tail, int depth) const;

  // What a reduction or scan carries along, or a value of the unit is: for those who keep it in memory.
  Dtype state_dtype(int v) const;
  std::string state_start(int v) const;

  std::vector<int> scans(int sweep) const;  // that may be computed in it
  bool runs_backwards() const;              // along the scanned group
  std::string declare_carries(int sweep, int depth) const;

  std::string declare_accumulators(int sweep, int depth) const;
  std::string accumulator_parameters(int sweep) const;
  std::string accumulator_arguments(int sweep, int copy) const;
  std::string combine(int sweep, int depth) const;  // over unrolled copies and lanes, into u<v>
  std::string store_partials(int depth) const;
  std::string gather_partials(int depth) const;

 private:
  std::vector<Dtype> operand_dtypes(const KernelValue& value) const;
  std::string unit_operand(const KernelValue& value, int operand, bool tail) const;
  std::string element_operand(Scope& scope, const KernelValue& value, int operand) const;
  std::string element_value(Scope& scope, int v) const;
  std::string element_expression(Scope& scope, int v) const;
  void store_element(Scope& scope, int v) const;
  std::string load_element(Scope& scope, int access) const;
  std::string load_unit(int access, bool tail) const;
  std::string load_along(
      int access, std::string at, const std::vector<std::string>& rows, bool lanes, bool tail) const;
  std::string load_within(
      int access, const std::string& at, const std::string& index, const Extent& stride, bool tail) const;
  bool bounded_by(int access, const std::vector<int>& groups) const;
  std::string range(int access, int depth) const;
  std::string store_along(
      const Access& access,
      const std::string& pointer,
      const std::string& name,
      bool tail,
      bool stream) const;
  std::string moved(const Access& access, const std::vector<int>& groups) const;
  std::string prefetches(int depth) const;
  std::string position(AxisId axis, Dtype dtype, bool element) const;
  bool scans_supported() const;
  std::string scan_expression(Scope& scope, int v) const;
  void accumulate(Scope& scope, int v) const;
  void accumulate_position(Scope& scope, int v) const;
  std::string merge_copies(int v, int depth) const;
  std::string end_across(int v, const std::string& vector, int depth) const;
  bool arg(int v) const { return kernel_.values[v].op == Op::argmax || kernel_.values[v].op == Op::argmin; }
  ReductionText text_of(int v) const;
  std::string extreme_init(int v) const;
  std::string scratch_index() const;

  const Kernel& kernel_;
  const Nest& nest_;
  const Passes& passes_;
  const Choice& choice_;
};

// Where a scan starts; none when there is no form for it.
std::optional<std::string> scan_identity(const KernelValue& value);
const char* scan_operation(Op op);  // the prelude's: "ap::Plus"...
bool is_inclusive(const KernelValue& value);
bool is_reverse(const KernelValue& value);

}  // namespace autoperfect::schedule
