// The text inside the loops of a CUDA kernel: values of one unit, the elements of one pack, what reductions
// and scans carry along. Names: g<k> the index of a group, j the first element of a pack of P along the
// lanes, l the element in it, c the number of a kept pack; u<v> a value of the unit (of columns u<v>[l]),
// v<v> of an element, a<v> an accumulator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generate/schedule/cuda/mapping.h"
#include "generate/schedule/expression.h"
#include "generate/schedule/nest.h"
#include "generate/schedule/passes.h"
#include "ir/kernel.h"

namespace autoperfect::schedule::cuda {

class Body {
 public:
  Body(const Kernel& kernel, const Nest& nest, const Passes& passes, const Mapping& mapping);

  bool supported() const;

  // guard: a condition that stores are under, empty: none. store: what is an output is stored.
  std::string unit_values(int after, int depth, const std::string& guard, bool store) const;
  std::string elements(int sweep, int depth, const std::string& guard) const;
  // Of a warp that scans down columns: `head` is what each of its rows k begins with.
  std::string tall_elements(int sweep, int depth, const std::string& head, const std::string& guard) const;

  std::string place(int access) const { return at(nest_.accesses[access]); }  // of a row's first element
  std::string load_across(int access) const;  // of tiles: a pack along the rows, as it lies in memory

  std::string declare_kept(int depth) const;
  std::string declare_shared(int depth) const;
  int64_t shared_bytes() const;  // of a row
  std::string declare_accumulators(int sweep, int depth) const;
  std::string declare_carries(int sweep, int depth) const;
  std::string end_reduction(int v, int depth) const;  // u<v> from a<v>

  // Of a reduction: the type it accumulates in, and one step as text and as a function object.
  std::string state_type(int v) const;
  int64_t state_bytes(int v) const;
  std::string initial(int v) const;
  std::string step(int v, const std::string& a, const std::string& b) const;
  std::string function(int v) const;

  std::vector<int> scans(int sweep) const;  // needed in it, in order
  bool runs_backwards() const;              // along the scanned group

 private:
  struct Scope;
  bool columns() const { return nest_.columns(); }
  bool online(int v) const { return passes_.online[v] >= 0; }
  bool arg(int v) const { return kernel_.values[v].op == Op::argmax || kernel_.values[v].op == Op::argmin; }
  std::vector<Dtype> operand_dtypes(const KernelValue& value) const;
  ReductionText text_of(int v) const;
  bool arg_supported(const KernelValue& value) const;
  bool scans_supported() const;
  bool packs(int access) const {
    if (mapping_.aligned_to >= 0)
      return moves_packs_as(
          nest_, nest_.accesses[access], nest_.accesses[mapping_.aligned_to], mapping_.pack);
    return moves_packs(kernel_, nest_, passes_, nest_.accesses[access], mapping_.pack);
  }
  bool kept(int access) const { return mapping_.kept > 0 && uses_[access] > 1 && packs(access); }
  // The same in memory of the block, where each thread finds its own packs.
  bool shared(int access) const { return mapping_.in_shared && uses_[access] > 1 && packs(access); }
  void note_uses(int v, std::vector<bool>& seen, std::vector<bool>& loads) const;

  std::string at(const Access& access) const;
  std::string inside(const Access& access, bool lanes) const;
  std::string position(AxisId axis, Dtype dtype) const;
  std::string load_pack(Scope& scope, int access) const;
  std::string load_element(Scope& scope, int access) const;
  std::string load_apart(Scope& scope, int access) const;
  std::string operand(Scope& scope, const KernelValue& value, int i) const;
  std::string value(Scope& scope, int v) const;
  std::string computed(Scope& scope, int v) const;
  std::string of_half(int v, const std::vector<std::string>& operands) const;
  std::string half_quotient(const KernelValue& value, const std::vector<std::string>& operands) const;
  void scan_along(Scope& scope, int v) const;
  std::string scan_down(Scope& scope, int v) const;
  int pack_compared(int v) const;
  bool compares_pairs(int v) const;
  std::string pair_type(int v) const;
  void compare_pairs(Scope& scope, int v) const;
  void accumulate(Scope& scope, int v) const;
  void accumulate_online(Scope& scope, int v, const std::string& a, const std::string& when) const;
  void store(Scope& scope, int access, const std::string& name, const std::string& guard) const;

  const Kernel& kernel_;
  const Nest& nest_;
  const Passes& passes_;
  const Mapping& mapping_;
  std::vector<int> uses_, first_sweep_;  // per access: sweeps that load it, and the first of them
  std::vector<bool> coarse_;             // per value: what f32 has beyond a half dtype is lost later
};

}  // namespace autoperfect::schedule::cuda
