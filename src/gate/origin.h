// What a wrong element is, in the words of the kernel and of the program it comes from.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// The outputs by number, those first whose values come first: a wrong value makes wrong what is computed of
// it later.
std::vector<size_t> in_order_of_statements(const Kernel& kernel);

struct Origin {
  std::string statement;  // that gives the element: "%y[i,j] = sub %x[i,j], %mean[i] : f32"
  // Of the program, where that and the values it is made of come from, the nearest first: "program.py:12,
  // %mean at program.py:11". For people: it has names and paths of theirs.
  std::string places;
};
Origin origin_of(const Kernel& kernel, size_t output, int64_t element);

}  // namespace autoperfect
