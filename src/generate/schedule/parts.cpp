#include "generate/schedule/parts.h"

#include <algorithm>
#include <set>

#include "generate/schedule/access.h"
#include "generate/schedule/body.h"
#include "generate/schedule/extract.h"
#include "generate/schedule/frame.h"
#include "generate/schedule/passes.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule {
namespace {

// Outputs computed in the same loops.
struct Group {
  std::vector<KernelValueId> outputs;
  std::vector<bool> cone;
  std::set<AxisId> swept;     // reduced or scanned
  std::set<AxisId> parallel;  // all others
};

class Splitter {
 public:
  explicit Splitter(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<Kernel> run() {
    for (size_t v = 0; v < kernel_.values.size(); ++v)
      if (kernel_.values[v].output >= 0) place(static_cast<KernelValueId>(v));
    std::vector<Kernel> parts;
    for (auto& group : groups_) {
      Kernel part = kernel_;
      for (size_t v = 0; v < part.values.size(); ++v) {
        bool own =
            std::find(group.outputs.begin(), group.outputs.end(), static_cast<int>(v)) != group.outputs.end();
        if (!own) part.values[v].output = -1, part.values[v].store.clear();
      }
      std::vector<KernelValueId> moved;
      parts.push_back(keep_values(part, group.cone, moved));
    }
    return parts;
  }

 private:
  Group make(std::vector<KernelValueId> outputs) const {
    Group group;
    group.cone = cone_of(kernel_, outputs);
    group.outputs = std::move(outputs);
    for (size_t v = 0; v < group.cone.size(); ++v) {
      if (!group.cone[v]) continue;
      auto& value = kernel_.values[v];
      group.swept.insert(value.reduced.begin(), value.reduced.end());
      if (value.scanned >= 0) group.swept.insert(value.scanned);
      group.parallel.insert(value.axes.begin(), value.axes.end());
    }
    for (AxisId axis : group.swept)
      group.parallel.erase(axis);
    return group;
  }

  // Each output varies over all axes outside the sweeps, so none is computed twice; and each reduction is
  // over before the next begins; scans go the same way.
  bool fits(const Group& group) const {
    for (KernelValueId v : group.outputs)
      for (AxisId axis : group.parallel)
        if (!varies(v, axis)) return false;
    for (size_t v = 0; v < group.cone.size(); ++v)
      if (group.cone[v] && is_reduction(kernel_.values[v]))
        for (AxisId axis : kernel_.values[v].axes)
          if (group.swept.count(axis)) return false;
    return scans_agree(group);
  }
  bool scans_agree(const Group& group) const {
    const KernelValue* first = nullptr;
    for (size_t v = 0; v < group.cone.size(); ++v) {
      auto& value = kernel_.values[v];
      if (!group.cone[v] || !is_scan(value)) continue;
      if (!first) first = &value;
      if (value.scanned != first->scanned || is_reverse(value) != is_reverse(*first)) return false;
    }
    return true;
  }
  bool varies(KernelValueId v, AxisId axis) const {
    auto& axes = kernel_.values[v].axes;
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }

  void place(KernelValueId output) {
    for (auto& group : groups_) {
      auto outputs = group.outputs;
      outputs.push_back(output);
      Group joined = make(std::move(outputs));
      if (!fits(joined)) continue;
      group = std::move(joined);
      return;
    }
    groups_.push_back(make({output}));
  }

  const Kernel& kernel_;
  std::vector<Group> groups_;
};

// Over the axes of a launch, as text.
std::string units_text(const Kernel& kernel, const Launch& launch) {
  std::string text = "1l";
  for (AxisId axis : launch.parallel)
    text += " * " + size_of(kernel, axis).text();
  return text;
}

int64_t units_of(const Kernel& kernel, const Launch& launch) {
  int64_t units = 1;
  for (AxisId axis : launch.parallel)
    units *= kernel.axes[axis].size;
  return units;
}

int64_t elements_of(const Kernel& kernel) {
  int64_t most = 1;
  for (auto& value : kernel.values) {
    int64_t elements = 1;
    for (auto* axes : {&value.axes, &value.reduced})
      for (AxisId axis : *axes)
        elements *= kernel.axes[axis].size;
    most = std::max(most, elements);
  }
  return most;
}

int64_t partial_room(const Written& part) {
  return (part.launch.partial_bytes + 63) / 64 * 64;
}

}  // namespace

std::vector<Kernel> split_into_parts(const Kernel& kernel) {
  return Splitter(kernel).run();
}

Written join_parts(const std::vector<Kernel>& parts, const std::vector<Written>& written) {
  size_t first = 0;
  int64_t elements = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    elements += elements_of(parts[p]);
    if (units_of(parts[p], written[p].launch) > units_of(parts[first], written[first].launch)) first = p;
  }
  Written joined;
  Launch& launch = joined.launch;
  launch = written[first].launch;
  int64_t units = units_of(parts[first], launch);
  constexpr int64_t elements_a_chunk = 16384;
  launch.grain = std::max<int64_t>(launch.align, elements_a_chunk * units / std::max<int64_t>(elements, 1));
  launch.partial_bytes = 0;
  for (auto& part : written)
    launch.partial_bytes += partial_room(part);
  std::string calls, finishes;
  int64_t partial = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    auto& own = written[p].launch;
    std::string number = std::to_string(p), at = " + " + std::to_string(partial) + ", ";
    joined.source += renamed(written[p].source, number, own.partial_bytes, launch.partial_bytes);
    std::string share = ", units, " + units_text(parts[p], own) + ", " + std::to_string(own.align) + ")";
    calls += "  part" + number + "(in, out, scratch, (char*)partial" + at + "dims, ap::share(begin" + share +
             ", ap::share(end" + share + ");\n";
    if (own.partial_bytes)
      finishes += "  finish" + number + "(in, out, (const char*)partials" + at + "chunks, dims);\n";
    partial += partial_room(written[p]);
    launch.scratch_bytes = std::max(launch.scratch_bytes, own.scratch_bytes);
  }
  joined.source += signature_text + dim_names(parts[first], 1) +
                   "  const long units = " + units_text(parts[first], written[first].launch) + ";\n" + calls +
                   "}\n";
  if (launch.partial_bytes) joined.source += finish_text + finishes + "}\n";
  return joined;
}

}  // namespace autoperfect::schedule
