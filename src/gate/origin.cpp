#include "gate/origin.h"

#include <algorithm>

#include "ir/kernel_text.h"

namespace autoperfect {
namespace {

constexpr size_t most_places = 4;  // of what it is made of

BufferId buffer_of(const Kernel& kernel, size_t output) {
  size_t next = 0;
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].role == BufferRole::out && next++ == output) return static_cast<BufferId>(b);
  return -1;
}

// Whether an index is one that the axes reach: their steps nest, so that the longest go first.
bool reaches(const Kernel& kernel, const Affine& affine, int64_t index) {
  auto terms = affine.terms;
  int64_t rest = index - affine.offset;
  for (auto& [axis, step] : terms) {
    int64_t last = kernel.axes[axis].size - 1;
    if (step < 0) rest -= step * last, step = -step;
  }
  std::sort(terms.begin(), terms.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (auto& [axis, step] : terms)
    rest -= step * std::clamp<int64_t>(rest / step, 0, kernel.axes[axis].size - 1);
  return rest == 0;
}

const KernelValue* value_at(const Kernel& kernel, BufferId output, int64_t element) {
  const Shape& shape = kernel.buffers[output].type.shape;
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= std::max<int64_t>(1, shape[d]))
    index[d] = element % std::max<int64_t>(1, shape[d]);
  for (auto& value : kernel.values) {
    if (value.output != output) continue;
    bool stores = true;
    for (size_t d = 0; d < index.size(); ++d)
      stores = stores && reaches(kernel, value.store[d], index[d]);
    if (stores) return &value;
  }
  return nullptr;
}

}  // namespace

std::vector<size_t> in_order_of_statements(const Kernel& kernel) {
  std::vector<std::pair<size_t, size_t>> found;  // first statement, number
  size_t outputs = 0;
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].role != BufferRole::out) continue;
    auto stored = std::find_if(kernel.values.begin(), kernel.values.end(), [&](const KernelValue& value) {
      return value.output == static_cast<BufferId>(b);
    });
    found.push_back({static_cast<size_t>(stored - kernel.values.begin()), outputs++});
  }
  std::sort(found.begin(), found.end());
  std::vector<size_t> order;
  for (auto& [statement, output] : found)
    order.push_back(output);
  return order;
}

Origin origin_of(const Kernel& kernel, size_t output, int64_t element) {
  BufferId buffer = buffer_of(kernel, output);
  const KernelValue* value = buffer < 0 ? nullptr : value_at(kernel, buffer, element);
  if (!value) return {};
  Origin origin{print_statement(kernel, *value), place_of(kernel, *value)};
  // What it is made of, nearest first, each line of the program once.
  std::vector<std::string> places = {origin.places};
  std::vector<KernelValueId> open;
  std::vector<bool> seen(kernel.values.size(), false);
  auto add_operands = [&](const KernelValue& of) {
    for (auto& operand : of.operands) {
      if (operand.kind != KernelOperand::Kind::value || seen[operand.id]) continue;
      seen[operand.id] = true;
      open.push_back(operand.id);
    }
  };
  add_operands(*value);
  for (size_t next = 0; next < open.size() && places.size() <= most_places; ++next) {
    const auto& part = kernel.values[open[next]];
    auto place = place_of(kernel, part);
    if (!place.empty() && std::find(places.begin(), places.end(), place) == places.end()) {
      origin.places += (origin.places.empty() ? "%" : ", %") + part.name + " at " + place;
      places.push_back(place);
    }
    add_operands(part);
  }
  return origin;
}

}  // namespace autoperfect
