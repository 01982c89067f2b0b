#include "generate/schedule/body.h"

#include <algorithm>

namespace autoperfect::schedule {
namespace {

constexpr int64_t row_padding = 64;  // elements; whole vectors are stored past the end of a row

}  // namespace

std::vector<Dtype> Body::operand_dtypes(const KernelValue& value) const {
  std::vector<Dtype> dtypes;
  for (size_t i = 0; i < value.operands.size(); ++i)
    dtypes.push_back(operand_dtype(kernel_, value, static_cast<int>(i)));
  return dtypes;
}

bool Body::supported() const {
  if (!scans_supported()) return false;
  for (auto& value : kernel_.values) {
    auto dtypes = operand_dtypes(value);
    if (is_reduction(value)) {
      if (passes_.varies[&value - kernel_.values.data()]) return false;
      bool arg_ok = dtypes[0] != Dtype::bool_ && !nest_.columns() && value.reduced.size() == 1 &&
                    nest_.group_of(value.reduced[0]) == nest_.vector_group && nest_.inner_groups.empty();
      bool positional = value.op == Op::argmax || value.op == Op::argmin;
      if (positional ? !arg_ok : !reduction(value.op, dtypes[0], value.dtype)) return false;
    } else if (!is_scan(value) && !expression(value, dtypes, std::vector<std::string>(dtypes.size(), "x"))) {
      return false;
    }
  }
  return true;
}

int64_t Body::scratch_bytes() const {
  if (passes_.kept.empty()) return 0;
  int64_t rows = 1;
  for (int g : nest_.inner_groups)
    rows *= nest_.groups[g].seen_size;
  int64_t row = (nest_.groups[nest_.vector_group].seen_size + row_padding - 1) / row_padding * row_padding;
  return rows * row * static_cast<int64_t>(sizeof(float)) * static_cast<int64_t>(passes_.kept.size());
}

std::string Body::scratch_pointers(int depth) const {
  std::string text;
  int64_t each =
      passes_.kept.empty() ? 0 : scratch_bytes() / static_cast<int64_t>(passes_.kept.size() * sizeof(float));
  for (size_t k = 0; k < passes_.kept.size(); ++k)
    text += indent(depth) + "ap::f32* const s" + std::to_string(passes_.kept[k]) + " = (ap::f32*)scratch + " +
            std::to_string(each * static_cast<int64_t>(k)) + ";\n";
  return text;
}

std::string Body::scratch_index() const {
  std::string index;
  int64_t step = (nest_.groups[nest_.vector_group].seen_size + row_padding - 1) / row_padding * row_padding;
  for (size_t k = nest_.inner_groups.size(); k-- > 0;) {
    index += " + g" + std::to_string(nest_.inner_groups[k]) + " * " + std::to_string(step);
    step *= nest_.groups[nest_.inner_groups[k]].seen_size;
  }
  return index + " + j";
}

std::string Body::position(AxisId axis, Dtype dtype, bool element) const {
  int group = nest_.group_of(axis);
  if (group < 0) return literal(dtype, 0);
  std::string index = element && group == nest_.vector_group
                          ? "(ap::iota() + (int)j)"
                          : "ap::splat<ap::vi32>((int)g" + std::to_string(group) + ")";
  return convert(Dtype::i32, dtype, index);
}

std::string Body::unit_operand(const KernelValue& value, int i, bool tail) const {
  auto& operand = value.operands[i];
  Dtype dtype = operand_dtype(kernel_, value, i);
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      return id("u", operand.id);
    case KernelOperand::Kind::load:
      return load_unit(nest_.access_of(operand), tail);
    case KernelOperand::Kind::literal:
      return literal(dtype, operand.literal);
    case KernelOperand::Kind::iota:
      return position(operand.id, dtype, nest_.columns());
  }
  return "";
}

std::string Body::unit_values(int after, int depth, bool tail, bool scalars_only) const {
  std::string text;
  for (size_t v = 0; v < kernel_.values.size(); ++v) {
    auto& value = kernel_.values[v];
    if (passes_.varies[v] || passes_.ready[v] != after || (scalars_only && !value.axes.empty())) continue;
    std::string name = id("u", static_cast<int>(v));
    if (!is_reduction(value)) {
      std::vector<std::string> operands;
      for (size_t i = 0; i < value.operands.size(); ++i)
        operands.push_back(unit_operand(value, static_cast<int>(i), tail));
      text += indent(depth) + "const " + vector_type(value.dtype) + " " + name + " = " +
              *expression(value, operand_dtypes(value), operands) + ";\n";
    }
    if (value.output < 0) continue;
    auto& access = nest_.accesses[nest_.store_of(value)];
    std::string offset = access.offset.is(0) ? "" : " + " + access.offset.text();
    std::string at = "b" + std::to_string(access.buffer) + offset + moved(access, nest_.unit_groups);
    text += indent(depth) +
            (nest_.columns() ? store_along(access, at, name, tail, false)
                             : "ap::store(" + at + ", " + name + ", 1);") +
            "\n";
  }
  return text;
}

std::string Body::element_operand(Scope& scope, const KernelValue& value, int i) const {
  auto& operand = value.operands[i];
  Dtype dtype = operand_dtype(kernel_, value, i);
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      return passes_.varies[operand.id] ? element_value(scope, operand.id) : id("u", operand.id);
    case KernelOperand::Kind::load:
      return load_element(scope, nest_.access_of(operand));
    case KernelOperand::Kind::literal:
      return literal(dtype, operand.literal);
    case KernelOperand::Kind::iota:
      return position(operand.id, dtype, true);
  }
  return "";
}

std::string Body::element_value(Scope& scope, int v) const {
  if (auto it = scope.values.find(v); it != scope.values.end()) return it->second;
  std::string name = id("v", v);
  bool kept = passes_.kept_in[v] >= 0;
  if (kept && scope.sweep > passes_.kept_in[v])
    return scope.values[v] = scope.define(name, "ap::load(" + id("s", v) + scratch_index() + ")");
  scope.statement(
      "const " + vector_type(kernel_.values[v].dtype) + " " + name + " = " + element_expression(scope, v) +
      ";");
  if (kept) scope.statement("ap::store(" + id("s", v) + scratch_index() + ", " + name + ");");
  return scope.values[v] = name;
}

std::string Body::element_expression(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  if (is_scan(value)) return scan_expression(scope, v);
  std::vector<std::string> operands;
  for (size_t i = 0; i < value.operands.size(); ++i)
    operands.push_back(element_operand(scope, value, static_cast<int>(i)));
  return *expression(value, operand_dtypes(value), operands);
}

std::string Body::elements(int sweep, bool tail, int depth) const {
  Scope scope{sweep, tail, depth};
  if (tail && !nest_.columns())
    for (int v : passes_.reductions[sweep]) {
      scope.statement("auto& " + id("a", v) + " = " + id("a", v) + "_0;");
      if (arg(v)) scope.statement("auto& " + id("i", v) + " = " + id("i", v) + "_0;");
    }
  for (int v : passes_.reductions[sweep])
    arg(v) ? accumulate_position(scope, v) : accumulate(scope, v);
  for (int v : passes_.outputs[sweep])
    if (nest_.along_lanes(kernel_.values[v])) store_element(scope, v);
  if (choice_.prefetch && !tail && (nest_.columns() || sweep + 1 == passes_.count))
    scope.text += prefetches(depth);
  return scope.text;
}

void Body::store_element(Scope& scope, int v) const {
  std::string name = element_value(scope, v);
  int access = nest_.store_of(kernel_.values[v]);
  scope.statement(
      store_along(nest_.accesses[access], id("q", access), name, scope.tail, choice_.stream && !scope.tail));
}

bool Body::has_elements(int sweep) const {
  auto& outputs = passes_.outputs[sweep];
  return !passes_.reductions[sweep].empty() || std::any_of(outputs.begin(), outputs.end(), [&](int v) {
    return nest_.along_lanes(kernel_.values[v]);
  });
}

std::string Body::scalars(int sweep, int depth) const {
  Scope scope{sweep, false, depth};
  for (int v : passes_.outputs[sweep])
    if (!nest_.along_lanes(kernel_.values[v])) store_element(scope, v);
  return scope.text;
}

std::string Body::element(int value, bool tail, int depth) const {
  Scope scope{0, tail, depth};
  element_value(scope, value);
  return scope.text;
}

// The same lanes of the next unit; of columns, rows some way ahead.
std::string Body::prefetches(int depth) const {
  auto& groups = nest_.columns() ? nest_.inner_groups : nest_.unit_groups;
  constexpr int rows_ahead = 16;
  std::string text;
  if (groups.empty()) return text;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    Extent step = access.strides[groups.back()].times(nest_.columns() ? rows_ahead : 1);
    bool plain = kernel_.buffers[access.buffer].role == BufferRole::in && access.gathers.empty() &&
                 access.guards.empty();
    if (plain && access.strides[nest_.vector_group].is(1) && !step.is(0))
      text +=
          indent(depth) + "ap::prefetch(" + id("q", static_cast<int>(a)) + " + j + " + step.text() + ");\n";
  }
  return text;
}

}  // namespace autoperfect::schedule
