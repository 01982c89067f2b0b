// The parts of raise(): the graph so far, and what writes loads, contractions and stores into it. Values are
// spread over all axes of the kernel in order, those they do not vary over of size 1, so that they broadcast.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "ir/store_tiling.h"

namespace autoperfect {

class Raising {
 public:
  explicit Raising(const Kernel& kernel) : kernel_(kernel), buffers_(kernel.buffers.size(), -1) {
    graph_.name = kernel.name;
  }

  Graph run();

 private:
  Shape spread(const std::vector<AxisId>& axes) const;
  int64_t size_of_axis(AxisId axis) const { return kernel_.axes[axis].size; }
  Shape sizes_of(const std::vector<AxisId>& axes) const;
  const Shape& shape(ValueId v) const { return graph_.type(v).shape; }

  ValueId add(Op op, std::vector<ValueId> operands, const std::string& name) {
    return graph_.add(op, std::move(operands), {}, name);
  }
  ValueId view(Op op, ValueId v, const char* attribute, std::vector<int64_t> value, const std::string& name);
  ValueId named(ValueId v, const std::string& name);  // whoever has the name yields it
  ValueId reshaped(ValueId v, const Shape& to, const std::string& name);
  ValueId broadcast(ValueId v, const Shape& to, const std::string& name);
  ValueId sliced(ValueId v, const std::vector<Digits>& dims, const std::string& name);
  ValueId concatenated(std::vector<ValueId> parts, int64_t axis, const std::string& name);
  ValueId filled(double value, Dtype dtype, const Shape& to, const std::string& name);
  ValueId converted(ValueId v, Dtype dtype, const std::string& name);
  // The elements of a value over `axes`, the last running fastest, in any shape.
  ValueId over(ValueId v, const std::vector<AxisId>& axes, const Shape& to, const std::string& name);
  // The way back: elements over `axes` in that order, spread over all axes.
  ValueId spread_out(ValueId v, const std::vector<AxisId>& axes, const std::string& name);

  std::optional<Digits> digits_of(const Affine& index) const;
  ValueId load(const KernelOperand& operand);
  std::optional<ValueId> load_view(const KernelOperand& operand);
  ValueId load_elements(const KernelOperand& operand);
  std::optional<ValueId> padded(const KernelOperand& operand, std::vector<Affine>& index);
  ValueId gather(
      ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension);
  ValueId take(ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension);
  ValueId take_along(
      ValueId rows, const KernelOperand& operand, const std::vector<AxisId>& axes, size_t dimension);
  ValueId position(const Affine& affine);
  ValueId index_of(KernelValueId v, int64_t size);

  ValueId literal(double value, Dtype dtype);
  ValueId iota(AxisId axis, Dtype dtype);
  ValueId operand(const KernelValue& value, int i);

  ValueId compute(const KernelValue& value, const std::string& name);
  ValueId elementwise(const KernelValue& value, const std::string& name);
  ValueId reduce(const KernelValue& value, const std::string& name);
  ValueId scan(const KernelValue& value, const std::string& name);
  ValueId contract(const KernelValue& value, const std::string& name);

  bool is_stored_plainly(const KernelValue& value) const;
  ValueId stored(const std::vector<KernelValueId>& parts);
  ValueId piece_of(const KernelValue& value, ValueId v, const std::vector<Digits>& box);
  struct Piece {
    ValueId value;
    std::vector<Digits> box;
  };
  ValueId assemble(const std::vector<Piece>& pieces, const Shape& shape, const std::string& name);
  ValueId interleaved(
      const std::vector<Piece>& pieces, const Shape& shape, size_t d, int64_t step, const std::string& name);
  ValueId overlaid(const std::vector<Piece>& pieces, const Shape& shape, const std::string& name);
  ValueId placed(Piece piece, const Shape& shape, const std::string& name);
  ValueId spaced(ValueId v, size_t d, int64_t stride, const std::string& name);

  struct Known {
    KernelOperand operand;
    Dtype dtype;
    ValueId value;
  };

  const Kernel& kernel_;
  Graph graph_;
  std::vector<ValueId> buffers_, values_;
  std::vector<Known> known_;  // loads, literals and iotas already written
};

}  // namespace autoperfect
