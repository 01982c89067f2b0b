// The part of Body that holds what goes from element to element: reductions and scans.
#include <algorithm>

#include "generate/schedule/access.h"
#include "generate/schedule/body.h"
#include "generate/schedule/cuda/body.h"
#include "generate/schedule/cuda/scope.h"

namespace autoperfect::schedule::cuda {

ReductionText Body::text_of(int v) const {
  auto& value = kernel_.values[v];
  return *reduction(value.op, operand_dtype(kernel_, value, 0), value.dtype);
}

// A number of a half dtype as it lies in a pack that reduction v goes through, -1: none.
int Body::pack_compared(int v) const {
  const KernelOperand* from = &kernel_.values[v].operands[0];
  if (from->kind == KernelOperand::Kind::value && kernel_.values[from->id].op == Op::cast)
    from = &kernel_.values[from->id].operands[0];
  if (from->kind != KernelOperand::Kind::load) return -1;
  int access = nest_.access_of(*from);
  return is_half(kernel_.buffers[from->id].type.dtype) && packs(access) ? access : -1;
}

// Whether the largest or smallest is found by pairs: one instruction for two elements.
bool Body::compares_pairs(int v) const {
  Op op = kernel_.values[v].op;
  if ((op != Op::max && op != Op::min) || columns() || nest_.vector_group < 0 || mapping_.pack % 2)
    return false;
  if (!nest_.groups[nest_.vector_group].size.is_multiple_of(mapping_.pack)) return false;
  if (std::any_of(kernel_.values.begin(), kernel_.values.end(), is_scan)) return false;
  return mapping_.pairs ? is_half(operand_dtype(kernel_, kernel_.values[v], 0)) : pack_compared(v) >= 0;
}

std::string Body::pair_type(int v) const {
  int access = mapping_.pairs ? -1 : pack_compared(v);
  return element_type(
      access < 0 ? operand_dtype(kernel_, kernel_.values[v], 0)
                 : kernel_.buffers[nest_.accesses[access].buffer].type.dtype);
}

void Body::compare_pairs(Scope& scope, int v) const {
  std::string a = id("a", v);
  if (scope.pairs) return scope.statement(a + " = " + step(v, a, operand(scope, kernel_.values[v], 0)) + ";");
  std::string pack = load_pack(scope, pack_compared(v));
  scope.after("#pragma unroll");
  scope.after("for (int l = 0; l < P; l += 2) " + a + " = " + step(v, a, "ap::pair(" + pack + ", l)") + ";");
}

std::string Body::state_type(int v) const {
  if (compares_pairs(v)) return "ap::Two<" + pair_type(v) + ">";
  if (online(v)) return "ap::Exponentials";
  if (!arg(v)) return vector_type(text_of(v).accumulate);
  return "ap::Found<" + vector_type(operand_dtype(kernel_, kernel_.values[v], 0)) + ">";
}

int64_t Body::state_bytes(int v) const {
  if (arg(v)) return size_of(operand_dtype(kernel_, kernel_.values[v], 0)) > 4 ? 16 : 8;
  if (online(v)) return 8;
  return std::max<int64_t>(4, size_of(text_of(v).accumulate));
}

// Of argmax: below every element.
std::string Body::initial(int v) const {
  if (compares_pairs(v)) return "ap::Half<" + pair_type(v) + ">::both(" + text_of(v).init + ")";
  if (online(v)) return "{}";
  if (mapping_.of_scans && kernel_.values[v].op == Op::sum) return "ap::splat(-0x0p+0f)";
  if (!arg(v)) return text_of(v).init;
  Dtype dtype = operand_dtype(kernel_, kernel_.values[v], 0);
  return "{" + reduction(kernel_.values[v].op == Op::argmax ? Op::max : Op::min, dtype, dtype)->init +
         ", {0}}";
}

std::string Body::step(int v, const std::string& a, const std::string& b) const {
  Op op = kernel_.values[v].op;
  Dtype dtype = operand_dtype(kernel_, kernel_.values[v], 0);
  if ((op == Op::max || op == Op::min) && is_floating(dtype))
    return std::string(op == Op::max ? "ap::largest(" : "ap::smallest(") + a + ", " + b + ")";
  if (online(v)) return "ap::joined(" + a + ", " + b + ")";
  if (!arg(v)) return fill(text_of(v).step, a, b);
  return std::string(op == Op::argmax ? "ap::FirstMax" : "ap::FirstMin") + "{}(" + a + ", " + b + ")";
}

std::string Body::function(int v) const {
  return "[](auto a, auto b) { return " + step(v, "a", "b") + "; }";
}

std::string Body::declare_accumulators(int sweep, int depth) const {
  std::string text;
  for (int v : passes_.reductions[sweep]) {
    std::string name = id("a", v);
    if (columns()) {
      text += indent(depth) + state_type(v) + " " + name + "[P];\n" + indent(depth) + "#pragma unroll\n" +
              indent(depth) + "for (int l = 0; l < P; ++l) " + name + "[l] = " + initial(v) + ";\n";
      continue;
    }
    text += indent(depth) + state_type(v) + " " + name + " = " + initial(v) + ";\n";
  }
  return text;
}

// A pack of a row at once; of columns each element is a row of its own.
void Body::accumulate_online(Scope& scope, int v, const std::string& a, const std::string& when) const {
  const int difference = passes_.online[v], exponential = kernel_.values[v].operands[0].id;
  const std::string x = operand(scope, kernel_.values[difference], 0), name = id("o", v);
  const std::string function =
      std::string(", [](auto x) { return ap::exp") + (coarse_[exponential] ? "_of_half" : "") + "(x); });";
  if (columns()) return scope.statement(when + a + " = ap::with(" + a + ", " + x + function);
  scope.before("ap::vf " + name + "[P];");
  scope.statement(name + "[l] = " + x + ";");
  scope.after(when + a + " = ap::with(" + a + ", " + name + function);
}

void Body::accumulate(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  if (compares_pairs(v)) return compare_pairs(scope, v);
  std::string a = columns() ? id("a", v) + "[l]" : id("a", v);
  // With scans all threads go on to the end, also those that are past it.
  std::string when = scope.scanned.empty() ? "" : "if (within) ";
  if (online(v)) return accumulate_online(scope, v, a, when);
  std::string x = operand(scope, value, 0);
  if (arg(v)) {
    int group = nest_.group_of(value.reduced[0]);
    std::string place = group == nest_.vector_group ? "j + l" : id("g", group);
    std::string found = state_type(v) + "{" + x + ", {(ap::i32)(" + place + ")}}";
    // A thread that goes through its places upwards has the first of equals.
    bool upwards = mapping_.aligned_to < 0 && !runs_backwards();
    std::string beats = value.op == Op::argmax ? "ap::beats_max(" : "ap::beats_min(";
    std::string taken = upwards ? beats + x + ", " + a + ".best) ? " + found + " : " + a : step(v, a, found);
    scope.statement(when + a + " = " + taken + ";");
    return;
  }
  auto text = text_of(v);
  x = convert(operand_dtype(kernel_, value, 0), text.accumulate, x);
  if (scope.pairs) {
    for (const char* half : {"ap::first(", "ap::second("})
      scope.statement(a + " = " + step(v, a, half + x + ")") + ";");
    return;
  }
  scope.statement(
      when + a + " = " +
      (value.op == Op::matmul ? "ap::fma(" + x + ", " + operand(scope, value, 1) + ", " + a + ")"
                              : step(v, a, x)) +
      ";");
}

std::string Body::end_reduction(int v, int depth) const {
  auto& value = kernel_.values[v];
  std::string type = vector_type(value.dtype), name = id("u", v), a = id("a", v) + (columns() ? "[l]" : "");
  std::string end = arg(v)              ? "ap::to_u32(" + a + ".at)"
                    : online(v)         ? "ap::sum_of(" + a + ")"
                    : compares_pairs(v) ? step(v, "ap::first(" + a + ")", "ap::second(" + a + ")")
                                        : rounded(value.dtype, a);
  if (!columns()) return indent(depth) + "const " + type + " " + name + " = " + end + ";\n";
  return indent(depth) + type + " " + name + "[P];\n" + indent(depth) + "#pragma unroll\n" + indent(depth) +
         "for (int l = 0; l < P; ++l) " + name + "[l] = " + end + ";\n";
}

// All scans of a kernel go along one group in one direction: that of the lanes, or the one below columns.
bool Body::scans_supported() const {
  const KernelValue* first = nullptr;
  for (auto& value : kernel_.values) {
    if (!is_scan(value)) continue;
    if (!first) first = &value;
    if (value.scanned != first->scanned || is_reverse(value) != is_reverse(*first)) return false;
    int group = nest_.group_of(value.scanned);
    bool along = columns() ? nest_.inner_groups == std::vector<int>{group}
                           : nest_.inner_groups.empty() && group == nest_.vector_group;
    if (!along || !scan_identity(value)) return false;
  }
  return true;
}

bool Body::runs_backwards() const {
  return std::any_of(kernel_.values.begin(), kernel_.values.end(), [](const KernelValue& value) {
    return is_scan(value) && is_reverse(value);
  });
}

std::vector<int> Body::scans(int sweep) const {
  std::vector<bool> seen(kernel_.values.size(), false), loads(nest_.accesses.size(), false);
  for (int v : passes_.reductions[sweep])
    note_uses(v, seen, loads);
  for (int v : passes_.outputs[sweep])
    note_uses(v, seen, loads);
  std::vector<int> found;
  for (size_t v = 0; v < seen.size(); ++v)
    if (seen[v] && is_scan(kernel_.values[v])) found.push_back(static_cast<int>(v));
  return found;
}

std::string Body::declare_carries(int sweep, int depth) const {
  std::string text;
  for (int v : scans(sweep)) {
    auto& value = kernel_.values[v];
    std::string type = vector_type(value.dtype), name = id("c", v), start = *scan_identity(value);
    if (mapping_.slices > 1) start = id("t", v);
    text += indent(depth) + type + " " + name + (columns() ? "[P];\n" : " = " + start + ";\n");
    if (columns()) text += indent(depth) + "for (int l = 0; l < P; ++l) " + name + "[l] = " + start + ";\n";
  }
  return text;
}

// Along the lanes all threads of a row take part: what is computed before it is a loop of its own.
void Body::scan_along(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  std::string type = vector_type(value.dtype), identity = *scan_identity(value);
  scope.before(type + " " + id("s", v) + "[P];");
  std::string x = convert(operand_dtype(kernel_, value, 0), value.dtype, operand(scope, value, 0));
  scope.statement(id("s", v) + "[l] = within ? " + x + " : " + identity + ";");
  scope.after(
      "ap::scan<" + std::to_string(mapping_.lanes) + ", " + scan_operation(value.op) + ", " +
      (is_reverse(value) ? "true" : "false") + ", " + (is_inclusive(value) ? "true" : "false") + ">(" +
      id("s", v) + ", " + id("c", v) + ", " + identity + ", lane, shared);");
  scope.scanned[v] = rounded(value.dtype, id("s", v) + "[l]");
  scope.close();
}

// Before each scan, and after the last, a loop over the rows of a thread.
std::string Body::tall_elements(
    int sweep, int depth, const std::string& head, const std::string& guard) const {
  Scope scope{sweep, depth + 2};
  std::string text, unroll = indent(depth) + "#pragma unroll\n" + indent(depth);
  auto over_rows = [&] {
    scope.done.clear(), scope.packs.clear();
    text += unroll + "for (int k = 0; k < R; ++k) {\n" + head + scope.close() + indent(depth) + "}\n";
  };
  for (int v : scans(sweep)) {
    auto& value = kernel_.values[v];
    std::string name = id("s", v), identity = *scan_identity(value);
    std::string x = convert(operand_dtype(kernel_, value, 0), value.dtype, operand(scope, value, 0));
    scope.statement(name + "[l][k] = within ? " + x + " : " + identity + ";");
    scope.scanned[v] = rounded(value.dtype, name + "[l][k]");
    text += indent(depth) + vector_type(value.dtype) + " " + name + "[P][R];\n";
    over_rows();
    text += unroll + "for (int l = 0; l < P; ++l) ap::scan<32, " + scan_operation(value.op) + ", false, " +
            (is_inclusive(value) ? "true" : "false") + ">(" + name + "[l], " + id("c", v) + "[l], " +
            identity + ", y, shared);\n";
  }
  for (int v : passes_.reductions[sweep])
    accumulate(scope, v);
  for (int v : passes_.outputs[sweep])
    store(scope, nest_.store_of(kernel_.values[v]), value(scope, v), guard);
  over_rows();
  return text;
}

// Of columns each element goes on alone.
std::string Body::scan_down(Scope& scope, int v) const {
  auto& value = kernel_.values[v];
  std::string x = convert(operand_dtype(kernel_, value, 0), value.dtype, operand(scope, value, 0));
  std::string carry = id("c", v) + "[l]", next = id("n", v), before = id("o", v);
  scope.statement("const auto " + before + " = " + carry + ";");
  scope.statement("const auto " + next + " = " + scan_operation(value.op) + "{}(" + before + ", " + x + ");");
  scope.statement(carry + " = " + next + ";");
  return rounded(value.dtype, is_inclusive(value) ? next : before);
}

}  // namespace autoperfect::schedule::cuda
