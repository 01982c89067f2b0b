// The numbers of one family against the references. Pure: no process, no memory of earlier families.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate/accumulated.h"
#include "gate/error_bound.h"
#include "gate/families.h"
#include "gate/gate.h"

namespace autoperfect {

struct References {
  std::vector<Tensor> oracle;  // floats in double
  std::vector<Tensor> exact;   // rounded as the contract says
  std::vector<Tensor> eager;   // what MLX gives; empty: not at hand
  std::shared_ptr<LazyTensors> bounds = std::make_shared<LazyTensors>(error_bounds);
  std::shared_ptr<LazyTensors> sign_doubts = std::make_shared<LazyTensors>(autoperfect::sign_doubts);
  std::shared_ptr<LazyTensors> accumulated = std::make_shared<LazyTensors>(autoperfect::accumulated);
};

// `outputs` in ABI order. A failure names the first element that differs.
FamilyResult judge(
    const InputFamily& family, const References& references, const std::vector<Tensor>& outputs);

// "[3, 5]" of an element of a row-major tensor; "" for a scalar.
std::string index_text(const Shape& shape, int64_t element);

// The distance of neighbours of `dtype` around a number, not below its smallest subnormal.
double ulp_at(Dtype dtype, double number);

}  // namespace autoperfect
