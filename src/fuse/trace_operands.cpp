// What one element of an op's result reads, as index maps: one function a kind of op.
#include <algorithm>

#include "fuse/legal.h"
#include "fuse/tracer.h"

namespace autoperfect {

void Tracer::add_operand(int instance, ValueId value, IndexMap map) {
  int id = demand(value, std::move(map));
  trace_.instances[instance].operands.push_back(id);
}

void Tracer::expand(int instance) {
  const Node& node = graph_.nodes[trace_.instances[instance].node];
  switch (class_of(node.op)) {
    case OpClass::elementwise:
      return expand_elementwise(node, instance);
    case OpClass::reduction:
      return expand_reduction(node, instance);
    case OpClass::scan:
      return expand_scan(node, instance);
    default:
      break;
  }
  switch (node.op) {
    case Op::matmul:
    case Op::addmm:
      return expand_matmul(node, instance);
    case Op::concatenate:
      return expand_concatenate(node, instance);
    case Op::pad:
      return expand_pad(node, instance);
    case Op::slice_update:
      return expand_slice_update(node, instance);
    case Op::gather:
      return expand_gather(node, instance);
    case Op::gather_axis:
      return expand_gather_axis(node, instance);
    case Op::scatter:
    case Op::scatter_axis:
      return expand_scatter(node, instance);
    default:
      refuse(std::string(name(node.op)) + " has no index map");
  }
}

void Tracer::expand_elementwise(const Node& node, int instance) {
  for (ValueId v : node.operands)
    add_operand(instance, v, through_broadcast(graph_.type(v).shape, trace_.instances[instance].map));
}

void Tracer::expand_reduction(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto& shape = graph_.type(node.operands[0]).shape;
  auto dims = reduced_dims(node);
  bool keep = node.attributes.get_or("keepdims", false);
  IndexMap operand(shape.size());
  std::vector<AxisId> reduced;
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end()) {
      operand[d] = map[next++];
      continue;
    }
    next += keep;
    if (shape[d] == 1) continue;
    reduced.push_back(space_.fresh(shape[d]));
    operand[d].affine.terms = {{reduced.back(), 1}};
  }
  if (reduced.empty()) {
    bool keeps_dtype = graph_.type(node.operands[0]).dtype == graph_.type(node.results[0]).dtype;
    bool argument = node.op == Op::argmax || node.op == Op::argmin;
    if (argument || !keeps_dtype) return refuse("reduction over axes of size 1 only");
    trace_.instances[instance].op = Op::copy;
    return add_operand(instance, node.operands[0], std::move(operand));
  }
  if (node.op == Op::argmax || node.op == Op::argmin) space_.keep_whole(reduced[0]);
  auto independent = axes_of(map);
  independent.insert(independent.end(), reduced.begin(), reduced.end());
  space_.keep_independent(std::move(independent));
  trace_.instances[instance].reduced = std::move(reduced);
  add_operand(instance, node.operands[0], std::move(operand));
}

void Tracer::expand_scan(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto d = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  bool inclusive = node.attributes.get_or("inclusive", true);
  if (graph_.type(node.results[0]).shape[d] == 1 && inclusive) {
    trace_.instances[instance].op = Op::copy;
    return add_operand(instance, node.operands[0], std::move(map));
  }
  Affine along = space_.resolve(map[d].affine);
  bool whole = map[d].gathered < 0 && along.offset == 0 && along.terms.size() == 1 &&
               along.terms[0].second == 1 &&
               space_.size(along.terms[0].first) == graph_.type(node.results[0]).shape[d];
  if (!whole) return refuse(std::string(name(node.op)) + " is not read along its whole axis in order");
  AxisId axis = along.terms[0].first;
  for (size_t other = 0; other < map.size(); ++other) {
    auto axes = axes_of({map[other]});
    if (other != d && std::find(axes.begin(), axes.end(), axis) != axes.end())
      return refuse(std::string(name(node.op)) + " is read at an index that changes along it");
  }
  space_.keep_whole(axis);
  space_.keep_independent(axes_of(map));
  trace_.instances[instance].scanned = axis;
  add_operand(instance, node.operands[0], std::move(map));
}

// [.., m, k] by [.., k, n], where batches broadcast.
void Tracer::expand_matmul(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto& left = graph_.type(node.operands[0]).shape;
  auto& right = graph_.type(node.operands[1]).shape;
  if (left.size() < 2 || right.size() < 2) return refuse("matmul of a vector");
  IndexMap a = map, b = map;
  a.back() = b[b.size() - 2] = {};
  if (left.back() == 1) {
    if (node.op == Op::addmm) return refuse("addmm over an axis of size 1");
    trace_.instances[instance].op = Op::mul;
  } else {
    AxisId k = space_.fresh(left.back());
    space_.keep_whole(k);
    a.back() = b[b.size() - 2] = {{0, {{k, 1}}}, -1};
    auto independent = axes_of(map);
    independent.push_back(k);
    space_.keep_independent(std::move(independent));
    trace_.instances[instance].reduced = {k};
  }
  add_operand(instance, node.operands[0], through_broadcast(left, a));
  add_operand(instance, node.operands[1], through_broadcast(right, b));
  if (node.op == Op::addmm)
    add_operand(instance, node.operands[2], through_broadcast(graph_.type(node.operands[2]).shape, map));
}

// Where the index stays within one operand, that is what is read; else each is read where it lies, and one of
// them taken.
void Tracer::expand_concatenate(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  if (map[axis].gathered >= 0) return refuse("a gather from a concatenation");
  int64_t start = 0;
  auto [lowest, highest] = space_.range(space_.resolve(map[axis].affine));
  for (ValueId v : node.operands) {
    int64_t size = graph_.type(v).shape[axis];
    IndexMap piece = map;
    piece[axis].affine.offset -= start;
    if (highest < start || lowest >= start + size) {
      trace_.instances[instance].operands.push_back(-1);
    } else {
      add_operand(instance, v, std::move(piece));
    }
    start += size;
  }
}

// Not read where no index that is asked for lies within it.
void Tracer::add_operand_inside(int instance, ValueId value, IndexMap map) {
  auto& shape = graph_.type(value).shape;
  for (size_t d = 0; d < map.size(); ++d) {
    if (map[d].gathered >= 0) continue;
    auto [lowest, highest] = space_.range(space_.resolve(map[d].affine));
    if (highest < 0 || lowest >= shape[d]) {
      trace_.instances[instance].operands.push_back(-1);
      return;
    }
  }
  add_operand(instance, value, std::move(map));
}

// x where it lies, the padding elsewhere.
void Tracer::expand_pad(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  auto& low = node.attributes.get<std::vector<int64_t>>("low");
  for (size_t k = 0; k < axes.size(); ++k) {
    auto& index = map[static_cast<size_t>(axes[k])];
    if (index.gathered >= 0) return refuse("a gather from a padded axis");
    index.affine.offset -= low[k];
  }
  add_operand_inside(instance, node.operands[0], std::move(map));
  add_operand(instance, node.operands[1], IndexMap(graph_.type(node.operands[1]).shape.size()));
}

// The update where it lies, x elsewhere.
void Tracer::expand_slice_update(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  IndexMap inside = map;
  auto& start = node.attributes.get<std::vector<int64_t>>("start");
  auto& strides = node.attributes.get<std::vector<int64_t>>("strides");
  auto& shape = graph_.type(node.operands[1]).shape;
  if (shape.size() != map.size()) return refuse("slice_update broadcasts its update");
  for (size_t d = 0; d < map.size(); ++d) {
    bool whole = shape[d] == graph_.type(node.operands[0]).shape[d];
    if (strides[d] != 1 || start[d] < 0) return refuse("slice_update in steps");
    if (map[d].gathered >= 0 && !whole) return refuse("a gather from an updated axis");
    inside[d].affine.offset -= start[d];
  }
  add_operand(instance, node.operands[0], std::move(map));
  add_operand_inside(instance, node.operands[1], std::move(inside));
}

// The index arrays come first among the dimensions, then the slices that are taken.
void Tracer::expand_gather(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto& axes = node.attributes.get<std::vector<int64_t>>("axes");
  auto& sizes = node.attributes.get<std::vector<int64_t>>("sizes");
  IndexMap at(map.begin(), map.end() - static_cast<int64_t>(sizes.size()));
  IndexMap operand(map.end() - static_cast<int64_t>(sizes.size()), map.end());
  for (size_t k = 0; k < axes.size(); ++k) {
    auto axis = static_cast<size_t>(axes[k]);
    if (sizes[axis] != 1) return refuse("gather of slices along the axis of the index");
    if (graph_.type(node.operands[0]).shape[axis] == 1) continue;
    operand[axis] = {
        {}, demand(node.operands[k + 1], through_broadcast(graph_.type(node.operands[k + 1]).shape, at))};
  }
  add_operand(instance, node.operands[0], std::move(operand));
}

void Tracer::expand_gather_axis(const Node& node, int instance) {
  IndexMap map = trace_.instances[instance].map;
  auto axis = static_cast<size_t>(node.attributes.get<int64_t>("axis"));
  int at = demand(node.operands[1], through_broadcast(graph_.type(node.operands[1]).shape, map));
  map[axis] = {{}, at};
  add_operand(instance, node.operands[0], through_broadcast(graph_.type(node.operands[0]).shape, map));
}

}  // namespace autoperfect
