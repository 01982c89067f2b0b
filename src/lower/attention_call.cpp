#include "lower/attention_call.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "ir/scalar_semantics.h"

namespace autoperfect {
namespace {

using Mask = AttentionMatch::Mask;

Shape lead_of(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool all_ones(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t n) { return n == 1; });
}

Shape joined(Shape lead, int64_t rows, int64_t columns) {
  lead.insert(lead.end(), {rows, columns});
  return lead;
}

// With axes of size 1 in front, to that rank.
Shape padded(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank - std::min(rank, shape.size()), 1);
  return shape;
}

Diagnostic no_call(std::string why) {
  return {"lower", "no-attention-call", std::move(why), {}, ""};
}

// What the library's call has to know of the shapes in between.
struct Written {
  Shape product, masked, weights;  // of the scores, of what the mask is for, of what v is multiplied with
  double forbidden = 0;            // the score where a mask forbids
  ValueId condition = -1;          // of a causal mask
};

// Copies the nodes of a match into a graph of their own, at the given sizes.
class Copier {
 public:
  Copier(const Graph& from, const AttentionMatch& match, const AttentionSizes& sizes, Graph& to)
      : from_(from), match_(match), sizes_(sizes), to_(to) {}

  Written run(std::vector<ValueId>& inputs) {
    to_.name = "attention";
    auto add = [&](ValueId v, const char* name, int64_t rows, int64_t columns) {
      inputs.push_back(v);
      TensorType type = from_.type(v);
      type.dtype = dtype(type.dtype);
      resize_lead(type.shape);
      if (type.rank() > 0) type.shape.back() = columns;
      if (type.rank() > 1) type.shape.end()[-2] = rows;
      return to_.add_input(name, std::move(type));
    };
    const Shape &q = from_.type(match_.q).shape, &v = from_.type(match_.v).shape;
    copies_[match_.q] = add(match_.q, "q", sizes_.queries, q.back());
    copies_[match_.k_transposed] = add(match_.k_transposed, "kt", q.back(), sizes_.keys);
    value_ = add(match_.v, "v", sizes_.keys, v.back());
    if (match_.mask >= 0) {
      const Shape& mask = from_.type(match_.mask).shape;
      const bool per_query = mask.size() > 1 && mask.end()[-2] != 1;
      const bool per_key = !mask.empty() && mask.back() != 1;
      copies_[match_.mask] =
          add(match_.mask, "mask", per_query ? sizes_.queries : 1, per_key ? sizes_.keys : 1);
    }
    for (NodeId id : match_.nodes)
      copy(from_.nodes[id]);
    to_.outputs = {copies_.at(match_.result)};
    return std::move(written_);
  }

 private:
  Dtype dtype(Dtype own) const { return sizes_.wide && is_half(own) ? Dtype::f32 : own; }

  void resize_lead(Shape& shape) const {
    for (size_t d = 0; d < sizes_.lead.size() && d + 2 < shape.size(); ++d)
      if (shape[d] != 1) shape[d] = sizes_.lead[d];
  }

  ValueId operand(const Node& reader, size_t i) {
    const ValueId v = reader.operands[i];
    if (match_.mask_kind == Mask::causal && reader.op == Op::select && i == 0) return causal_condition(v);
    // One value may be q and v, say: each is an input of its own.
    if (v == match_.v && i == 1 && reader.results[0] == match_.result) return value_;
    if (auto known = copies_.find(v); known != copies_.end()) return known->second;
    const Node* constant = from_.producer(v);
    const auto* value = constant && constant->op == Op::constant
                            ? std::get_if<double>(constant->attributes.find("value"))
                            : nullptr;
    if (!value || from_.type(v).rank() > 0) throw InternalError("attention reads what is no input of it");
    const Dtype own = from_.type(v).dtype;
    return copies_[v] = to_.add_constant(round_to(own, *value), dtype(own));
  }

  // The last query sees all keys, at these sizes too.
  ValueId causal_condition(ValueId v) {
    const Node& compared = *from_.producer(v);
    const Dtype own = from_.type(compared.operands[0]).dtype;
    auto range = [&](int64_t first, int64_t count) {
      Attributes attributes;
      attributes.set("dtype", own);
      attributes.set("size", count);
      attributes.set("start", static_cast<double>(first));
      attributes.set("step", 1.0);
      return to_.add(Op::arange, {}, std::move(attributes));
    };
    const ValueId key = range(0, sizes_.keys);
    const ValueId query = reshape(range(sizes_.keys - sizes_.queries, sizes_.queries), {sizes_.queries, 1});
    return written_.condition = to_.add(Op::less_equal, {key, query});
  }

  ValueId reshape(ValueId v, Shape shape) {
    Attributes attributes;
    attributes.set("shape", std::move(shape));
    return to_.add(Op::reshape, {v}, std::move(attributes));
  }

  void copy(const Node& node) {
    std::vector<ValueId> operands;
    for (size_t i = 0; i < node.operands.size(); ++i)
      operands.push_back(operand(node, i));
    Attributes attributes = node.attributes;
    if (node.op == Op::cast) attributes.set("dtype", dtype(from_.type(node.results[0]).dtype));
    if (node.op == Op::reshape) {
      Shape shape = from_.type(node.results[0]).shape;
      resize_lead(shape);
      const Shape& of = to_.type(operands[0]).shape;
      std::copy(of.end() - 2, of.end(), shape.end() - 2);
      attributes.set("shape", std::move(shape));
    }
    note(node, operands);
    copies_[node.results[0]] = to_.add(node.op, std::move(operands), std::move(attributes));
    const Shape& made = to_.type(copies_[node.results[0]]).shape;
    if (node.op == Op::matmul && node.operands[1] == scaled_key_) written_.product = made;
    const bool masks = node.op == Op::select || (node.op == Op::add && match_.mask_kind == Mask::added);
    if (masks) written_.masked = made;
  }

  // k itself, or k scaled, is what the first product reads.
  void note(const Node& node, const std::vector<ValueId>& operands) {
    if (scaled_key_ < 0) scaled_key_ = match_.k_transposed;
    if (node.op == Op::mul && node.operands[0] == match_.k_transposed) scaled_key_ = node.results[0];
    if (node.op == Op::select) {
      const Node& low = *from_.producer(node.operands[2]);
      written_.forbidden = round_to(from_.type(node.operands[2]).dtype, low.attributes.get<double>("value"));
    }
    if (node.results[0] == match_.result) written_.weights = to_.type(operands[0]).shape;
  }

  const Graph& from_;
  const AttentionMatch& match_;
  const AttentionSizes& sizes_;
  Graph& to_;
  std::unordered_map<ValueId, ValueId> copies_;
  ValueId value_ = -1, scaled_key_ = -1;
  Written written_;
};

enum class MaskForm : uint8_t {
  none,
  causal,
  boolean,
  numbers,
  numbers_or_nan,  // the same, with NaN for rows that see nothing: a library may give zeros there
};

// The call itself: everything in front of rows and columns becomes a batch and heads, of which k and v may
// have fewer.
class CallWriter {
 public:
  CallWriter(const Graph& written, const Written& shapes, double scale)
      : written_(written), shapes_(shapes), scale_(scale), lead_(lead_of(shapes.product)) {
    const bool shared = all_ones(lead_of(type(1).shape)) && all_ones(lead_of(type(2).shape));
    folds_ = lead_.size() < 2 || shared;
    batch_ = folds_ ? 1 : lead_[0];
    heads_ = product(lead_) / batch_;
  }

  Graph run(MaskForm form) {
    to_ = Graph{};
    to_.name = written_.name;
    std::vector<ValueId> in;
    for (const auto& input : written_.inputs) {
      const auto& value = written_.values[input.value];
      in.push_back(to_.add_input(value.name, value.type));
    }
    const Shape q = to_.type(in[0]).shape;
    if (product(lead_of(q)) != product(lead_)) throw InternalError("queries that several batches share");
    const ValueId queries = reshape(in[0], {batch_, heads_, q.end()[-2], q.back()});
    const ValueId keys = swapped(in[1]);
    const Shape values = lead_of(shapes_.weights);
    ValueId k = with_heads(keys, lead_, false), v = with_heads(in[2], values, false);
    if (to_.type(k).shape[1] != to_.type(v).shape[1]) {
      k = with_heads(keys, lead_, true);
      v = with_heads(in[2], values, true);
    }
    std::vector<ValueId> operands{queries, k, v};
    Attributes attributes;
    if (form == MaskForm::causal) attributes.set("causal", true);
    if (form != MaskForm::none && form != MaskForm::causal)
      operands.push_back(mask(form, in, to_.type(queries).dtype));
    attributes.set("scale", scale_);
    const ValueId mixed = to_.add(Op::scaled_dot_product_attention, std::move(operands), attributes);
    const TensorType& result = written_.type(written_.outputs[0]);
    to_.outputs = {reshape(mixed, result.shape)};
    if (to_.type(to_.outputs[0]) != result) throw InternalError("the result has another type");
    return std::move(to_);
  }

 private:
  const TensorType& type(size_t input) const { return written_.type(written_.inputs[input].value); }

  ValueId reshape(ValueId v, Shape shape) { return shaped(Op::reshape, v, std::move(shape)); }
  ValueId broadcast(ValueId v, Shape shape) { return shaped(Op::broadcast, v, std::move(shape)); }
  ValueId shaped(Op op, ValueId v, Shape shape) {
    if (to_.type(v).shape == shape) return v;
    Attributes attributes;
    attributes.set("shape", std::move(shape));
    return to_.add(op, {v}, std::move(attributes));
  }

  ValueId swapped(ValueId v) {
    std::vector<int64_t> axes(to_.type(v).shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes.back(), axes.end()[-2]);
    Attributes attributes;
    attributes.set("axes", std::move(axes));
    return to_.add(Op::transpose, {v}, std::move(attributes));
  }

  // k or v as [batch, heads, ..]: fewer heads where several of `lead` share one, all of them where the call
  // wants that or the sharing is another than the library's.
  ValueId with_heads(ValueId v, const Shape& lead, bool all) {
    const Shape shape = to_.type(v).shape;
    const int64_t rows = shape.end()[-2], columns = shape.back();
    const Shape own = padded(lead_of(shape), lead.size());
    const size_t begin = folds_ ? 0 : 1;
    const bool same_batch = folds_ || (!lead.empty() && own[0] == batch_ && lead[0] == batch_);
    size_t shared_from = begin;
    while (shared_from < own.size() && own[shared_from] == lead[shared_from])
      ++shared_from;
    const Shape shared(own.begin() + static_cast<ptrdiff_t>(std::min(shared_from, own.size())), own.end());
    if (!all && same_batch && all_ones(shared))
      return reshape(v, {batch_, product(own) / batch_, rows, columns});
    return reshape(broadcast(v, joined(lead, rows, columns)), {batch_, heads_, rows, columns});
  }

  ValueId mask(MaskForm form, const std::vector<ValueId>& in, Dtype dtype) {
    ValueId given = in.size() > 3 ? in[3] : condition();
    if (form != MaskForm::boolean && to_.type(given).dtype == Dtype::bool_)
      given = to_.add(
          Op::select, {given, to_.add_constant(0, dtype), to_.add_constant(shapes_.forbidden, dtype)});
    const Shape shape = padded(to_.type(given).shape, 2);
    const int64_t rows = shape.end()[-2], columns = shape.back();
    const Shape lead = lead_of(shapes_.masked), own = padded(lead_of(shape), lead.size());
    const Shape rest(own.begin() + (folds_ ? 0 : 1), own.end());
    const Shape lead_rest(lead.begin() + (folds_ ? 0 : 1), lead.end());
    Shape heads{batch_, heads_, rows, columns};
    if (all_ones(own)) {
      heads[0] = heads[1] = 1;
    } else if (lead == lead_ && !folds_ && (all_ones(rest) || rest == lead_rest)) {
      heads[0] = own[0];
      heads[1] = product(rest);
    } else {
      given = broadcast(given, joined(lead, rows, columns));
    }
    given = reshape(given, std::move(heads));
    if (form == MaskForm::numbers_or_nan) given = nan_where_all_is_forbidden(given, dtype);
    const Shape& product_shape = shapes_.product;
    return broadcast(given, {batch_, heads_, product_shape.end()[-2], product_shape.back()});
  }

  // Scores of infinity: less the largest of their row they are NaN.
  ValueId nan_where_all_is_forbidden(ValueId mask, Dtype dtype) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Attributes along;
    along.set("axes", std::vector<int64_t>{3});
    along.set("keepdims", true);
    const ValueId largest = to_.add(Op::max, {mask}, std::move(along));
    const ValueId forbids = to_.add(Op::equal, {largest, to_.add_constant(-infinity, dtype)});
    return to_.add(Op::select, {forbids, to_.add_constant(infinity, dtype), mask});
  }

  // The causal one, copied.
  ValueId condition() {
    std::unordered_map<ValueId, ValueId> copies;
    std::function<ValueId(ValueId)> copy = [&](ValueId v) {
      const Node& node = *written_.producer(v);
      std::vector<ValueId> operands;
      for (ValueId operand : node.operands)
        operands.push_back(copy(operand));
      return to_.add(node.op, std::move(operands), node.attributes);
    };
    return copy(shapes_.condition);
  }

  const Graph& written_;
  const Written& shapes_;
  double scale_;
  Shape lead_;
  bool folds_ = false;  // all of it is heads
  int64_t batch_ = 1, heads_ = 1;
  Graph to_;
};

const char* name(MaskForm form) {
  switch (form) {
    case MaskForm::none:
      return "no mask";
    case MaskForm::causal:
      return "a causal flag";
    case MaskForm::boolean:
      return "a mask of bools";
    case MaskForm::numbers:
      return "a mask of numbers";
    default:
      return "a mask of numbers, NaN in rows that see nothing";
  }
}

std::vector<MaskForm> forms_of(Mask mask, const AttentionSizes& sizes, const Written& shapes) {
  if (mask == Mask::none) return {MaskForm::none};
  if (mask == Mask::added) return {MaskForm::numbers, MaskForm::numbers_or_nan};
  std::vector<MaskForm> forms{MaskForm::boolean, MaskForm::numbers};
  if (std::isinf(shapes.forbidden)) forms.push_back(MaskForm::numbers_or_nan);
  if (mask == Mask::causal && sizes.queries <= sizes.keys) forms.insert(forms.begin(), MaskForm::causal);
  return forms;
}

// How many of the first axes, before rows and columns, are the same in all tensors and in every step: what a
// reshape mixes is none of them.
size_t shared_axes(const Graph& graph, const AttentionMatch& match) {
  const Shape& result = graph.type(match.result).shape;
  size_t count = result.size() - 2;
  auto keep = [&](const Shape& a, const Shape& b, bool may_repeat) {
    for (size_t d = 0; d < count; ++d) {
      const bool same = d + 2 < a.size() && d + 2 < b.size() && b[d] == result[d] &&
                        (a[d] == result[d] || (may_repeat && a[d] == 1));
      if (!same) count = d;
    }
  };
  for (NodeId id : match.nodes) {
    const Node& node = graph.nodes[id];
    const Shape& made = graph.type(node.results[0]).shape;
    for (ValueId v : node.operands) {
      const Shape& read = graph.type(v).shape;
      if (read.size() < 3) continue;  // no axes in front: it is repeated over all of them
      if (read.size() != made.size() && node.op != Op::reshape) return 0;
      keep(read, made, node.op != Op::reshape);
    }
  }
  return count;
}

int64_t small_size(int64_t size, int64_t base) {
  constexpr int64_t unit = 32;
  return size < base + unit ? size : base + size % unit;
}

}  // namespace

AttentionSizes sizes_of(const Graph& graph, const AttentionMatch& match) {
  AttentionSizes sizes;
  sizes.queries = graph.type(match.result).shape.end()[-2];
  sizes.keys = graph.type(match.k_transposed).shape.back();
  return sizes;
}

AttentionSizes small_sizes(const Graph& graph, const AttentionMatch& match) {
  constexpr int64_t few = 32, more = 64, most_of_an_axis = 2;
  AttentionSizes sizes = sizes_of(graph, match);
  const bool fewer_keys = sizes.keys < sizes.queries, fewer_queries = sizes.queries < sizes.keys;
  sizes.queries = small_size(sizes.queries, fewer_keys ? more : few);
  sizes.keys = small_size(sizes.keys, fewer_queries ? more : few);
  const Shape& result = graph.type(match.result).shape;
  for (size_t d = 0; d < shared_axes(graph, match); ++d)
    sizes.lead.push_back(std::min(result[d], most_of_an_axis));
  return sizes;
}

Result<AttentionCall> write_call(
    const Graph& graph, const AttentionMatch& match, const AttentionSizes& sizes) {
  const Dtype dtype = graph.type(match.q).dtype;
  for (ValueId v : {match.k_transposed, match.v, match.result})
    if (graph.type(v).dtype != dtype) return no_call("q, k, v and the result are not of one dtype");
  if (!is_floating(dtype) || dtype == Dtype::f64) return no_call("no library's attention is of that dtype");
  AttentionCall call;
  try {
    const Written shapes = Copier(graph, match, sizes, call.written).run(call.inputs);
    if (sizes.wide) return call;
    CallWriter writer(call.written, shapes, match.scale);
    for (MaskForm form : forms_of(match.mask_kind, sizes, shapes)) {
      call.library.push_back(writer.run(form));
      call.forms.emplace_back(name(form));
    }
  } catch (const InternalError& error) {
    return no_call(std::string("no call of the library has these shapes: ") + error.what());
  }
  return call;
}

}  // namespace autoperfect
