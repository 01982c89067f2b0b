// Small random kernels of every form: guarded and gathered loads, reductions, contractions, scans, outputs
// stored whole, turned around, merged and in parts; inputs of any layout. The same seed gives the same kernel
// on every machine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

class RandomKernel {
 public:
  // What may occur in it beside the rest.
  struct Forms {
    bool layouts = true, contractions = true;
  };
  explicit RandomKernel(unsigned seed) : RandomKernel(seed, Forms{}) {}
  RandomKernel(unsigned seed, Forms forms) : forms_(forms), random_(seed) {}

  std::string text() {
    dtype_ = pick({"f32", "f32", "f16", "bf16"});
    for (int a = 0; a < 4; ++a)
      sizes_.push_back(1 + below(4));
    for (int b = 0; b < 3; ++b)
      add_buffer(dtype_, 1 + below(3), 5);
    add_buffer(pick({"i32", "i64", "u8"}), 1, 6);
    add_index();
    for (int n = 2 + below(5); n > 0; --n)
      add_value();
    for (int n = 1 + below(2); n > 0; --n)
      add_output();
    return text_of_all();
  }

 private:
  using Axes = std::vector<int>;
  struct Buffer {
    std::string name, dtype;
    std::vector<int> shape;
    std::string layout = "row";
  };
  struct Named {
    std::string name;
    Axes axes;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string pick(std::vector<std::string> from) { return from[below(static_cast<int>(from.size()))]; }
  static std::string axis(int a) { return std::string(1, static_cast<char>('i' + a)); }

  static std::string in_brackets(const Axes& axes, const char* open = "[", const char* close = "]") {
    std::vector<std::string> names;
    for (int a : axes)
      names.push_back(axis(a));
    return fmt::format("{}{}{}", open, fmt::join(names, ","), close);
  }
  std::string written(const Named& value) const { return "%" + value.name + in_brackets(value.axes); }

  Axes some_axes() {
    Axes axes;
    for (int a = 0; a < 4; ++a) {
      if (below(2)) axes.push_back(a);
    }
    return axes;
  }

  void add_buffer(const std::string& dtype, int rank, int most) {
    Buffer buffer{fmt::format("x{}", buffers_.size()), dtype, {}};
    for (int d = 0; d < rank; ++d)
      buffer.shape.push_back(1 + below(most));
    if (forms_.layouts && below(2)) buffer.layout = some_layout(buffer.shape);
    buffers_.push_back(buffer);
  }

  // Gaps between elements, and dimensions that run backwards, that repeat or whose stride is open.
  std::string some_layout(const std::vector<int>& shape) {
    std::vector<std::string> strides(shape.size());
    int step = 2, offset = below(3);
    const bool first_is_densest = below(2);
    for (size_t n = 0; n < shape.size(); ++n) {
      const size_t d = first_is_densest ? n : shape.size() - 1 - n;
      const int form = below(6);
      strides[d] = form == 0 ? "?" : std::to_string(form == 1 ? 0 : form == 2 ? -step : step);
      if (form == 2) offset += step * (shape[d] - 1);
      step *= shape[d];
    }
    return fmt::format("strides=[{}] offset={}", fmt::join(strides, ","), offset);
  }

  // 2*i-j+3 over some of the axes; mostly one axis or none.
  std::string affine(const Axes& axes) {
    std::string out = std::to_string(below(3) - 1);
    for (int n = below(5) == 0 ? 2 : below(5) == 0 ? 0 : 1; n > 0 && !axes.empty(); --n) {
      const int coefficient = below(4) == 0 ? below(5) - 2 : 1;
      out = fmt::format(
          "{}*{}{}{}",
          coefficient,
          axis(axes[below(static_cast<int>(axes.size()))]),
          out[0] == '-' ? "" : "+",
          out);
    }
    return out;
  }

  std::string load(const Buffer& buffer, const Axes& axes) {
    std::vector<std::string> index;
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      const bool fits = std::includes(axes.begin(), axes.end(), index_.axes.begin(), index_.axes.end());
      const bool gathers = fits && !index_.name.empty() && below(4) == 0;
      index.push_back(gathers ? written(index_) : affine(axes));
    }
    const bool is_float = buffer.dtype == dtype_;
    return fmt::format(
        "%{}[{}] else {}",
        buffer.name,
        fmt::join(index, ","),
        is_float ? pick({"0.5", "-inf", "0.0"}) : "-1");
  }

  void add_index() {
    Named index{"at", some_axes()};
    Buffer& from = buffers_[3];
    lines_.push_back(fmt::format(
        "{} = copy {} : {}",
        written(index),
        from.dtype == "u8" ? fmt::format("%{}[0]", from.name) : load(from, index.axes),
        from.dtype));
    index_ = index;
  }

  std::string operand(const Axes& axes, bool may_be_literal) {
    std::vector<const Named*> fitting;
    for (const auto& value : values_) {
      if (std::includes(axes.begin(), axes.end(), value.axes.begin(), value.axes.end()))
        fitting.push_back(&value);
    }
    if (!fitting.empty() && below(3) > 0) return written(*fitting[below(static_cast<int>(fitting.size()))]);
    if (may_be_literal && below(5) == 0) return pick({"0.25", "-1.5"});
    if (may_be_literal && !axes.empty() && below(8) == 0)
      return "iota " + axis(axes[below(static_cast<int>(axes.size()))]);
    return load(buffers_[below(3)], axes);
  }

  void add_value() {
    Named value{fmt::format("v{}", values_.size()), some_axes()};
    Axes reduced, both;
    for (int a = 0; a < 4; ++a) {
      if (!std::count(value.axes.begin(), value.axes.end(), a) && below(2)) reduced.push_back(a);
    }
    std::set_union(
        value.axes.begin(), value.axes.end(), reduced.begin(), reduced.end(), std::back_inserter(both));
    std::string math;
    const int form = below(5);
    const bool contracts = form == 1 && forms_.contractions;
    if (form == 0 && !reduced.empty()) {
      math = fmt::format(
          "{}{} {}", pick({"sum", "max", "min"}), in_brackets(reduced, "(", ")"), operand(both, false));
    } else if (contracts && !reduced.empty()) {
      math = fmt::format(
          "matmul{} {}, {}", in_brackets(reduced, "(", ")"), operand(both, false), operand(both, true));
    } else if (form == 2 && !value.axes.empty()) {
      math = fmt::format(
          "{}({}) {} inclusive={} reverse={}",
          pick({"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}),
          axis(value.axes[below(static_cast<int>(value.axes.size()))]),
          operand(value.axes, false),
          pick({"true", "false"}),
          pick({"true", "false"}));
    } else if (form == 3) {
      math = fmt::format("{} {}", pick({"neg", "abs", "tanh", "copy"}), operand(value.axes, true));
    } else {
      math = fmt::format(
          "{} {}, {}",
          pick({"add", "sub", "mul", "maximum"}),
          operand(value.axes, true),
          operand(value.axes, false));
    }
    lines_.push_back(fmt::format("{} = {} : {}", written(value), math, dtype_));
    values_.push_back(value);
  }

  // Of the axes of some value in any order: one dimension each, some backwards, or all merged into one;
  // whole, or beside a second part along one of them.
  void add_output() {
    const Named value = values_[below(static_cast<int>(values_.size()))];
    Buffer out{fmt::format("y{}", outputs_.size()), dtype_, {}};
    Axes order = value.axes;
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::string> index, other;
    const int along = below(3) == 0 || order.empty() ? -1 : below(static_cast<int>(order.size()));
    const bool interleaves = below(2);
    for (size_t d = 0; d < order.size(); ++d) {
      const int size = sizes_[order[d]];
      const std::string forwards = axis(order[d]), backwards = fmt::format("{}-{}", size - 1, forwards);
      const bool has_parts = static_cast<int>(d) == along;
      out.shape.push_back(has_parts ? 2 * size : size);
      if (!has_parts) {
        index.push_back(below(3) ? forwards : backwards);
        other.push_back(below(3) ? forwards : backwards);
      } else if (interleaves) {
        index.push_back("2*" + forwards);
        other.push_back("2*" + forwards + "+1");
      } else {
        index.push_back(fmt::format("{}+{}", forwards, size));
        other.push_back(backwards);
      }
    }
    if (along < 0 && below(3) == 0) merge(out, index, order);
    store(out, index, value);
    if (along >= 0) store(out, other, value);
    outputs_.push_back(out);
  }

  void merge(Buffer& out, std::vector<std::string>& index, const Axes& order) {
    std::string merged = "0";
    int stride = 1;
    for (size_t d = order.size(); d-- > 0; stride *= sizes_[order[d]])
      merged = fmt::format("{}*{}+{}", stride, axis(order[d]), merged);
    out.shape = {stride};
    index = {merged};
  }

  void store(const Buffer& out, const std::vector<std::string>& index, const Named& value) {
    lines_.push_back(fmt::format(
        "%{}[{}] = {} {} : {}",
        out.name,
        fmt::join(index, ","),
        pick({"copy", "neg"}),
        written(value),
        dtype_));
  }

  std::string text_of_all() const {
    std::string out = "autoperfect.kernel 1\nkernel @random {\n  abi {\n";
    for (const auto& buffer : buffers_)
      out += fmt::format(
          "    in %{}: {}[{}] {}\n", buffer.name, buffer.dtype, fmt::join(buffer.shape, ","), buffer.layout);
    for (const auto& buffer : outputs_)
      out +=
          fmt::format("    out %{}: {}[{}] row\n", buffer.name, buffer.dtype, fmt::join(buffer.shape, ","));
    out += "  }\n  math {\n    axes ";
    for (int a = 0; a < 4; ++a)
      out += fmt::format("{}{}={}", a ? ", " : "", axis(a), sizes_[a]);
    for (const auto& line : lines_)
      out += "\n    " + line;
    return out + "\n  }\n  numerics {\n    accumulate f32\n    budget ulp=8.0 abs=0.0 rel=0.0\n  }\n}\n";
  }

  Forms forms_;
  std::mt19937 random_;
  std::string dtype_;
  std::vector<int> sizes_;
  std::vector<Buffer> buffers_, outputs_;
  std::vector<Named> values_;
  Named index_;
  std::vector<std::string> lines_;
};

}  // namespace autoperfect
