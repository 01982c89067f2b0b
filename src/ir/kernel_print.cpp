#include <cmath>

#include "ir/attribute_text.h"
#include "ir/canonical_order.h"
#include "ir/identifier.h"
#include "ir/index_text.h"
#include "ir/kernel_text.h"
#include "ir/layout.h"
#include "support/number.h"

namespace autoperfect {

namespace {

class KernelPrinter {
 public:
  KernelPrinter(const Kernel& kernel, Names names) : kernel_(kernel), canonical_(names == Names::canonical) {
    choose_names();
  }

  std::string run() {
    out_ =
        "autoperfect.kernel 1\nkernel @" + (canonical_ ? "_" : to_identifier(kernel_.name)) + " {\n  abi {\n";
    for (size_t b = 0; b < kernel_.buffers.size(); ++b)
      append_buffer(static_cast<BufferId>(b));
    out_ += "  }\n  math {\n";
    append_axis_sizes();
    for (size_t v = 0; v < kernel_.values.size(); ++v)
      append_statement(static_cast<KernelValueId>(v));
    out_ += "  }\n  numerics {\n";
    append_numerics();
    out_ += "  }\n}\n";
    return std::move(out_);
  }

  std::string statement(KernelValueId v) {
    append_statement(v);
    return out_.substr(4, out_.size() - 5);  // without the indentation and the end of the line
  }

 private:
  static std::string role_name(BufferRole role) {
    return role == BufferRole::in ? "in" : role == BufferRole::out ? "out" : "temp";
  }

  void choose_names() {
    int counts[3] = {}, values = 0;
    for (const auto& buffer : kernel_.buffers) {
      auto canonical = role_name(buffer.role) + std::to_string(counts[static_cast<int>(buffer.role)]++);
      buffers_.push_back(canonical_ ? canonical : buffer.name);
    }
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      axes_.push_back(canonical_ ? "a" + std::to_string(a) : kernel_.axes[a].name);
    }
    for (const auto& value : kernel_.values) {
      if (value.output >= 0) {
        values_.push_back(buffers_[value.output]);
      } else {
        values_.push_back(canonical_ ? std::to_string(values++) : value.name);
      }
    }
  }

  // A dimension that is the size of a dynamic axis is written by its name: `?i`.
  void append_buffer(BufferId b) {
    const auto& buffer = kernel_.buffers[b];
    out_ += "    " + role_name(buffer.role) + " %" + buffers_[b] + ": " +
            std::string(name(buffer.type.dtype)) + '[';
    for (size_t d = 0; d < buffer.type.shape.size(); ++d) {
      if (d > 0) out_ += ',';
      AxisId axis = d < buffer.dynamic_dims.size() ? buffer.dynamic_dims[d] : -1;
      out_ += axis >= 0 ? '?' + axes_[axis] : std::to_string(buffer.type.shape[d]);
    }
    out_ += "] ";
    append_layout(buffer.layout);
    if (buffer.alias >= 0) out_ += " alias=%" + buffers_[buffer.alias];
    out_ += '\n';
  }

  void append_layout(const Layout& layout) {
    out_ += layout.strides.empty() ? "row" : strides_text(layout.strides);
    if (layout.offset != 0) out_ += " offset=" + std::to_string(layout.offset);
    if (layout.align != 0) out_ += " align=" + std::to_string(layout.align);
  }

  void append_axis_sizes() {
    if (kernel_.axes.empty()) return;
    out_ += "    axes ";
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      const auto& axis = kernel_.axes[a];
      if (a > 0) out_ += ", ";
      out_ += axes_[a] + '=';
      if (axis.dynamic) out_ += '?';
      if (!axis.dynamic || !canonical_) out_ += std::to_string(axis.size);
    }
    out_ += '\n';
  }

  void append_statement(KernelValueId v) {
    const auto& value = kernel_.values[v];
    out_ += "    %" + values_[v];
    if (value.output >= 0) {
      append_index(out_, value.store, axes_);
    } else {
      append_in('[', value.axes, ']');
    }
    out_ += " = ";
    out_ += name(value.op);
    if (!value.reduced.empty()) append_in('(', value.reduced, ')');
    if (value.scanned >= 0) out_ += '(' + axes_[value.scanned] + ')';
    for (size_t i = 0; i < value.operands.size(); ++i) {
      out_ += i > 0 ? ", " : " ";
      append_operand(value, static_cast<int>(i));
    }
    append_attributes(out_, value.attributes);
    out_ += " : ";
    out_ += name(value.dtype);
    out_ += '\n';
  }

  void append_operand(const KernelValue& value, int i) {
    const auto& operand = value.operands[i];
    switch (operand.kind) {
      case KernelOperand::Kind::value:
        append_value(operand.id);
        break;
      case KernelOperand::Kind::load:
        append_load(operand);
        break;
      case KernelOperand::Kind::literal:
        append_literal(operand.literal, operand_dtype(kernel_, value, i));
        break;
      case KernelOperand::Kind::iota:
        out_ += "iota " + axes_[operand.id];
        break;
    }
  }

  void append_value(KernelValueId v) {
    out_ += '%' + values_[v];
    append_in('[', kernel_.values[v].axes, ']');
  }

  void append_load(const KernelOperand& load) {
    out_ += '%' + buffers_[load.id] + '[';
    for (size_t d = 0; d < load.index.size(); ++d) {
      if (d > 0) out_ += ',';
      if (load.gathers() && load.gathered[d] >= 0) {
        append_value(load.gathered[d]);
      } else {
        append_affine(out_, load.index[d], axes_);
      }
    }
    out_ += ']';
    if (!load.guarded) return;
    out_ += " else ";
    append_literal(load.literal, kernel_.buffers[load.id].type.dtype);
  }

  void append_literal(double literal, Dtype dtype) {
    constexpr double exact = 9007199254740992;  // 2^53
    bool integral = literal >= -exact && literal <= exact && literal == std::trunc(literal);
    if (dtype == Dtype::bool_ && (literal == 0 || literal == 1)) {
      out_ += literal == 1 ? "true" : "false";
    } else if (is_integer(dtype) && integral) {
      out_ += std::to_string(static_cast<int64_t>(literal));
    } else {
      out_ += format_number(literal);
    }
  }

  void append_in(char open, const std::vector<AxisId>& axes, char close) {
    out_ += open;
    append_axes(out_, axes, axes_);
    out_ += close;
  }

  void append_numerics() {
    const auto& numerics = kernel_.numerics;
    out_ += "    accumulate " + std::string(name(numerics.accumulate)) + '\n';
    out_ += std::string("    reassociate ") + (numerics.reassociate ? "yes" : "no") + '\n';
    if (numerics.wide) out_ += "    wide yes\n";
    out_ += "    budget ulp=" + format_number(numerics.ulp) + " abs=" + format_number(numerics.abs) +
            " rel=" + format_number(numerics.rel) + '\n';
  }

  const Kernel& kernel_;
  bool canonical_;
  std::vector<std::string> buffers_, axes_, values_;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel, Names names) {
  if (names == Names::canonical) return KernelPrinter(canonical_order(kernel), names).run();
  return KernelPrinter(kernel, names).run();
}

std::string print_statement(const Kernel& kernel, const KernelValue& value) {
  return KernelPrinter(kernel, Names::kept)
      .statement(static_cast<KernelValueId>(&value - kernel.values.data()));
}

}  // namespace autoperfect
