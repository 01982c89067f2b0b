// A scatter as index maps: an element of its result is x there, or what landed on it last. Every update that
// may be for the element is an operand, with the indices that say whether it is: x, then update by update the
// index arrays that are compared and the update itself.
#include <algorithm>

#include "fuse/legal.h"
#include "fuse/tracer.h"

namespace autoperfect {
namespace {

// Of all scatters of a kernel: each is some ten statements.
constexpr int64_t most_landings_together = 96;

}  // namespace

// MLX runs the same ops on made up indices, to be timed, and would write where they say: what a kernel
// computes them with must not make invalid ones of valid ones.
bool Tracer::stays_an_index(ValueId index, int64_t size) const {
  std::vector<ValueId> seen{index};
  auto also = [&](ValueId v) {
    if (std::find(seen.begin(), seen.end(), v) == seen.end()) seen.push_back(v);
  };
  for (size_t next = 0; next < seen.size(); ++next) {
    if (!is_integer(graph_.type(seen[next]).dtype)) return false;
    int n = position_of(base_of(graph_, seen[next]));
    if (n < 0) continue;
    const Node& node = graph_.nodes[nodes_[n]];
    switch (node.op) {
      case Op::argmax:
      case Op::argmin:
        if (graph_.type(node.operands[0]).shape[static_cast<size_t>(reduced_dims(node)[0])] > size)
          return false;
        break;
      case Op::gather:
      case Op::gather_axis:
        also(node.operands[0]);
        break;
      case Op::select:
        also(node.operands[1]);
        also(node.operands[2]);
        break;
      case Op::cast:
      case Op::copy:
      case Op::stop_gradient:
      case Op::concatenate:
      case Op::maximum:
      case Op::minimum:
        for (ValueId v : node.operands)
          also(v);
        break;
      default:
        return false;
    }
  }
  return true;
}

// `at`: where in the index arrays, one index a dimension of theirs that is not that of an element.
void Tracer::add_landing(const Node& node, int instance, const Landings& landings, const IndexMap& at) {
  IndexMap map = trace_.instances[instance].map;
  IndexMap update = at;
  if (node.op == Op::scatter_axis) {
    map[static_cast<size_t>(landings.axes[0])] = at[0];
    update = map;
  } else {
    for (int64_t axis : landings.axes)
      if (axis >= 0) map[static_cast<size_t>(axis)] = {};
    update.insert(update.end(), map.begin(), map.end());
  }
  for (size_t k : landings.compared)
    add_operand(instance, node.operands[k + 1], node.op == Op::scatter_axis ? map : at);
  add_operand(instance, node.operands.back(), std::move(update));
}

void Tracer::expand_scatter(const Node& node, int instance) {
  const IndexMap map = trace_.instances[instance].map;
  const Landings landings = landings_of(graph_, node);
  for (int64_t axis : landings.axes)
    if (axis >= 0 && map[static_cast<size_t>(axis)].gathered >= 0)
      return refuse("a gather from an axis that a scatter indexes");
  for (size_t k : landings.compared)
    if (!stays_an_index(
            node.operands[k + 1], graph_.type(node.operands[0]).shape[static_cast<size_t>(landings.axes[k])]))
      return refuse(
          "%" + graph_.values[node.operands[k + 1]].name + " is where a scatter writes, and is computed");
  landings_ += landings.updates;
  if (landings_ > most_landings_together)
    return refuse("over " + std::to_string(most_landings_together) + " updates would land in the kernel");
  add_operand(instance, node.operands[0], map);
  for (int64_t n = 0; n < landings.updates; ++n) {
    IndexMap at(landings.at.size());
    int64_t rest = n;
    for (size_t d = at.size(); d-- > 0;) {
      if (landings.counted[d] >= 0) {
        at[d] = map[static_cast<size_t>(landings.counted[d])];
      } else {
        at[d].affine.offset = rest % landings.at[d];
        rest /= landings.at[d];
      }
    }
    add_landing(node, instance, landings, at);
  }
  if (map.empty() || landings.updates <= most_landings_loaded) return;
  const auto fastest = axes_of({map.back()});
  const auto& operands = trace_.instances[instance].operands;
  for (auto operand = operands.begin() + 1; operand != operands.end(); ++operand)
    for (AxisId axis : axes_of(trace_.demands[*operand].index))
      if (std::find(fastest.begin(), fastest.end(), axis) != fastest.end())
        return refuse("each element would load " + std::to_string(landings.updates) + " updates of its own");
}

}  // namespace autoperfect
