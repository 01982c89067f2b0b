// Scans along rows that several blocks share: a first launch finds what each share comes to, and the second
// scans each share from where those before it end.
#include <algorithm>

#include "generate/schedule/body.h"
#include "generate/schedule/cuda/frame.h"
#include "generate/schedule/cuda/part_writer.h"
#include "generate/schedule/extract.h"

namespace autoperfect::schedule::cuda {
namespace {

// None where a share's result is no reduction that begins where the scan does: NaN and integers have rules of
// their own.
std::optional<Op> total_of(const KernelValue& scan) {
  if (scan.op == Op::cumsum && is_floating(scan.dtype)) return Op::sum;
  if (scan.op == Op::cumprod && is_floating(scan.dtype)) return Op::prod;
  if (scan.op == Op::cummax && scan.dtype == Dtype::f32) return Op::max;
  if (scan.op == Op::cummin && scan.dtype == Dtype::f32) return Op::min;
  return std::nullopt;
}

}  // namespace

std::optional<Kernel> totals_of_scans(const Kernel& kernel) {
  std::vector<KernelValueId> scans;
  for (size_t v = 0; v < kernel.values.size(); ++v) {
    if (is_reduction(kernel.values[v])) return std::nullopt;
    if (is_scan(kernel.values[v])) scans.push_back(static_cast<KernelValueId>(v));
  }
  Kernel before = kernel;
  for (KernelValueId v : scans) {
    auto& value = before.values[v];
    const auto op = total_of(value);
    if (!op || operand_dtype(kernel, value, 0) != value.dtype) return std::nullopt;
    std::erase(value.axes, value.scanned);
    value.reduced = {value.scanned};
    value.scanned = -1;
    value.op = *op;
    value.attributes = {};
  }
  std::vector<bool> keep = cone_of(before, scans);
  for (size_t v = 0; v < keep.size(); ++v) {
    before.values[v].output = -1;
    const auto& operands = before.values[v].operands;
    const bool waits =
        keep[v] && std::any_of(operands.begin(), operands.end(), [&](auto& operand) {
          return operand.kind == KernelOperand::Kind::value && is_reduction(before.values[operand.id]);
        });
    if (waits) return std::nullopt;
  }
  std::vector<KernelValueId> moved;
  return scans.empty() ? std::nullopt : std::optional(keep_values(before, keep, moved));
}

// What the shares before this one come to, of each scan: t<v>.
void PartWriter::carry_on() {
  const std::string slices = std::to_string(mapping_.slices);
  const std::string is_before = std::string("s ") + (body_.runs_backwards() ? "> " : "< ") + "at % " + slices;
  line("const long room = " + partials(1) + ";");
  const auto scans = body_.scans(0);
  std::vector<Found> found;
  for (size_t k = 0; k < scans.size(); ++k) {
    const auto& value = kernel_.values[scans[k]];
    const std::string t = id("t", scans[k]), type = vector_type(value.dtype),
                      identity = *scan_identity(value);
    const std::string from = "((const " + type + "*)(partial + " + std::to_string(k) + " * room))[";
    const std::string op = std::string(scan_operation(value.op)) + "{}(";
    line(type + " " + t + " = " + identity + ";");
    line(
        "for (int s = lane; s < " + slices + "; s += " + std::to_string(mapping_.lanes) + ") if (" +
        is_before + ") " + t + " = " + op + t + ", " + from + "(long)u * " + slices + " + s]);");
    found.push_back({t, type, "[](auto a, auto b) { return " + op + "a, b); }"});
  }
  join_threads(found, part_.shared_bytes);
}

std::optional<Part> PartWriter::split_scans() {
  const auto totals = totals_of_scans(kernel_);
  if (!totals) return std::nullopt;
  Mapping first = mapping_;
  first.of_scans = true;
  PartWriter writer(*totals, nest_, first, number_);
  if (!writer.body_.supported()) return std::nullopt;
  writer.loops();
  goes_on_ = true;
  loops();
  if (std::max(part_.shared_bytes, writer.part_.shared_bytes) > most_shared) return std::nullopt;
  Part joined;
  joined.threads = first.threads;
  joined.blocks = in_blocks(writer.part_.blocks);
  joined.partial_bytes = writer.part_.partial_bytes;
  joined.shared_bytes = writer.part_.shared_bytes;
  joined.finish_threads = mapping_.threads;
  joined.finish_blocks = in_blocks(part_.blocks);
  joined.finish_shared_bytes = part_.shared_bytes;
  const std::string number = std::to_string(number_);
  joined.source = part_head(kernel_, "part" + number) + writer.text_ + "}\n" +
                  part_head(kernel_, "finish" + number) + text_ + "}\n";
  note_stores();
  joined.stores = part_.stores;
  joined.finish_stores = part_.finish_stores;
  return joined;
}

}  // namespace autoperfect::schedule::cuda
