// What kind of kernel a traced region is, and which kinds of work one kernel may hold.
//
//   elementwise, reductions   any number of reductions, all over the same axes, with elementwise work before,
//                             between and after them
//   scan                      scans along one axis, with elementwise work around them
//   contraction               one contraction, with elementwise work on its operands and on its result
//
// Views, concatenations, pads and gathers are loads, and go with all of them; so do scatters, which are
// choices between loads.
#include <algorithm>
#include <numeric>
#include <set>

#include "fuse/tracer.h"
#include "ir/shape.h"

namespace autoperfect {
namespace {

// Reductions over everything that read more are cut at the scalar, so that all cores share the sum.
constexpr int64_t single_unit_bytes = int64_t{1} << 22;

struct KindFinder {
  const Graph& graph;
  const Trace& trace;

  const Node& node(const Instance& instance) const { return graph.nodes[instance.node]; }
  static OpClass kind_of(const Instance& instance) { return class_of(instance.op); }

  // The axis along which the largest input is contiguous.
  AxisId fastest_axis() const;
  bool sweeps_twice() const;
  std::string why_not_reductions() const;
  std::string why_not_scans() const;
  std::string why_not_contraction() const;
};

AxisId KindFinder::fastest_axis() const {
  int64_t most = -1, least = -1;
  AxisId fastest = -1;
  for (auto& demand : trace.demands) {
    if (demand.kind != Demand::Kind::load) continue;
    int64_t bytes = graph.type(demand.value).bytes(), stride = 1;
    if (bytes < most) continue;
    auto& shape = graph.type(demand.value).shape;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      for (auto [axis, coefficient] : demand.index[d].affine.terms) {
        int64_t step = std::abs(coefficient) * stride;
        if (bytes == most && step >= least) continue;
        most = bytes, least = step, fastest = axis;
      }
    }
  }
  return fastest;
}

// Over everything: one scalar each. Elements computed from it again need a second sweep by one thread.
bool KindFinder::sweeps_twice() const {
  std::vector<bool> after(trace.instances.size(), false);
  for (size_t i = 0; i < trace.instances.size(); ++i) {
    auto& instance = trace.instances[i];
    bool reduces = !instance.reduced.empty();
    if (node(instance).op == Op::argmax || node(instance).op == Op::argmin) return true;
    bool reads = std::any_of(instance.operands.begin(), instance.operands.end(), [&](int d) {
      return d >= 0 && trace.demands[d].instance >= 0 && after[trace.demands[d].instance];
    });
    if (reads && (reduces || !instance.axes.empty())) return true;
    after[i] = reads || reduces;
  }
  return false;
}

std::string KindFinder::why_not_reductions() const {
  const Instance* first = nullptr;
  for (auto& instance : trace.instances) {
    if (instance.reduced.empty()) continue;
    if (first && first->reduced != instance.reduced) return "reductions over different axes";
    if (!first) first = &instance;
  }
  return "";
}

std::string KindFinder::why_not_scans() const {
  const Instance* first = nullptr;
  for (auto& instance : trace.instances) {
    if (!instance.reduced.empty()) return "a scan and a reduction are not one kernel";
    if (instance.scanned < 0) continue;
    if (first && first->scanned != instance.scanned) return "scans along different axes";
    if (!first) first = &instance;
  }
  return "";
}

std::string KindFinder::why_not_contraction() const {
  const Instance* contraction = nullptr;
  for (auto& instance : trace.instances) {
    if (instance.scanned >= 0) return "a contraction and a scan are not one kernel";
    if (instance.reduced.empty()) continue;
    if (kind_of(instance) != OpClass::gemm) return "a contraction and a reduction are not one kernel";
    if (contraction) return "one kernel holds one contraction";
    contraction = &instance;
  }
  for (auto& instance : trace.instances)
    if (instance.stored && instance.axes != contraction->axes)
      return "%" + graph.values[node(instance).results[0]].name +
             " would be handed out beside the result of the contraction, over other axes";
  return "";
}

}  // namespace

bool Tracer::holds(OpClass op_class) const {
  return std::any_of(trace_.instances.begin(), trace_.instances.end(), [&](auto& instance) {
    return KindFinder::kind_of(instance) == op_class;
  });
}

void Tracer::check_mixture() {
  KindFinder finder{graph_, trace_};
  auto why = holds(OpClass::gemm)   ? finder.why_not_contraction()
             : holds(OpClass::scan) ? finder.why_not_scans()
                                    : finder.why_not_reductions();
  if (!why.empty()) refuse(std::move(why));
}

void Tracer::find_kind() {
  KindFinder finder{graph_, trace_};
  auto settle = [&](RegionKind kind) { trace_.kind = kind; };
  if (holds(OpClass::gemm)) return settle(RegionKind::contraction);
  if (holds(OpClass::scan)) return settle(RegionKind::scan);
  if (!holds(OpClass::reduction)) return settle(RegionKind::elementwise);
  AxisId fastest = finder.fastest_axis();
  bool rows = fastest < 0 || trace_.reduced[fastest];
  settle(rows ? RegionKind::row_reduction : RegionKind::column_reduction);
  if (std::count(trace_.reduced.begin(), trace_.reduced.end(), false) > 0) return;
  if (!finder.sweeps_twice()) return settle(RegionKind::full_reduction);
  int64_t bytes = 0;
  for (ValueId v : trace_.inputs)
    bytes += graph_.type(v).bytes();
  if (bytes > single_unit_bytes)
    refuse("a reduction over everything is shared by all cores and ends its kernel");
}

}  // namespace autoperfect
