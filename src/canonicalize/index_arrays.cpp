#include "canonicalize/index_arrays.h"

#include <algorithm>

#include "canonicalize/views.h"
#include "ir/lossless.h"

namespace autoperfect {

namespace {

bool is_moving(Op op) {
  return op == Op::broadcast || op == Op::reshape || op == Op::transpose;
}

bool is_widening(const Rewriter& to, const Node& node) {
  if (node.op != Op::cast) return false;
  const Dtype from = to.type(node.operands[0]).dtype, dtype = to.type(node.results[0]).dtype;
  return is_integer(from) && is_integer(dtype) && is_lossless(from, dtype);
}

// What the elements come from: before views and conversions.
ValueId origin(const Rewriter& to, ValueId v) {
  while (const Node* node = to.producer(v)) {
    if (!is_moving(node->op) && !is_widening(to, *node)) break;
    v = node->operands[0];
  }
  return v;
}

// A range of whole numbers from 0.
bool is_count(const Node* node) {
  return node && node->op == Op::arange && node->attributes.get<double>("start") == 0 &&
         node->attributes.get<double>("step") == 1;
}

}  // namespace

IndexArray index_array(const Rewriter& to, ValueId value) {
  const Shape& shape = to.shape(value);
  const Node* view = to.producer(value, Op::broadcast);
  const ValueId once = view ? view->operands[0] : value;
  const Shape& narrow = to.shape(once);
  IndexArray index{value, once, std::vector<bool>(shape.size(), false)};
  const size_t added = shape.size() - narrow.size();
  for (size_t d = 0; d < narrow.size(); ++d)
    index.varies[d + added] = narrow[d] != 1;
  return index;
}

std::optional<int64_t> constant_index(const Rewriter& to, const IndexArray& index) {
  const Node* node = to.producer(index.once);
  while (node && node->op == Op::reshape)
    node = to.producer(node->operands[0]);
  if (!node || node->op != Op::constant) return std::nullopt;
  const auto* value = std::get_if<int64_t>(node->attributes.find("value"));
  if (!value) return std::nullopt;
  return *value;
}

std::optional<size_t> counted_axis(const Rewriter& to, const IndexArray& index, int64_t size) {
  const auto first = std::find(index.varies.begin(), index.varies.end(), true);
  if (first == index.varies.end() || std::count(first, index.varies.end(), true) != 1) return std::nullopt;
  const Node* node = to.producer(index.once);
  if (node && node->op == Op::reshape) node = to.producer(node->operands[0]);
  if (!is_count(node) || node->attributes.get<int64_t>("size") != size) return std::nullopt;
  return first - index.varies.begin();
}

ValueId narrowed(Rewriter& to, const IndexArray& index, const std::vector<bool>& kept) {
  Shape shape = to.shape(index.value);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!kept[d]) shape[d] = 1;
  }
  return to.add_broadcast(index.once, std::move(shape), "_index");
}

Dtype dtype_before_casts(const Rewriter& to, ValueId index) {
  return to.type(origin(to, index)).dtype;
}

bool counts(const Rewriter& to, ValueId index) {
  return is_count(to.producer(origin(to, index)));
}

bool may_have_dtype(const Rewriter& to, ValueId index, Dtype dtype) {
  const ValueId from = origin(to, index);
  if (!counts(to, index)) return to.type(from).dtype == dtype;
  const auto last = static_cast<double>(to.type(from).elements());
  return holds(to.type(from).dtype, 0, last) && holds(dtype, 0, last);
}

ValueId without_casts(Rewriter& to, ValueId index, Dtype dtype) {
  const Node* producer = to.producer(index);
  if (!producer) return index;
  const Node node = *producer;
  if (is_count(&node)) return to.add_cast(index, dtype, "_index");
  if (is_widening(to, node)) return without_casts(to, node.operands[0], dtype);
  if (!is_moving(node.op)) return index;
  return to.add(node.op, {without_casts(to, node.operands[0], dtype)}, node.attributes, "_index");
}

}  // namespace autoperfect
