#include <algorithm>

#include "generate/schedule/blocks.h"
#include "generate/schedule/body.h"
#include "generate/schedule/contraction.h"
#include "generate/schedule/frame.h"

namespace autoperfect::schedule {
namespace {

constexpr int64_t line_floats = 16;
constexpr int64_t streaming_bytes = int64_t{1} << 20;

// One of the three loops of a block: its kernel, and everything Body needs.
struct Part {
  Extract extract;
  Nest nest;
  Passes passes;
  Choice choice;
  Access& scratch() { return nest.accesses[nest.access_of(scratch_operand())]; }
  KernelOperand scratch_operand() const {
    KernelOperand at;
    at.kind = KernelOperand::Kind::load;
    at.id = extract.scratch;
    return at;
  }
  Body body() const { return Body(extract.kernel, nest, passes, choice); }
};

class ContractionWriter {
 public:
  ContractionWriter(const Kernel& kernel, const Contraction& contraction, const Blocking& blocking, int lanes)
      : kernel_(kernel), contraction_(contraction), blocking_(blocking), lanes_(lanes) {
    rows_ = blocking.row_tiles * rows_of_tile(lanes);
    columns_ = blocking.column_tiles * columns_of_tile(lanes);
    depth_step_ = blocking.depth;
  }

  std::optional<Written> run();

 private:
  std::optional<Part> part(Extract extract, std::vector<int> units, int inner, int vector) const;
  bool has_short_end() const;
  bool contiguous_along(const Nest& nest, int group) const;
  bool make_parts();
  void constants();
  void block();
  void pack_a();
  void pack_b();
  void pack_b_transposed();
  void store();
  void sweep(
      const Part& part,
      const std::string& row_lo,
      const std::string& row_hi,
      const std::string& lo,
      const std::string& hi);
  std::string size(int group) const { return contraction_.groups[group].size.text(); }
  void line(const std::string& text) { source_ += indent(depth_) + text + "\n"; }
  void begin_block(const std::string& text) { line(text + (text.empty() ? "{" : " {")), ++depth_; }
  void end_block() { --depth_, line("}"); }

  const Kernel& kernel_;
  const Contraction& contraction_;
  const Blocking& blocking_;
  int lanes_;
  int64_t rows_, columns_, depth_step_;
  bool a_along_rows_ = false;  // packed [k][row], because memory is contiguous along the rows
  bool b_transposed_ = false;  // memory is contiguous along k
  std::optional<Part> a_, b_, out_;
  std::string source_;
  int depth_ = 1;
  Launch launch_;
};

std::optional<Part> ContractionWriter::part(
    Extract extract, std::vector<int> units, int inner, int vector) const {
  auto nest = find_groups(extract.kernel, contraction_.groups);
  if (!nest) return std::nullopt;
  nest->shape = Shape::rows;
  nest->unit_groups = std::move(units);
  nest->inner_groups = {inner};
  nest->vector_group = vector;
  Passes passes = find_passes(extract.kernel, *nest, Keep::nothing);
  Part made{std::move(extract), std::move(*nest), std::move(passes), {}};
  if (!made.body().supported()) return std::nullopt;
  return made;
}

// By the largest buffer that moves along the group or along k.
bool ContractionWriter::contiguous_along(const Nest& nest, int group) const {
  int64_t most = -1;
  bool contiguous = true;
  for (auto& access : nest.accesses) {
    int64_t bytes = access.buffer < static_cast<int>(kernel_.buffers.size())
                        ? kernel_.buffers[access.buffer].type.bytes()
                        : -1;
    bool moves = !access.strides[group].is(0) || !access.strides[contraction_.k].is(0);
    if (!moves || bytes <= most) continue;
    most = bytes;
    contiguous = !access.strides[contraction_.k].is(1);
  }
  return contiguous;
}

bool ContractionWriter::make_parts() {
  std::vector<int> units = contraction_.batch;
  units.insert(units.end(), contraction_.outer_k.begin(), contraction_.outer_k.end());
  Extract a = operand_part(kernel_, contraction_.value, contraction_.a);
  Extract b = operand_part(kernel_, contraction_.value, contraction_.b);
  auto a_nest = find_groups(a.kernel, contraction_.groups),
       b_nest = find_groups(b.kernel, contraction_.groups);
  if (!a_nest || !b_nest) return false;
  int k = contraction_.k, rows = contraction_.rows, columns = contraction_.columns;
  a_along_rows_ = contiguous_along(*a_nest, rows);
  b_transposed_ = !contiguous_along(*b_nest, columns);
  a_ = a_along_rows_ ? part(std::move(a), units, k, rows) : part(std::move(a), units, rows, k);
  b_ = b_transposed_ ? part(std::move(b), units, columns, k) : part(std::move(b), units, k, columns);
  out_ = part(stored_part(kernel_, contraction_.value), contraction_.batch, rows, columns);
  if (!a_ || !b_ || !out_) return false;
  for (auto* each : {&*a_, &*b_, &*out_})
    each->scratch().strides.assign(contraction_.groups.size(), Extent{});
  auto& at = a_->scratch().strides;
  at[rows] = a_along_rows_ ? 1 : depth_step_ + line_floats;
  at[k] = a_along_rows_ ? rows_ + line_floats : 1;
  b_->scratch().strides[k] = columns_of_tile(lanes_);
  b_->scratch().strides[columns] = 1;
  b_->scratch().lanes = "panel_at(j - j0)";
  out_->scratch().strides[rows] = columns_ + line_floats;
  out_->scratch().strides[columns] = 1;
  out_->choice.stream = bytes_of_outputs(kernel_) >= streaming_bytes;
  return true;
}

void ContractionWriter::constants() {
  int64_t a = a_along_rows_ ? depth_step_ * (rows_ + line_floats) : rows_ * (depth_step_ + line_floats);
  int64_t b = depth_step_ * columns_;
  int64_t tile = rows_ * (columns_ + line_floats);
  line(
      "static_assert(ap::tile_rows == " + std::to_string(rows_of_tile(lanes_)) +
      " && ap::tile_columns == " + std::to_string(columns_of_tile(lanes_)) + ");");
  line(
      "constexpr long rows = " + std::to_string(rows_) + ", columns = " + std::to_string(columns_) +
      ", depth = " + std::to_string(depth_step_) + ", panel = depth * ap::tile_columns;");
  line("auto* const a_pack = (ap::f32*)scratch;");
  line("auto* const b_pack = a_pack + " + std::to_string(a) + ";");
  line("auto* const tile = b_pack + " + std::to_string(b) + ";");
  line(
      "auto panel_at = [](long j) __attribute__((always_inline)) { return j / ap::tile_columns * panel + j % "
      "ap::tile_columns; };");
  launch_.scratch_bytes = 4 * (a + b + tile);
}

// Rows [row_lo, row_hi) of the inner group, elements [lo, hi) along the lanes.
void ContractionWriter::sweep(
    const Part& part,
    const std::string& row_lo,
    const std::string& row_hi,
    const std::string& lo,
    const std::string& hi) {
  Body body = part.body();
  source_ += body.unit_pointers(depth_) + body.unit_ranges(depth_) + body.unit_values(0, depth_);
  std::string g = id("g", part.nest.inner_groups[0]);
  begin_block("for (long " + g + " = " + row_lo + "; " + g + " < " + row_hi + "; ++" + g + ")");
  source_ += body.inner_pointers(depth_) + body.inner_ranges(depth_);
  line("long j = " + lo + ";");
  begin_block("for (; j + ap::W <= " + hi + "; j += ap::W)");
  source_ += body.elements(0, false, depth_);
  end_block();
  begin_block("if (j < " + hi + ")");
  line("const long n = " + hi + " - j;");
  source_ += body.elements(0, true, depth_);
  end_block();
  end_block();
}

void ContractionWriter::pack_a() {
  begin_block("");
  std::string b = id("b", a_->extract.scratch);
  auto& strides = a_->scratch().strides;
  line(
      "auto* const " + b + " = a_pack - i0 * " + strides[contraction_.rows].text() + " - k0 * " +
      strides[contraction_.k].text() + ";");
  if (a_along_rows_)
    sweep(*a_, "k0", "k1", "i0", "i1");
  else
    sweep(*a_, "i0", "i1", "k0", "k1");
  end_block();
}

void ContractionWriter::pack_b() {
  begin_block("");
  line("auto* const " + id("b", b_->extract.scratch) + " = b_pack - k0 * ap::tile_columns;");
  sweep(*b_, "k0", "k1", "j0", "j1");
  end_block();
}

// W columns at a time: vectors along k, turned in registers. Columns past the end repeat the last one.
void ContractionWriter::pack_b_transposed() {
  Body body = b_->body();
  std::string g = id("g", contraction_.columns);
  begin_block("");
  line("auto* const " + id("b", b_->extract.scratch) + " = b_pack;");
  source_ += body.unit_pointers(depth_) + body.unit_ranges(depth_) + body.unit_values(0, depth_);
  begin_block("for (long c = j0; c < j1; c += ap::W)");
  line("auto* const to = b_pack + panel_at(c - j0) - k0 * ap::tile_columns;");
  for (bool tail : {false, true}) {
    if (!tail) line("long j = k0;");
    begin_block(tail ? "if (j < k1)" : "for (; j + ap::W <= k1; j += ap::W)");
    if (tail) line("const long n = k1 - j;");
    line("ap::vf t[ap::W];");
    line("#pragma GCC unroll 16");
    begin_block("for (int l = 0; l < ap::W; ++l)");
    line("const long " + g + " = c + l < j1 ? c + l : j1 - 1;");
    source_ += body.inner_pointers(depth_) + body.inner_ranges(depth_);
    source_ += body.element(b_->extract.result, tail, depth_);
    line("t[l] = " + id("v", b_->extract.result) + ";");
    end_block();
    line("ap::transpose(t);");
    line("#pragma GCC unroll 16");
    line(
        std::string("for (int l = 0; l < ap::W; ++l) ") + (tail ? "if (l < n) " : "") +
        "ap::store(to + (j + l) * ap::tile_columns, t[l]);");
    end_block();
  }
  end_block();
  end_block();
}

void ContractionWriter::store() {
  begin_block("");
  std::string step = out_->scratch().strides[contraction_.rows].text();
  line("auto* const " + id("b", out_->extract.scratch) + " = tile - i0 * " + step + " - j0;");
  sweep(*out_, "i0", "i1", "j0", "j1");
  end_block();
}

void ContractionWriter::block() {
  line("bool more = false;");
  for (int g : contraction_.outer_k)
    begin_block(
        "for (long " + id("g", g) + " = 0; " + id("g", g) + " < " + size(g) + "; ++" + id("g", g) + ")");
  begin_block("for (long k0 = 0; k0 < " + size(contraction_.k) + "; k0 += depth)");
  line(
      "const long k1 = k0 + depth < " + size(contraction_.k) + " ? k0 + depth : " + size(contraction_.k) +
      ";");
  pack_a();
  b_transposed_ ? pack_b_transposed() : pack_b();
  auto& strides = a_->scratch().strides;
  line(
      "ap::multiply<" + strides[contraction_.rows].text() + ", " + strides[contraction_.k].text() +
      (has_short_end() ? ", true" : ", false") +
      ">(a_pack, b_pack, tile, i1 - i0, j1 - j0, k1 - k0, panel, " +
      out_->scratch().strides[contraction_.rows].text() + ", more);");
  line("more = true;");
  end_block();
  for (size_t k = 0; k < contraction_.outer_k.size(); ++k)
    end_block();
  store();
}

// The last tile of rows holds few of them, and there are not so many that it does not matter.
bool ContractionWriter::has_short_end() const {
  auto& rows = contraction_.groups[contraction_.rows];
  int64_t tile = rows_of_tile(lanes_), end = rows.seen_size % tile;
  return !rows.size.is_fixed() || (end > 0 && end <= tile / 3 && rows.seen_size < 16 * tile);
}

std::optional<Written> ContractionWriter::run() {
  if (!make_parts()) return std::nullopt;
  Blocks blocks{contraction_.batch, contraction_.rows, contraction_.columns, "rows", "columns"};
  launch_ = blocks.launch(out_->nest, rows_ * columns_);
  source_ = signature_text + buffer_pointers(kernel_, 1);
  constants();
  source_ += blocks.open(out_->nest, depth_++);
  block();
  end_block();
  if (out_->choice.stream) line("ap::fence();");
  source_ += "}\n";
  return Written{source_, launch_};
}

}  // namespace

std::optional<Written> write_contraction(
    const Kernel& kernel, const Contraction& contraction, const Blocking& blocking, int lanes) {
  return ContractionWriter(kernel, contraction, blocking, lanes).run();
}

}  // namespace autoperfect::schedule
