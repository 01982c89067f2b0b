#include "reference/laid_out.h"

#include <cstring>

#include "ir/layout.h"
#include "reference/array.h"

namespace autoperfect {

namespace {

// Calls visit(number of the element in order, place in memory), both in bytes.
template <class Visit>
void for_each_element(const Buffer& buffer, Visit&& visit) {
  const Walk walk{buffer.layout.offset, strides_of(buffer)};
  const int64_t bytes = size_of(buffer.type.dtype);
  int64_t element = 0;
  for_each_position(buffer.type.shape, [&](const std::vector<int64_t>& position) {
    visit(bytes * element++, bytes * walk.at(position));
  });
}

int64_t bytes_of(const Buffer& buffer) {
  auto span = span_of(buffer);
  if (!span) throw InternalError("[reference] %" + buffer.name + " lies outside of its memory");
  return *span * size_of(buffer.type.dtype);
}

}  // namespace

Memory lay_out(const Tensor& tensor, const Buffer& buffer, unsigned char fill) {
  Memory memory(static_cast<size_t>(bytes_of(buffer)), fill);
  const auto bytes = static_cast<size_t>(size_of(buffer.type.dtype));
  for_each_element(buffer, [&](int64_t element, int64_t place) {
    std::memcpy(memory.data() + place, tensor.bytes.data() + element, bytes);
  });
  return memory;
}

Tensor read_laid_out(const Memory& memory, const Buffer& buffer) {
  if (static_cast<int64_t>(memory.size()) < bytes_of(buffer))
    throw InternalError("[reference] the memory of %" + buffer.name + " is too small");
  Tensor tensor = Tensor::zeros(buffer.type);
  const auto bytes = static_cast<size_t>(size_of(buffer.type.dtype));
  for_each_element(buffer, [&](int64_t element, int64_t place) {
    std::memcpy(tensor.bytes.data() + element, memory.data() + place, bytes);
  });
  return tensor;
}

}  // namespace autoperfect
