// The part of Body that reaches memory: pointers, loads and stores along the lanes, guarded and gathered
// ones.
#include <cmath>

#include "generate/schedule/body.h"
#include "ir/layout.h"

namespace autoperfect::schedule {
namespace {

std::string scaled(const std::string& index, const Extent& stride) {
  return stride.is(1) ? index : index + " * " + stride.text();
}

// Every element's number is an i32, whatever the size of a dynamic axis.
bool has_small_indices(const Buffer& buffer) {
  for (AxisId axis : buffer.dynamic_dims)
    if (axis >= 0) return false;
  for (int64_t stride : buffer.layout.strides)
    if (stride == free_stride) return false;
  auto span = span_of(buffer);
  return span && *span < int64_t{1} << 31;
}

// A number that a template takes.
bool is_small(const Extent& stride) {
  return stride.is_fixed() && std::abs(stride.fixed()) < int64_t{1} << 31;
}

}  // namespace

// " + stride * g" for every group of `groups` the access moves along.
std::string Body::moved(const Access& access, const std::vector<int>& groups) const {
  std::string text;
  for (int g : groups)
    if (!access.strides[g].is(0)) text += " + " + scaled(id("g", g), access.strides[g]);
  return text;
}

std::string Body::unit_pointers(int depth) const {
  std::string text;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    auto& access = nest_.accesses[a];
    std::string offset = access.offset.is(0) ? "" : " + " + access.offset.text();
    text += indent(depth) + "auto* const p" + std::to_string(a) + " = b" + std::to_string(access.buffer) +
            offset + moved(access, nest_.unit_groups) + ";\n";
  }
  return text;
}

std::string Body::inner_pointers(int depth) const {
  std::string text;
  for (size_t a = 0; a < nest_.accesses.size(); ++a)
    text += indent(depth) + "auto* const q" + std::to_string(a) + " = p" + std::to_string(a) +
            moved(nest_.accesses[a], nest_.inner_groups) + ";\n";
  return text;
}

bool Body::bounded_by(int access, const std::vector<int>& groups) const {
  for (auto& guard : nest_.accesses[access].guards)
    for (int g : groups)
      if (guard.steps[g] != 0) return true;
  return false;
}

std::string Body::range(int access, int depth) const {
  std::string lo = id("lo", access), hi = id("hi", access);
  std::string size = nest_.vector_group < 0 ? "1" : nest_.groups[nest_.vector_group].size.text();
  std::string text = indent(depth) + "long " + lo + " = 0, " + hi + " = " + size + ";\n";
  for (auto& guard : nest_.accesses[access].guards) {
    std::string base = std::to_string(guard.offset);
    for (size_t g = 0; g < guard.steps.size(); ++g)
      if (guard.steps[g] != 0 && static_cast<int>(g) != nest_.vector_group)
        base += " + " + scaled(id("g", static_cast<int>(g)), guard.steps[g]);
    int64_t step = nest_.vector_group < 0 ? 0 : guard.steps[nest_.vector_group];
    text += indent(depth) + "ap::clip(" + lo + ", " + hi + ", " + base + ", " + std::to_string(step) + ", " +
            guard.size.text() + ");\n";
  }
  return text;
}

std::string Body::unit_ranges(int depth, bool constant) const {
  std::string text;
  for (size_t a = 0; a < nest_.accesses.size(); ++a) {
    int access = static_cast<int>(a);
    if (nest_.accesses[a].guards.empty() || bounded_by(access, nest_.inner_groups)) continue;
    if (!constant || !bounded_by(access, nest_.unit_groups)) text += range(access, depth);
  }
  return text;
}

std::string Body::inner_ranges(int depth) const {
  std::string text;
  for (size_t a = 0; a < nest_.accesses.size(); ++a)
    if (bounded_by(static_cast<int>(a), nest_.inner_groups)) text += range(static_cast<int>(a), depth);
  return text;
}

// `rows`: the vectors that are the indices of its gathers. Those that are one for all lanes move the pointer.
std::string Body::load_along(
    int access, std::string at, const std::vector<std::string>& rows, bool lanes, bool tail) const {
  auto& a = nest_.accesses[access];
  std::string index, narrow = has_small_indices(kernel_.buffers[a.buffer]) ? "_32(" : "(";
  for (size_t k = 0; k < a.gathers.size(); ++k) {
    auto& gather = a.gathers[k];
    if (lanes && nest_.along_lanes(kernel_.values[gather.value]))
      index += (index.empty() ? "" : " + ") +
               scaled("ap::rows" + narrow + rows[k] + ", " + gather.size.text() + ")", gather.stride);
    else
      at += " + " + scaled("ap::row(ap::lane(" + rows[k] + "), " + gather.size.text() + ")", gather.stride);
  }
  Extent stride = lanes ? a.strides[nest_.vector_group] : Extent{};
  bool apart = !index.empty() || !(stride.is(0) || stride.is(1));
  if (apart && index.empty() && a.guards.empty() && is_small(stride))
    return "ap::load_strided<" + stride.text() + ">(" + at + " + j * " + stride.text() +
           (tail ? ", n)" : ")");
  if (apart && !stride.is(0))
    index += (index.empty() ? "" : " + ") +
             scaled("ap::positions" + narrow + "j, " + std::string(tail ? "n" : "ap::W") + ")", stride);
  if (!a.guards.empty()) return load_within(access, at, index, stride, tail);
  if (apart) return "ap::gather(" + at + ", " + index + ")";
  if (stride.is(0)) return "ap::uniform(" + at + ")";
  return "ap::load(" + at + " + j" + (tail ? ", n)" : ")");
}

std::string Body::load_within(
    int access, const std::string& at, const std::string& index, const Extent& stride, bool tail) const {
  auto& a = nest_.accesses[access];
  std::string lo = id("lo", access), hi = id("hi", access);
  std::string fill = literal(kernel_.buffers[a.buffer].type.dtype, a.at.literal);
  std::string within =
      ", j, " + std::string(tail ? "n" : "ap::W") + ", " + lo + ", " + hi + ", " + fill + ")";
  // A broadcast dimension: one place for all lanes, but not all of them are inside.
  bool some_lanes = nest_.vector_group >= 0 && bounded_by(access, {nest_.vector_group});
  if (index.empty() && stride.is(0) && some_lanes)
    return "ap::gather_within(" + at + ", ap::positions(j, ap::W) * 0" + within;
  if (!index.empty()) return "ap::gather_within(" + at + ", " + index + within;
  if (stride.is(0)) return "ap::uniform_within(" + at + ", " + lo + " < " + hi + ", " + fill + ")";
  bool zero = a.at.literal == 0 && !std::signbit(a.at.literal);
  if (zero) within = within.substr(0, within.size() - fill.size() - 3) + ")";
  return "ap::load_within(" + at + " + j" + within;
}

std::string Body::load_unit(int access, bool tail) const {
  auto& a = nest_.accesses[access];
  std::string offset = a.offset.is(0) ? "" : " + " + a.offset.text();
  std::vector<std::string> rows;
  for (auto& gather : a.gathers)
    rows.push_back(id("u", gather.value));
  return load_along(
      access, id("b", a.buffer) + offset + moved(a, nest_.unit_groups), rows, nest_.columns(), tail);
}

std::string Body::load_element(Scope& scope, int access) const {
  if (auto it = scope.loads.find(access); it != scope.loads.end()) return it->second;
  auto& a = nest_.accesses[access];
  if (a.tiled)
    return scope.loads[access] = scope.define(
               id("x", access),
               "ap::decode(ap::element<" + element_type(kernel_.buffers[a.buffer].type.dtype) + ">{}, " +
                   id("t", access) + "[l])");
  std::vector<std::string> rows;
  for (auto& gather : nest_.accesses[access].gathers)
    rows.push_back(passes_.varies[gather.value] ? element_value(scope, gather.value) : id("u", gather.value));
  bool lanes = nest_.vector_group >= 0;
  return scope.loads[access] =
             scope.define(id("x", access), load_along(access, id("q", access), rows, lanes, scope.tail));
}

std::string Body::store_along(
    const Access& access, const std::string& pointer, const std::string& name, bool tail, bool stream) const {
  Extent stride = nest_.vector_group < 0 ? Extent{} : access.strides[nest_.vector_group];
  if (!access.lanes.empty())
    return "ap::store(" + pointer + " + " + access.lanes + ", " + name + (tail ? ", n);" : ");");
  if (stride.is(0)) return "ap::store(" + pointer + ", " + name + ", 1);";
  if (stride.is(1))
    return std::string(stream ? "ap::stream(" : "ap::store(") + pointer + " + j, " + name +
           (tail ? ", n);" : ");");
  return "ap::scatter(" + pointer + " + j * " + stride.text() + ", " + stride.text() + ", " + name + ", " +
         (tail ? "n);" : "ap::W);");
}

}  // namespace autoperfect::schedule
