// The state of write_statements(): the kernel so far, and how what a trace demands is written as an operand.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/landings.h"
#include "lower/statements.h"

namespace autoperfect {

class StatementWriter {
 public:
  StatementWriter(const Graph& graph, const Region& region, const Trace& trace);
  Kernel run();

 private:
  void add_buffer(ValueId v, BufferRole role);
  void write(const Instance& instance);
  void write_plain(const Instance& instance, KernelValue value);
  void write_contraction(const Instance& instance, KernelValue value);
  void write_concatenate(const Instance& instance, KernelValue value);
  void write_pad(const Instance& instance, KernelValue value);
  void write_slice_update(const Instance& instance, KernelValue value);
  // Scatters (scatters.cpp).
  void write_scatter(const Instance& instance, KernelValue value);
  KernelOperand place_of(int index, int64_t size);
  std::optional<KernelOperand> lands(const Instance& instance, const Landings& landings, const int* indices);
  KernelOperand combined(const Node& node, int update, KernelOperand before);
  KernelOperand emit(const std::string& name, Op op, Dtype dtype, std::vector<KernelOperand> operands);

  void write_copy(const Instance& instance, KernelValue value, int demand);
  void write_choice(
      const Instance& instance,
      KernelValue value,
      const std::vector<int64_t>& start,
      int inside,
      int outside,
      const Shape& shape);
  KernelOperand inside_of(const Instance& instance, const std::vector<int64_t>& start, const Shape& shape);
  void finish(const Instance& instance, KernelValue value);

  // Operands (operands.cpp).
  KernelOperand operand(int demand, double outside = 0);
  KernelOperand load(const Demand& demand, double outside);
  KernelOperand arange(ValueId arange, const Affine& position);
  KernelOperand position(const Affine& affine);  // as an i32
  KernelOperand named(int demand);               // as a value of its own
  KernelValueId gathered_by(int demand);

  KernelOperand emit(
      const std::string& name,
      Op op,
      Dtype dtype,
      std::vector<AxisId> axes,
      std::vector<KernelOperand> operands);
  KernelOperand push(KernelValue value);
  std::string fresh_name(const std::string& wanted);
  std::vector<AxisId> axes_of(const Affine& affine) const;

  const Graph& graph_;
  const Region& region_;
  const Trace& trace_;
  Kernel kernel_;
  std::unordered_map<ValueId, BufferId> input_;
  std::unordered_set<std::string> names_;
  std::vector<KernelOperand> written_;                       // per instance
  std::unordered_map<int, KernelValueId> named_;             // demands that became values
  std::vector<std::pair<Affine, KernelOperand>> positions_;  // already written
  struct WrittenArange {
    ValueId arange;
    Affine position;
    KernelOperand operand;
  };
  std::vector<WrittenArange> aranges_;
  NodeId node_ = -1;  // being written
};

// A literal of a kernel.
KernelOperand literal_operand(double number);

}  // namespace autoperfect
