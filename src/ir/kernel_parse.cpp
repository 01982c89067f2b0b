#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/attribute_text.h"
#include "ir/kernel_text.h"
#include "support/spelling.h"

namespace autoperfect {

namespace {

constexpr KernelValueId poisoned = -2;  // a value whose own line was in error: its users are skipped silently

class KernelParser {
 public:
  explicit KernelParser(const std::string& text) : reader_(text, "ir") {}

  Result<Kernel> run() {
    bool complete =
        parse_header(reader_, "kernel") && parse_name() &&
        parse_block("abi", [this] { return parse_buffer(); }) &&
        parse_block("math", [this] { return reader_.at("axes") ? parse_axes() : parse_statement(); }) &&
        parse_block("numerics", [this] { return parse_numerics(); });
    if (complete) parse_end();
    resolve_dynamic_dimensions();  // also when no axes were given
    // What was read is verified even when some lines failed, so that one run finds every error.
    auto broken = verify(kernel_);
    if (reader_.has_errors()) std::erase_if(broken, [](const auto& d) { return d.code == "not-stored"; });
    auto errors = reader_.take_errors(std::move(broken));
    if (!errors.empty()) return errors;
    return std::move(kernel_);
  }

 private:
  bool parse_name() {
    reader_.skip_blank_lines();
    if (!reader_.expect("kernel")) return false;
    auto name = reader_.expect(TokenKind::symbol, "the kernel's name, such as @region");
    if (!name) return false;
    kernel_.name = name->text;
    return reader_.expect("{") && reader_.expect_end_of_line();
  }

  // Lines up to the closing brace; a line in error is skipped.
  template <class ParseLine>
  bool parse_block(std::string_view title, ParseLine parse_line) {
    reader_.skip_blank_lines();
    if (!reader_.expect(title) || !reader_.expect("{") || !reader_.expect_end_of_line()) return false;
    for (reader_.skip_blank_lines(); !reader_.take("}"); reader_.skip_blank_lines()) {
      if (reader_.at(TokenKind::end_of_text)) {
        reader_.report_unexpected("'}'");
        return false;
      }
      if (!parse_line() || !reader_.expect_end_of_line()) reader_.skip_line();
    }
    return reader_.expect_end_of_line();
  }

  void parse_end() {
    reader_.skip_blank_lines();
    if (!reader_.expect("}")) return;
    reader_.skip_blank_lines();
    if (!reader_.at(TokenKind::end_of_text)) reader_.report_unexpected("nothing after the kernel");
  }

  // in %x: f32[?i,1024] row
  bool parse_buffer() {
    Buffer buffer;
    if (reader_.take("out")) {
      buffer.role = BufferRole::out;
    } else if (!reader_.expect("in")) {
      return false;
    }
    auto name = reader_.expect(TokenKind::value, "a buffer, such as %x: f32[4] row");
    if (!name) return false;
    buffer.name = name->text;
    buffer.where = name->where;
    auto id = static_cast<BufferId>(kernel_.buffers.size());
    auto dynamic_before = dynamic_dimensions_.size();
    if (!reader_.expect(":") || !parse_buffer_type(buffer, id) || !reader_.expect("row")) {
      dynamic_dimensions_.resize(dynamic_before);
      values_.emplace(name->text, poisoned);
      return false;
    }
    if (!buffers_.emplace(name->text, id).second) {
      dynamic_dimensions_.resize(dynamic_before);
      reader_.report("duplicate-name", fmt::format("buffer %{} is given twice", name->text), name->where);
      return false;
    }
    kernel_.buffers.push_back(std::move(buffer));
    return true;
  }

  bool parse_buffer_type(Buffer& buffer, BufferId id) {
    auto dtype = parse_dtype(reader_);
    if (!dtype || !reader_.expect("[")) return false;
    buffer.type.dtype = *dtype;
    while (!reader_.at("]")) {
      int dimension = buffer.type.rank();
      if (dimension > 0 && !reader_.expect(",")) return false;
      if (reader_.take("?")) {
        auto axis = reader_.expect(TokenKind::word, "the dynamic axis, as in ?i");
        if (!axis) return false;
        dynamic_dimensions_.push_back({id, dimension, *axis});
        buffer.type.shape.push_back(1);
      } else {
        auto size = parse_size();
        if (!size) return false;
        buffer.type.shape.push_back(*size);
      }
      buffer.dynamic_dims.push_back(-1);
    }
    reader_.next();
    return true;
  }

  std::optional<int64_t> parse_size() {
    auto token = reader_.expect(TokenKind::number, "a size");
    if (!token) return std::nullopt;
    auto size = to_int64(token->text);
    if (size && *size >= 0) return size;
    reader_.report("bad-size", fmt::format("'{}' is not a size", token->text), token->where);
    return std::nullopt;
  }

  // axes i=?4096, j=1024
  bool parse_axes() {
    if (!kernel_.axes.empty() || !kernel_.values.empty()) {
      reader_.report("axes-twice", "the axes come once, before all values", reader_.peek().where);
      return false;
    }
    axes_in_error_ = true;  // until the line is read
    do {
      reader_.next();  // `axes` or ','
      auto name = reader_.expect(TokenKind::word, "an axis, such as i=4096");
      if (!name || !reader_.expect("=")) return false;
      Axis axis;
      axis.name = name->text;
      axis.where = name->where;
      axis.dynamic = reader_.take("?");
      // `i=?` is the canonical form, which is the same for every size.
      if (!axis.dynamic || reader_.at(TokenKind::number)) {
        auto size = parse_size();
        if (!size) return false;
        axis.size = *size;
      }
      axes_.emplace(name->text, static_cast<AxisId>(kernel_.axes.size()));
      kernel_.axes.push_back(std::move(axis));
    } while (reader_.at(","));
    axes_in_error_ = false;
    return true;
  }

  void resolve_dynamic_dimensions() {
    if (axes_in_error_) return;
    for (const auto& [buffer, dimension, name] : dynamic_dimensions_) {
      auto axis = axes_.find(name.text);
      if (axis == axes_.end()) {
        auto message = fmt::format("no axis is called '{}'", name.text);
        reader_.report("unknown-axis", message, name.where, "the axes are listed at the head of the math");
      } else {
        kernel_.buffers[buffer].dynamic_dims[dimension] = axis->second;
        kernel_.buffers[buffer].type.shape[dimension] = kernel_.axes[axis->second].size;
      }
    }
  }

  // %total[i] = sum(j) %x[i,j] : f32
  bool parse_statement() {
    auto name = reader_.expect(TokenKind::value, "a value, such as %t[i] = exp %x[i] : f32");
    // Without axes, or with its buffer in error, a statement would only repeat what was reported already.
    if (!name || axes_in_error_ || is_poisoned(name->text)) return false;
    KernelValue value;
    value.name = name->text;
    value.where = name->where;
    bool good = parse_target(value) && reader_.expect("=") && parse_op_name(value) && parse_operands(value) &&
                parse_attributes(reader_, value.attributes) && reader_.expect(":");
    auto dtype = good ? parse_dtype(reader_) : std::nullopt;
    if (!dtype) {
      values_.emplace(name->text, poisoned);
      return false;
    }
    value.dtype = *dtype;
    values_.emplace(name->text, static_cast<KernelValueId>(kernel_.values.size()));
    kernel_.values.push_back(std::move(value));
    return true;
  }

  bool is_poisoned(std::string_view name) const {
    auto found = values_.find(name);
    return found != values_.end() && found->second == poisoned;
  }

  // [i,j], or for an output the store map
  bool parse_target(KernelValue& value) {
    auto buffer = buffers_.find(value.name);
    bool is_output = buffer != buffers_.end() && kernel_.buffers[buffer->second].role == BufferRole::out;
    auto index = parse_index();
    if (!index) return false;
    if (!is_output) return as_axes(*index, value.where, value.axes);
    value.output = buffer->second;
    for (const auto& affine : *index) {
      for (const auto& term : affine.terms)
        value.axes.push_back(term.first);
    }
    std::sort(value.axes.begin(), value.axes.end());
    value.axes.erase(std::unique(value.axes.begin(), value.axes.end()), value.axes.end());
    value.store = std::move(*index);
    return true;
  }

  bool as_axes(const std::vector<Affine>& index, const Where& where, std::vector<AxisId>& axes) {
    for (const auto& affine : index) {
      if (affine.offset != 0 || affine.terms.size() != 1 || affine.terms[0].second != 1) {
        reader_.report(
            "not-an-axis", "a value is written with its axes alone", where, "index maps are for buffers");
        return false;
      }
      axes.push_back(affine.terms[0].first);
    }
    return true;
  }

  bool parse_op_name(KernelValue& value) {
    auto word = reader_.expect(TokenKind::word, "an op");
    if (!word) return false;
    value.where = word->where;
    auto op = parse_op(word->text);
    if (!op) {
      auto near = nearest_word(word->text, all_op_names());
      auto hint = near.empty() ? "ops.def lists all ops" : fmt::format("did you mean '{}'?", near);
      reader_.report("unknown-op", fmt::format("no op is called '{}'", word->text), word->where, hint);
      return false;
    }
    value.op = *op;
    if (!reader_.take("(")) return true;
    while (!reader_.at(")")) {
      if (!value.reduced.empty() && !reader_.expect(",")) return false;
      auto axis = parse_axis();
      if (!axis) return false;
      value.reduced.push_back(*axis);
    }
    reader_.next();
    return true;
  }

  bool parse_operands(KernelValue& value) {
    do {
      if (!value.operands.empty()) reader_.next();  // ','
      auto operand = parse_operand();
      if (!operand) return false;
      value.operands.push_back(std::move(*operand));
    } while (reader_.at(","));
    return true;
  }

  std::optional<KernelOperand> parse_operand() {
    KernelOperand operand;
    if (reader_.at(TokenKind::value)) return parse_reference();
    if (reader_.take("iota")) {
      auto axis = parse_axis();
      if (!axis) return std::nullopt;
      operand.kind = KernelOperand::Kind::iota;
      operand.id = *axis;
      return operand;
    }
    operand.kind = KernelOperand::Kind::literal;
    if (reader_.at("true") || reader_.at("false")) {
      operand.literal = reader_.next().text == "true";
      return operand;
    }
    if (!reader_.at(TokenKind::number) && !reader_.at("inf") && !reader_.at("nan")) {
      reader_.report_unexpected("an operand");
      return std::nullopt;
    }
    auto number = parse_double(reader_);
    if (!number) return std::nullopt;
    operand.literal = *number;
    return operand;
  }

  std::optional<KernelOperand> parse_reference() {
    auto name = reader_.next();
    auto index = parse_index();
    if (!index) return std::nullopt;
    KernelOperand operand;
    auto value = values_.find(name.text);
    if (value != values_.end())
      return value->second == poisoned ? std::nullopt : reference_to(value->second, name, *index);
    auto buffer = buffers_.find(name.text);
    if (buffer != buffers_.end() && kernel_.buffers[buffer->second].role == BufferRole::in) {
      operand.kind = KernelOperand::Kind::load;
      operand.id = buffer->second;
      operand.index = std::move(*index);
      return operand;
    }
    reader_.report(
        "undefined-value",
        fmt::format("%{} is neither an input nor defined above", name.text),
        name.where,
        "values are defined above their uses");
    return std::nullopt;
  }

  std::optional<KernelOperand> reference_to(
      KernelValueId id, const Token& name, const std::vector<Affine>& index) {
    KernelOperand operand;
    operand.kind = KernelOperand::Kind::value;
    operand.id = id;
    std::vector<AxisId> axes;
    if (!as_axes(index, name.where, axes)) return std::nullopt;
    if (axes == kernel_.values[id].axes) return operand;
    std::vector<std::string> wanted;
    for (auto axis : kernel_.values[id].axes)
      wanted.push_back(kernel_.axes[axis].name);
    reader_.report(
        "axes-mismatch",
        fmt::format("%{} is used with other axes than it has", name.text),
        name.where,
        fmt::format("write %{}[{}]", name.text, fmt::join(wanted, ",")));
    return std::nullopt;
  }

  std::optional<AxisId> parse_axis() {
    auto word = reader_.expect(TokenKind::word, "an axis");
    if (!word) return std::nullopt;
    auto axis = axes_.find(word->text);
    if (axis != axes_.end()) return axis->second;
    auto message = fmt::format("no axis is called '{}'", word->text);
    reader_.report("unknown-axis", message, word->where, "the axes are listed at the head of the math");
    return std::nullopt;
  }

  std::optional<std::vector<Affine>> parse_index() {
    std::vector<Affine> index;
    if (!reader_.expect("[")) return std::nullopt;
    while (!reader_.at("]")) {
      if (!index.empty() && !reader_.expect(",")) return std::nullopt;
      auto affine = parse_affine();
      if (!affine) return std::nullopt;
      index.push_back(std::move(*affine));
    }
    reader_.next();
    return index;
  }

  // 2*j+k-1: terms of an axis, a number, or a number times an axis, in any order.
  std::optional<Affine> parse_affine() {
    Affine affine;
    bool first = true;
    do {
      auto where = reader_.peek().where;
      int64_t sign = 1;
      if (!first && reader_.take("+")) {
      } else if (reader_.take("-")) {
        sign = -1;
      } else if (!first && reader_.peek().text.substr(0, 1) != "-") {
        reader_.report_unexpected("'+' or '-'");
        return std::nullopt;
      }
      if (!parse_term(affine, sign, where)) return std::nullopt;
      first = false;
    } while (!reader_.at(",") && !reader_.at("]"));
    std::erase_if(affine.terms, [](const auto& term) { return term.second == 0; });
    return affine;
  }

  bool parse_term(Affine& affine, int64_t sign, const Where& where) {
    int64_t factor = sign;
    if (reader_.at(TokenKind::number)) {
      auto number = to_int64(reader_.next().text);
      if (!number || __builtin_mul_overflow(*number, sign, &factor)) return report_index(where);
      if (!reader_.take("*")) {
        return !__builtin_add_overflow(affine.offset, factor, &affine.offset) || report_index(where);
      }
    }
    auto axis = parse_axis();
    if (!axis) return false;
    auto& terms = affine.terms;
    auto place = std::lower_bound(terms.begin(), terms.end(), std::pair(*axis, INT64_MIN));
    if (place == terms.end() || place->first != *axis) place = terms.insert(place, {*axis, 0});
    return !__builtin_add_overflow(place->second, factor, &place->second) || report_index(where);
  }

  bool report_index(const Where& where) {
    reader_.report("bad-index", "this is not an integer of 64 bits", where);
    return false;
  }

  bool parse_numerics() {
    auto& numerics = kernel_.numerics;
    if (reader_.take("accumulate")) {
      auto dtype = parse_dtype(reader_);
      if (dtype) numerics.accumulate = *dtype;
      return dtype.has_value();
    }
    if (reader_.take("reassociate")) {
      numerics.reassociate = reader_.at("yes");
      if (reader_.take("yes") || reader_.take("no")) return true;
      reader_.report_unexpected("'yes' or 'no'");
      return false;
    }
    if (reader_.take("budget")) return parse_budget();
    reader_.report_unexpected("'accumulate', 'reassociate', 'budget' or '}'");
    return false;
  }

  bool parse_budget() {
    const std::pair<std::string_view, double*> fields[] = {
        {"ulp", &kernel_.numerics.ulp}, {"abs", &kernel_.numerics.abs}, {"rel", &kernel_.numerics.rel}};
    for (const auto& [name, field] : fields) {
      if (!reader_.expect(name) || !reader_.expect("=")) return false;
      auto number = parse_double(reader_);
      if (!number) return false;
      *field = *number;
    }
    return true;
  }

  struct DynamicDimension {
    BufferId buffer = -1;
    int dimension = 0;
    Token axis;
  };

  TextReader reader_;
  Kernel kernel_;
  bool axes_in_error_ = false;
  std::vector<DynamicDimension> dynamic_dimensions_;
  std::unordered_map<std::string_view, BufferId> buffers_;
  std::unordered_map<std::string_view, AxisId> axes_;
  std::unordered_map<std::string_view, KernelValueId> values_;
};

}  // namespace

Result<Kernel> parse_kernel(const std::string& text) {
  return KernelParser(text).run();
}

}  // namespace autoperfect
