#include "generate/schedule/strips.h"

namespace autoperfect::schedule {
namespace {

constexpr int64_t strip = 1024;  // columns: what lies in scratch stays in the first cache
constexpr int64_t strip_bytes = strip * 8;
constexpr int rows_a_step = 4;

}  // namespace

int64_t StripWriter::scratch_bytes() const {
  return strip_bytes * static_cast<int64_t>(kernel_.values.size());
}

// Where lane j of value v lies.
std::string StripWriter::slot(int v) const {
  Dtype dtype = body_.state_dtype(v);
  bool small = dtype == Dtype::bool_ || is_half(dtype);
  return "(char*)scratch + " + std::to_string(strip_bytes * v) + " + (j - lo) * " +
         std::to_string(small ? 4 : size_of(dtype));
}

std::vector<int> StripWriter::unit_values(int after) const {
  std::vector<int> found;
  for (size_t v = 0; v < kernel_.values.size(); ++v)
    if (!passes_.varies[v] && passes_.ready[v] == after) found.push_back(static_cast<int>(v));
  return found;
}

std::vector<int> StripWriter::states(int sweep) const {
  std::vector<int> found = passes_.reductions[sweep], scans = body_.scans(sweep);
  found.insert(found.end(), scans.begin(), scans.end());
  return found;
}

void StripWriter::load(const char* prefix, int v, bool constant) {
  std::string type = vector_type(body_.state_dtype(v));
  line(
      (constant ? "const " : "") + type + " " + id(prefix, v) + " = ap::raw_load<" + type + ">(" + slot(v) +
      ");");
}

template <class Write>
void StripWriter::over_columns(Write write) {
  begin_block("");
  line("long j = lo;");
  begin_block("for (; j + ap::W <= top; j += ap::W)");
  write(false);
  end_block();
  begin_block("if (j < top)");
  line("const long n = top - j;");
  write(true);
  end_block();
  end_block();
}

void StripWriter::start(int sweep) {
  if (states(sweep).empty()) return;
  over_columns([&](bool) {
    for (int v : states(sweep))
      line("ap::raw_store(" + slot(v) + ", " + body_.state_start(v) + ");");
  });
}

// `count` rows from `row` on, for all columns of the strip.
void StripWriter::row_steps(int sweep, const std::string& row, int count) {
  std::string g = id("g", nest_.inner_groups.back());
  over_columns([&](bool tail) {
    for (int after = 0; after <= sweep; ++after)
      for (int v : unit_values(after))
        load("u", v, true);
    for (int v : states(sweep))
      load(is_scan(kernel_.values[v]) ? "c" : "a", v, false);
    line("auto body = [&](long " + g + ") __attribute__((always_inline)) {");
    text_ += body_.inner_pointers(depth_ + 1) + body_.inner_ranges(depth_ + 1) +
             body_.elements(sweep, tail, depth_ + 1);
    line("};");
    std::string size = nest_.groups[nest_.inner_groups.back()].size.text();
    for (int k = 0; k < count; ++k) {
      std::string at = k ? row + " + " + std::to_string(k) : row;
      line("body(" + (body_.runs_backwards() ? size + " - 1 - (" + at + ")" : at) + ");");
    }
    for (int v : states(sweep))
      line("ap::raw_store(" + slot(v) + ", " + id(is_scan(kernel_.values[v]) ? "c" : "a", v) + ");");
  });
}

void StripWriter::rows(int sweep) {
  for (size_t k = 0; k + 1 < nest_.inner_groups.size(); ++k) {
    std::string g = id("g", nest_.inner_groups[k]);
    begin_block(
        "for (long " + g + " = 0; " + g + " < " + nest_.groups[nest_.inner_groups[k]].size.text() + "; ++" +
        g + ")");
  }
  std::string size = nest_.groups[nest_.inner_groups.back()].size.text(), step = std::to_string(rows_a_step);
  line("long r = 0;");
  begin_block("for (; r + " + step + " <= " + size + "; r += " + step + ")");
  row_steps(sweep, "r", rows_a_step);
  end_block();
  begin_block("for (; r < " + size + "; ++r)");
  row_steps(sweep, "r", 1);
  end_block();
  for (size_t k = 0; k + 1 < nest_.inner_groups.size(); ++k)
    end_block();
}

// Reductions become values of the unit, and what follows from them.
void StripWriter::end(int sweep) {
  over_columns([&](bool tail) {
    for (int after = 0; after <= sweep; ++after)
      for (int v : unit_values(after))
        load("u", v, true);
    for (int v : passes_.reductions[sweep]) {
      load("a", v, false);
      line("auto& " + id("a", v) + "_0 = " + id("a", v) + ";");
    }
    text_ += body_.combine(sweep, depth_) + body_.unit_values(sweep + 1, depth_, tail);
    for (int v : unit_values(sweep + 1))
      line("ap::raw_store(" + slot(v) + ", " + id("u", v) + ");");
  });
}

std::string StripWriter::run(int depth) {
  depth_ = depth;
  line("constexpr long strip = " + std::to_string(strip) + ";");
  begin_block("for (long lo = first; lo < hi; lo += strip)");
  line("const long top = lo + strip < hi ? lo + strip : hi;");
  if (!unit_values(0).empty())
    over_columns([&](bool tail) {
      text_ += body_.unit_values(0, depth_, tail);
      for (int v : unit_values(0))
        line("ap::raw_store(" + slot(v) + ", " + id("u", v) + ");");
    });
  for (int sweep = 0; sweep < passes_.count; ++sweep) {
    start(sweep);
    begin_block("");
    rows(sweep);
    end_block();
    if (!unit_values(sweep + 1).empty()) end(sweep);
  }
  end_block();
  return std::move(text_);
}

}  // namespace autoperfect::schedule
