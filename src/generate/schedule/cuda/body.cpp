#include "generate/schedule/cuda/body.h"

#include <algorithm>

#include "generate/schedule/access.h"
#include "generate/schedule/body.h"
#include "generate/schedule/cuda/generate.h"
#include "generate/schedule/cuda/scope.h"

namespace autoperfect::schedule::cuda {

Body::Body(const Kernel& kernel, const Nest& nest, const Passes& passes, const Mapping& mapping)
    : kernel_(kernel),
      nest_(nest),
      passes_(passes),
      mapping_(mapping),
      uses_(nest.accesses.size(), 0),
      first_sweep_(nest.accesses.size(), -1),
      coarse_(coarse_values(kernel)) {
  for (int sweep = 0; sweep < passes.count; ++sweep) {
    std::vector<bool> seen(kernel.values.size(), false), loads(nest.accesses.size(), false);
    for (int v : passes.reductions[sweep])
      note_uses(v, seen, loads);
    for (int v : passes.outputs[sweep])
      note_uses(v, seen, loads);
    for (size_t a = 0; a < loads.size(); ++a) {
      uses_[a] += loads[a];
      if (loads[a] && first_sweep_[a] < 0) first_sweep_[a] = sweep;
    }
  }
}

void Body::note_uses(int v, std::vector<bool>& seen, std::vector<bool>& loads) const {
  if (seen[v]) return;
  seen[v] = true;
  for (auto& operand : swept_operands(kernel_, passes_, v)) {
    if (operand.kind == KernelOperand::Kind::load) loads[nest_.access_of(operand)] = true;
    for (KernelValueId needed : values_in(operand))
      if (passes_.varies[needed]) note_uses(needed, seen, loads);
  }
}

std::vector<Dtype> Body::operand_dtypes(const KernelValue& value) const {
  std::vector<Dtype> dtypes;
  for (size_t i = 0; i < value.operands.size(); ++i)
    dtypes.push_back(operand_dtype(kernel_, value, static_cast<int>(i)));
  return dtypes;
}

bool Body::arg_supported(const KernelValue& value) const {
  if (value.reduced.size() != 1) return false;
  int group = nest_.group_of(value.reduced[0]);
  if (columns()) return nest_.inner_groups == std::vector<int>{group};
  return group == nest_.vector_group && nest_.inner_groups.empty();
}

bool Body::supported() const {
  // An operand has the dtype of a buffer or of a value.
  if (!scans_supported() || uses_long_numbers(kernel_)) return false;
  for (auto& value : kernel_.values) {
    const auto dtypes = operand_dtypes(value);
    if (is_reduction(value)) {
      auto v = static_cast<int>(&value - kernel_.values.data());
      if (passes_.varies[v]) return false;
      if (arg(v) ? dtypes[0] == Dtype::bool_ || !arg_supported(value)
                 : !reduction(value.op, dtypes[0], value.dtype))
        return false;
    } else if (!is_scan(value) && !expression(value, dtypes, std::vector<std::string>(dtypes.size(), "x"))) {
      return false;
    }
  }
  return true;
}

std::string Body::position(AxisId axis, Dtype dtype) const {
  int group = nest_.group_of(axis);
  if (group < 0) return literal(dtype, 0);
  std::string index = group == nest_.vector_group ? "j + l" : id("g", group);
  return convert(Dtype::i32, dtype, "ap::vi32{(ap::i32)(" + index + ")}");
}

std::string Body::operand(Scope& scope, const KernelValue& value, int i) const {
  auto& operand = value.operands[i];
  Dtype dtype = operand_dtype(kernel_, value, i);
  switch (operand.kind) {
    case KernelOperand::Kind::value:
      return this->value(scope, operand.id);
    case KernelOperand::Kind::load:
      return load_element(scope, nest_.access_of(operand));
    case KernelOperand::Kind::literal:
      return literal(dtype, operand.literal);
    case KernelOperand::Kind::iota:
      return position(operand.id, dtype);
  }
  return "";
}

std::string Body::value(Scope& scope, int v) const {
  if (!passes_.varies[v]) return columns() ? id("u", v) + "[l]" : id("u", v);
  if (auto it = scope.values.find(v); it != scope.values.end()) return it->second;
  std::string name = id("v", v);
  std::string keep = id("k", v) + (scope.pairs ? "[c][l / 2]" : "[c][l]");
  bool kept = passes_.kept_in[v] >= 0;
  if (kept && scope.sweep > passes_.kept_in[v]) return scope.values[v] = keep;
  std::string text = computed(scope, v);
  std::string type = scope.pairs ? "auto" : vector_type(kernel_.values[v].dtype);
  scope.statement("const " + type + " " + name + " = " + text + ";");
  if (kept) scope.statement(keep + " = " + name + ";");
  return scope.values[v] = name;
}

std::string Body::computed(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  if (is_scan(value)) return scan_down(scope, v);
  std::vector<std::string> operands;
  for (size_t i = 0; i < value.operands.size(); ++i)
    operands.push_back(operand(scope, value, static_cast<int>(i)));
  if (std::string text = of_half(v, operands); !text.empty()) return text;
  return *expression(value, operand_dtypes(value), operands);
}

// Of a row: one of each, in every thread. Of columns: one for each element of the pack.
std::string Body::unit_values(int after, int depth, const std::string& guard, bool stores) const {
  std::string text;
  for (size_t k = 0; k < kernel_.values.size(); ++k) {
    int v = static_cast<int>(k);
    auto& value = kernel_.values[v];
    if (passes_.varies[v] || passes_.ready[v] != after) continue;
    Scope scope{after, columns() ? depth + 1 : depth, !columns()};
    std::string type = vector_type(value.dtype), name = id("u", v), element = columns() ? name + "[l]" : name;
    if (!is_reduction(value)) {
      std::string expression = computed(scope, v);
      scope.statement((columns() ? element : "const " + type + " " + name) + " = " + expression + ";");
    }
    if (value.output >= 0 && stores) {
      auto& access = nest_.accesses[nest_.store_of(value)];
      std::string to = "ap::put(" + id("b", access.buffer) + " + (" + at(access) +
                       (columns() ? " + (j + l) * " + access.strides[nest_.vector_group].text() : "") +
                       "), " + element + ");";
      scope.statement((guard.empty() ? "" : "if (" + guard + ") ") + to);
    }
    if (columns() && !is_reduction(value)) text += indent(depth) + type + " " + name + "[P];\n";
    text += scope.pre;
    if (columns() && !scope.text.empty())
      text += indent(depth) + "#pragma unroll\n" + indent(depth) + "for (int l = 0; l < P; ++l) {\n" +
              scope.text + indent(depth) + "}\n";
    else
      text += scope.text;
  }
  return text;
}

std::string Body::elements(int sweep, int depth, const std::string& guard) const {
  Scope scope{sweep, depth + 1};
  scope.pairs = mapping_.pairs;
  if (!columns())
    for (int v : scans(sweep))
      scan_along(scope, v);
  for (int v : passes_.reductions[sweep])
    accumulate(scope, v);
  for (int v : passes_.outputs[sweep])
    store(scope, nest_.store_of(kernel_.values[v]), value(scope, v), guard);
  return scope.close();
}

std::string Body::declare_kept(int depth) const {
  std::string text, packs_kept = "[" + std::to_string(mapping_.kept) + "]";
  for (int v : passes_.kept)
    text += indent(depth) +
            (mapping_.pairs ? "ap::Two<" + element_type(kernel_.values[v].dtype) + ">"
                            : vector_type(kernel_.values[v].dtype)) +
            " " + id("k", v) + packs_kept + (mapping_.pairs ? "[P / 2];\n" : "[P];\n");
  for (size_t a = 0; a < nest_.accesses.size(); ++a)
    if (kept(static_cast<int>(a)))
      text += indent(depth) + "ap::Pack<" +
              element_type(kernel_.buffers[nest_.accesses[a].buffer].type.dtype) + ", P> " +
              id("x", static_cast<int>(a)) + packs_kept + ";\n";
  return text;
}

int64_t Body::shared_bytes() const {
  int64_t elements = 0;
  for (size_t a = 0; a < nest_.accesses.size(); ++a)
    if (shared(static_cast<int>(a)))
      elements += size_of(kernel_.buffers[nest_.accesses[a].buffer].type.dtype);
  return elements * packs_of_row(nest_, mapping_.pack) * mapping_.pack;
}

std::string Body::declare_shared(int depth) const {
  std::string text = indent(depth) + "extern __shared__ uint4 of_block[];\n";
  int64_t begin = 0;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    int access = static_cast<int>(a);
    if (!shared(access)) continue;
    Dtype dtype = kernel_.buffers[nest_.accesses[a].buffer].type.dtype;
    std::string pack = "ap::Pack<" + element_type(dtype) + ", P>*";
    text += indent(depth) + "auto* const " + id("h", access) + " = (" + pack +
            ")((unsigned char*)of_block + " + std::to_string(begin) + ");\n";
    begin += size_of(dtype) * packs_of_row(nest_, mapping_.pack) * mapping_.pack;
  }
  return text;
}

}  // namespace autoperfect::schedule::cuda
