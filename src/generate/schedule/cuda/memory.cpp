// The part of Body that reaches memory.
#include "generate/schedule/cuda/body.h"
#include "generate/schedule/cuda/scope.h"

namespace autoperfect::schedule::cuda {
namespace {

std::string scaled(const std::string& index, const Extent& stride) {
  return stride.is(1) ? index : index + " * " + stride.text();
}

std::string scaled(const std::string& index, int64_t step) {
  return step == 1 ? index : index + " * " + std::to_string(step);
}

}  // namespace

// Where it lies, but for its lanes and gathers.
std::string Body::at(const Access& access) const {
  std::string text = access.offset.text();
  for (size_t g = 0; g < access.strides.size(); ++g)
    if (static_cast<int>(g) != nest_.vector_group && !access.strides[g].is(0))
      text += " + " + scaled(id("g", static_cast<int>(g)), access.strides[g]);
  return text;
}

// The condition that its guards hold, of those that depend on the lanes or of the others; empty: always.
std::string Body::inside(const Access& access, bool lanes) const {
  std::string text;
  for (auto& guard : access.guards) {
    bool along = nest_.vector_group >= 0 && guard.steps[nest_.vector_group] != 0;
    if (along != lanes) continue;
    std::string index = std::to_string(guard.offset);
    for (size_t g = 0; g < guard.steps.size(); ++g)
      if (guard.steps[g] != 0)
        index +=
            " + " + scaled(
                        static_cast<int>(g) == nest_.vector_group ? "(j + l)" : id("g", static_cast<int>(g)),
                        guard.steps[g]);
    text +=
        (text.empty() ? "" : " && ") + std::string("ap::inside(") + index + ", " + guard.size.text() + ")";
  }
  return text;
}

// A pack that has been loaded before the elements are gone through.
std::string Body::load_pack(Scope& scope, int access) const {
  auto& a = nest_.accesses[access];
  Dtype dtype = kernel_.buffers[a.buffer].type.dtype;
  std::string name = id("x", access);
  bool keeps = kept(access);
  std::string pack = keeps ? name + "[c]" : name;
  if (!scope.packs.count(access)) {
    scope.packs[access] = name;
    std::string from = id("b", a.buffer) + " + (" + at(a);
    for (auto& gather : a.gathers)
      from +=
          " + " + scaled("ap::row(" + id("u", gather.value) + ", " + gather.size.text() + ")", gather.stride);
    std::string use = mapping_.once && uses_[access] < 2 ? "ap::Once{}" : "ap::Again{}";
    std::string load = "ap::load<P, Aligned>(" + from + " + j), " + use + ")";
    if (std::string condition = inside(a, false); !condition.empty())
      load = condition + " ? " + load + " : ap::filled<" + element_type(dtype) + ", P>(" +
             literal(dtype, a.at.literal) + ")";
    bool first = !(keeps || shared(access)) || scope.sweep == first_sweep_[access];
    if (!first && shared(access)) scope.before("const auto " + name + " = " + id("h", access) + "[q];");
    if (first) scope.before(keeps ? name + "[c] = " + load + ";" : "const auto " + name + " = " + load + ";");
    if (first && shared(access)) scope.before(id("h", access) + "[q] = " + name + ";");
  }
  return pack;
}

std::string Body::load_element(Scope& scope, int access) const {
  if (auto it = scope.loads.find(access); it != scope.loads.end()) return it->second;
  std::string element;
  if (nest_.accesses[access].tiled)
    element =
        "ap::decode(" + id("t", access) + "[x + l][" + id("g", nest_.inner_groups[0]) + " - first_row])";
  else if (!packs(access))
    return load_apart(scope, access);
  else
    element = (scope.pairs ? "ap::pair(" : "ap::element_of(") + load_pack(scope, access) + ", l)";
  scope.statement("const auto " + id("e", access) + " = " + element + ";");
  return scope.loads[access] = id("e", access);
}

// One element from where it lies.
std::string Body::load_apart(Scope& scope, int access) const {
  auto& a = nest_.accesses[access];
  std::string from = id("b", a.buffer) + " + (" + at(a);
  if (nest_.vector_group >= 0 && !a.strides[nest_.vector_group].is(0))
    from += " + " + scaled("(j + l)", a.strides[nest_.vector_group]);
  for (auto& gather : a.gathers)
    from += " + " +
            scaled("ap::row(" + value(scope, gather.value) + ", " + gather.size.text() + ")", gather.stride);
  std::string load = "ap::element(" + from + "))";
  std::string condition = inside(a, false), along = inside(a, true);
  if (!condition.empty() && !along.empty()) condition += " && ";
  if (condition += along; !condition.empty())
    load = condition + " ? " + load + " : " + literal(kernel_.buffers[a.buffer].type.dtype, a.at.literal);
  if (scope.inlined) return "(" + load + ")";
  scope.statement("const auto " + id("e", access) + " = " + load + ";");
  return scope.loads[access] = id("e", access);
}

std::string Body::load_across(int access) const {
  auto& a = nest_.accesses[access];
  return "ap::load<P, Aligned>(" + id("b", a.buffer) + " + (" + at(a) + " + " +
         scaled("j", a.strides[nest_.vector_group]) + "), ap::Again{})";
}

void Body::store(Scope& scope, int access, const std::string& name, const std::string& guard) const {
  auto& a = nest_.accesses[access];
  std::string to = id("b", a.buffer) + " + (" + at(a), condition = guard.empty() ? "" : "if (" + guard + ") ";
  if (packs(access)) {
    std::string pack = id("y", access);
    scope.before("ap::Pack<" + element_type(kernel_.buffers[a.buffer].type.dtype) + ", P> " + pack + ";");
    scope.statement(
        scope.pairs ? "ap::put_pair(" + pack + ", l, " + name + ");"
                    : "ap::put(&" + pack + ".e[l], " + name + ");");
    scope.after(
        condition + "ap::store<Aligned>(" + to + " + j), " + pack +
        (mapping_.once ? ", ap::Once{});" : ", ap::Again{});"));
    return;
  }
  if (nest_.vector_group >= 0 && !a.strides[nest_.vector_group].is(0))
    to += " + " + scaled("(j + l)", a.strides[nest_.vector_group]);
  scope.statement(condition + "ap::put(" + to + "), " + name + ");");
}

}  // namespace autoperfect::schedule::cuda
