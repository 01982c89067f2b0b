// Random small well-typed graphs over many ops and dtypes, and tensors to run them on.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "ir/graph.h"
#include "reference/reference.h"

namespace autoperfect {

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph build() {
    for (int i = 0; i < 3; ++i)
      graph_.add_input("x", {pick(dtypes), pick(shapes)});
    const int wanted = 4 + draw(20);
    for (int tries = 0; tries < 400 && static_cast<int>(graph_.nodes.size()) < wanted; ++tries)
      add();
    for (int i = 0; i < 2; ++i)
      graph_.outputs.push_back(draw(static_cast<int>(graph_.values.size())));
    graph_.outputs.push_back(static_cast<ValueId>(graph_.values.size()) - 1);
    return graph_;
  }

  Tensor tensor(const TensorType& type) {
    Tensor tensor = Tensor::zeros(type);
    std::normal_distribution<double> normal(0, 2);
    const double special[] = {0.0, -0.0, 1, INFINITY, -INFINITY, NAN, 1e-40};
    for (int64_t i = 0; i < type.elements(); ++i) {
      if (is_floating(type.dtype)) {
        tensor.set(i, draw(8) == 0 ? special[draw(7)] : normal(random_));
      } else {
        tensor.set_integer(i, draw(11) - 5);
      }
    }
    return tensor;
  }

 private:
  static inline const std::vector<Shape> shapes = {
      {2, 3, 4}, {3, 4}, {4}, {}, {2, 1, 4}, {3, 1}, {1}, {6, 4}, {2, 3, 1, 4}, {1, 3, 4}, {4, 4}, {0, 4}};
  static inline const std::vector<Dtype> dtypes = {
      Dtype::f32,
      Dtype::f32,
      Dtype::f16,
      Dtype::bf16,
      Dtype::i32,
      Dtype::u8,
      Dtype::bool_,
      Dtype::i64,
      Dtype::f64};

  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(draw(static_cast<int>(from.size())))];
  }
  ValueId value() { return draw(static_cast<int>(graph_.values.size())); }

  void add_if_typed(Op op, std::vector<ValueId> operands, Attributes attributes = {}) {
    std::vector<TensorType> types;
    for (auto v : operands)
      types.push_back(graph_.type(v));
    auto result = infer_types(op, types, attributes);
    if (result && (*result)[0].elements() <= 64) graph_.add(op, operands, attributes);
  }

  void add() {
    switch (draw(17)) {
      case 14:
        return add_pad();
      case 15:
        return add_update();
      case 16:
        return add_gather();
      case 10:
        return add_range();
      case 11:
        return add_view();
      case 12:
        return add_concatenation();
      case 13:
        return add_contraction();
      case 0:
        return add_constant();
      case 1:
        return add_view();
      case 2:
        return add_cast();
      case 3:
        return add_reduction();
      case 4:
        return add_composite();
      case 5:
        return add_if_typed(Op::copy, {value()});
      default:
        return add_elementwise();
    }
  }

  void add_constant() {
    const double values[] = {0.0, -0.0, 1, 0.1, 2, -3, INFINITY, NAN};
    const Dtype dtype = pick(dtypes);
    const double constant = is_floating(dtype) ? values[draw(8)] : draw(3);
    const ValueId scalar = graph_.add_constant(constant, dtype);
    if (draw(3) == 0) {
      Attributes attributes;
      attributes.set("shape", pick(shapes));
      add_if_typed(draw(2) ? Op::full : Op::broadcast, {scalar}, attributes);
    } else if (draw(3) == 0) {
      Attributes list;
      list.set("dtype", Dtype::f32);
      list.set("shape", Shape{2, 2});
      list.set("value", std::vector<double>{0.1, 2, draw(2) ? 0.1 : 3.0, 0.1});
      add_if_typed(Op::constant, {}, list);
    }
  }

  void add_range() {
    Attributes attributes;
    attributes.set("start", draw(2) ? 0.0 : 2.0);
    attributes.set("step", draw(2) ? 1.0 : -0.5);
    attributes.set("size", int64_t{4});
    attributes.set("dtype", pick(dtypes));
    add_if_typed(Op::arange, {}, attributes);
  }

  void add_concatenation() {
    const ValueId v = value();
    const int rank = graph_.type(v).rank();
    if (rank == 0) return;
    Attributes attributes;
    attributes.set("axis", static_cast<int64_t>(draw(rank)));
    std::vector<ValueId> operands{v};
    for (int i = draw(3); i > 0; --i)
      operands.push_back(draw(2) ? v : value());
    add_if_typed(Op::concatenate, operands, attributes);
  }

  void add_pad() {
    const ValueId v = value();
    const Shape& shape = graph_.type(v).shape;
    const Dtype dtype = graph_.type(v).dtype;
    std::vector<int64_t> axes, low, high;
    for (size_t d = shape.size(); d-- > 0;) {
      if (draw(3) == 0) continue;
      axes.push_back(static_cast<int64_t>(d));
      low.push_back(draw(3) ? 0 : draw(3));
      high.push_back(draw(3) ? 0 : draw(3));
    }
    Attributes attributes;
    attributes.set("axes", axes);
    attributes.set("low", low);
    attributes.set("high", high);
    ValueId scalar = value();
    if (graph_.type(scalar).rank() > 0 || graph_.type(scalar).dtype != dtype)
      scalar = graph_.add_constant(draw(2), dtype);
    add_if_typed(Op::pad, {v, scalar}, attributes);
  }

  // Of part of a value: what another has there, the part itself, or what it is cut from.
  void add_update() {
    const ValueId v = value();
    const Shape shape = graph_.type(v).shape;
    std::vector<int64_t> start, stop, strides;
    for (int64_t size : shape) {
      const bool is_whole = draw(2);
      start.push_back(is_whole ? 0 : draw(3));
      stop.push_back(is_whole ? size : start.back() + 1 + draw(3));
      strides.push_back(is_whole || draw(3) ? 1 : 2);
      if (draw(6)) continue;
      start.back() = -1;
      stop.back() = -100;
      strides.back() = -1;
    }
    Attributes attributes;
    attributes.set("start", start);
    attributes.set("stop", stop);
    attributes.set("strides", strides);
    auto part = infer_types(Op::slice, {graph_.type(v)}, attributes);
    if (!part) return;
    ValueId update = graph_.add(Op::slice, {v}, attributes);
    const bool is_bool = graph_.type(v).dtype == Dtype::bool_;
    if (draw(2)) update = graph_.add(is_bool ? Op::logical_not : Op::square, {update});
    if (draw(4) == 0) attributes.set("reduce", std::string(draw(2) ? "sum" : "max"));
    ValueId onto = v;
    if (draw(3) == 0) {
      Attributes wide;
      wide.set("shape", shape);
      onto = graph_.add(Op::broadcast, {graph_.add_constant(0, graph_.type(v).dtype)}, wide);
    }
    add_if_typed(Op::slice_update, {onto, update}, attributes);
  }

  // Index arrays that count, repeat, are constant or data, and exist.
  void add_gather() {
    const ValueId v = value();
    const Shape shape = graph_.type(v).shape;
    if (shape.empty() || graph_.type(v).elements() == 0) return;
    const Shape at =
        draw(2) ? Shape{2, 3} : Shape{shape[static_cast<size_t>(draw(static_cast<int>(shape.size())))]};
    const Dtype dtype = draw(2) ? Dtype::i32 : Dtype::i64;
    std::vector<ValueId> operands{v};
    std::vector<int64_t> axes, sizes = shape;
    for (size_t d = shape.size(); d-- > 0;) {
      if (draw(2)) {
        if (draw(6) == 0 && sizes[d] > 1) --sizes[d];
        continue;
      }
      axes.push_back(static_cast<int64_t>(d));
      sizes[d] = 1;
      operands.push_back(index(at, shape[d], dtype));
    }
    Attributes attributes;
    attributes.set("axes", axes);
    attributes.set("sizes", sizes);
    add_if_typed(Op::gather, operands, attributes);
  }

  ValueId index(const Shape& at, int64_t size, Dtype dtype) {
    Attributes cast, range, wide, list;
    cast.set("dtype", dtype);
    wide.set("shape", at);
    const auto d = static_cast<size_t>(draw(static_cast<int>(at.size())));
    Shape column(at.size(), 1);
    column[d] = at[d];
    ValueId from = -1;
    switch (at[d] == 1 ? 0 : draw(size >= at[d] ? 4 : 3)) {
      case 0:
        from = graph_.add_constant(draw(static_cast<int>(size)) - draw(2) * static_cast<double>(size), dtype);
        break;
      case 1: {
        list.set("dtype", Dtype::u8);
        list.set("shape", Shape{at[d]});
        std::vector<int64_t> numbers;
        for (int64_t i = 0; i < at[d]; ++i)
          numbers.push_back(draw(static_cast<int>(size)));
        list.set("value", numbers);
        from = graph_.add(Op::constant, {}, list);
        break;
      }
      case 2: {
        Attributes axis;
        axis.set("axis", int64_t{0});
        Attributes square;
        square.set("shape", Shape{size, at[d]});
        const ValueId scalar = graph_.add_constant(2, Dtype::f32);
        from = graph_.add(Op::argmax, {graph_.add(Op::broadcast, {scalar}, square)}, axis);
        break;
      }
      default:
        range.set("start", 0.0);
        range.set("step", 1.0);
        range.set("size", at[d]);
        range.set("dtype", draw(2) ? Dtype::u32 : Dtype::i32);
        from = graph_.add(Op::arange, {}, range);
    }
    if (graph_.type(from).dtype != dtype) from = graph_.add(Op::cast, {from}, cast);
    if (graph_.type(from).rank() > 0) {
      Attributes shaped;
      shaped.set("shape", column);
      from = graph_.add(Op::reshape, {from}, shaped);
    }
    return graph_.type(from).shape == at ? from : graph_.add(Op::broadcast, {from}, wide);
  }

  void add_contraction() {
    if (draw(2)) return add_if_typed(Op::matmul, {value(), value()});
    const ValueId v = value();
    const int rank = graph_.type(v).rank();
    if (rank == 0) return;
    Attributes attributes;
    attributes.set("axis", static_cast<int64_t>(draw(rank)));
    if (graph_.type(v).elements() == 0) return;
    Attributes indices = attributes;  // they must exist
    indices.set("keepdims", true);
    add_if_typed(Op::gather_axis, {v, graph_.add(Op::argmax, {v}, indices)}, attributes);
  }

  // Neighbouring axes merged, or one split, or ones added and dropped.
  Shape regrouped(Shape shape) {
    const int rank = static_cast<int>(shape.size());
    if (draw(3) == 0) shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
    if (shape.size() >= 2 && draw(2)) {
      const int d = draw(static_cast<int>(shape.size()) - 1);
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else if (!shape.empty() && draw(2)) {
      const int d = draw(static_cast<int>(shape.size()));
      if (shape[d] % 2 == 0 && shape[d] > 0) {
        shape[d] /= 2;
        shape.insert(shape.begin() + d, 2);
      }
    }
    if (draw(3) == 0 && rank < 5) shape.insert(shape.begin() + draw(static_cast<int>(shape.size()) + 1), 1);
    return shape;
  }

  void add_view() {
    const ValueId v = value();
    const Shape shape = graph_.type(v).shape;
    const int rank = static_cast<int>(shape.size());
    Attributes attributes;
    switch (draw(4)) {
      case 0:
        attributes.set("shape", pick(shapes));
        return add_if_typed(Op::broadcast, {v}, attributes);
      case 1: {
        attributes.set("shape", regrouped(shape));
        return add_if_typed(Op::reshape, {v}, attributes);
      }
      case 2: {
        std::vector<int64_t> axes;
        for (int d = 0; d < rank; ++d)
          axes.insert(axes.begin() + draw(d + 1), d);
        attributes.set("axes", axes);
        return add_if_typed(Op::transpose, {v}, attributes);
      }
      default: {
        std::vector<int64_t> start, stop, strides;
        for (int d = 0; d < rank; ++d) {
          start.push_back(draw(5) - 2);
          stop.push_back(draw(2) ? 100 : draw(8) - 5);
          strides.push_back(draw(3) ? 1 : draw(2) ? 2 : -1);
        }
        attributes.set("start", start);
        attributes.set("stop", stop);
        attributes.set("strides", strides);
        return add_if_typed(Op::slice, {v}, attributes);
      }
    }
  }

  void add_cast() {
    Attributes attributes;
    attributes.set("dtype", pick(dtypes));
    add_if_typed(Op::cast, {value()}, attributes);
  }

  void add_reduction() {
    const std::vector<Op> ops = {Op::sum, Op::prod, Op::max, Op::min, Op::any, Op::all, Op::argmax};
    const Op op = pick(ops);
    const ValueId v = value();
    const int rank = graph_.type(v).rank();
    Attributes attributes;
    if (rank == 0) return;
    if (op == Op::argmax) {
      attributes.set("axis", static_cast<int64_t>(draw(rank)));
    } else {
      attributes.set("axes", std::vector<int64_t>{draw(rank)});
    }
    if (draw(2)) attributes.set("keepdims", draw(2) == 1);
    add_if_typed(op, {v}, attributes);
  }

  void add_composite() {
    const std::vector<Op> ops = {Op::softmax, Op::log_softmax, Op::logsumexp, Op::mean, Op::var, Op::std};
    const Op op = pick(ops);
    const ValueId v = value();
    if (graph_.type(v).rank() == 0) return;
    Attributes attributes;
    if (op == Op::softmax && draw(2)) attributes.set("precise", draw(2) == 1);
    if (op == Op::mean || op == Op::var || op == Op::std) {
      attributes.set("axes", std::vector<int64_t>{draw(graph_.type(v).rank())});
      attributes.set("keepdims", draw(2) == 1);
      if (op != Op::mean) attributes.set("ddof", static_cast<int64_t>(draw(6)));
    }
    add_if_typed(op, {v}, attributes);
  }

  void add_elementwise() {
    static const std::vector<Op> ops = [] {
      std::vector<Op> all;
      for (int i = 0; i <= static_cast<int>(Op::opaque); ++i) {
        const auto op = static_cast<Op>(i);
        if (class_of(op) == OpClass::elementwise && op != Op::cast) all.push_back(op);
      }
      return all;
    }();
    const Op op = draw(3) ? pick(ops) : draw(2) ? Op::mul : Op::add;
    std::vector<ValueId> operands;
    for (int i = 0; i < arity(op); ++i)
      operands.push_back(value());
    add_if_typed(op, operands);
  }

  std::mt19937 random_;
  Graph graph_;
};

}  // namespace autoperfect
