// One call of mlx.core as a node of a graph: what parse_mlx_python() makes of `mx.sum(x, axis=1)`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/text_lexer.h"

namespace autoperfect {

// A value of the graph, a Python number or bool (also for `keepdims=True`), a dtype, or a list or tuple of
// them.
struct MlxArgument {
  enum class Kind : uint8_t { value, integer, real, boolean, dtype, list };
  Kind kind = Kind::value;
  ValueId value = -1;
  int64_t integer = 0;  // a u64 as its bits
  double real = 0;      // of an integer, too
  Dtype dtype = Dtype::f32;
  std::vector<MlxArgument> items;
  Where where;

  bool is_number() const { return kind == Kind::integer || kind == Kind::real || kind == Kind::boolean; }
};

struct MlxCall {
  std::string_view function;
  std::vector<MlxArgument> arguments;
  std::map<std::string_view, MlxArgument> keywords;
  Where where;
};

class MlxCalls {
 public:
  MlxCalls(Graph& graph, TextReader& reader) : graph_(graph), reader_(reader) {}

  // Nothing after reporting why.
  std::optional<ValueId> apply(const MlxCall& call);
  std::optional<ValueId> add(Op op, std::vector<ValueId> operands, Attributes attributes, const Where& where);

 private:
  using Kind = MlxArgument::Kind;

  std::nullopt_t report(const MlxCall& call, const std::string& message);
  const MlxArgument* argument(const MlxCall& call, size_t position, std::string_view keyword) const;
  std::optional<ValueId> value(const MlxCall& call, size_t position);
  std::optional<std::vector<int64_t>> integers(const MlxArgument* argument) const;
  std::optional<std::vector<int64_t>> axes(const MlxCall& call, size_t position, ValueId of) const;
  std::optional<std::vector<int64_t>> axes_or_all(const MlxCall& call, ValueId x) const;
  bool flag(const MlxCall& call, std::string_view keyword, bool otherwise) const;
  std::optional<Dtype> dtype(const MlxCall& call, size_t position) const;

  std::optional<ValueId> elementwise(Op op, const MlxCall& call);
  std::optional<ValueId> reduction(Op op, const MlxCall& call);
  std::optional<ValueId> composite(Op op, const MlxCall& call);
  std::optional<ValueId> scan(Op op, const MlxCall& call);
  std::optional<ValueId> view(Op op, const char* attribute, const MlxCall& call);
  std::optional<ValueId> array(const MlxCall& call);
  std::optional<ValueId> full(const MlxCall& call);
  std::optional<ValueId> arange(const MlxCall& call);
  std::optional<ValueId> concatenate(const MlxCall& call);
  std::optional<ValueId> take_along_axis(const MlxCall& call);
  std::optional<ValueId> take(const MlxCall& call);
  std::optional<ValueId> pad(const MlxCall& call);
  std::optional<ValueId> addmm(const MlxCall& call);
  std::optional<ValueId> sort(Op op, const MlxCall& call);
  std::optional<ValueId> expand_dims(const MlxCall& call);
  std::optional<ValueId> view_of(Op op, ValueId v, const char* attribute, Shape value, const MlxCall& call);
  std::optional<ValueId> apply_known(const MlxCall& call);
  bool takes_keywords(const MlxCall& call);
  std::optional<ValueId> constant(
      const MlxArgument& number, Dtype dtype, const Shape& shape, const MlxCall& call);

  Graph& graph_;
  TextReader& reader_;
};

}  // namespace autoperfect
