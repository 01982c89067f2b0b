// The loops of one mapping as text, part by part: rows.cpp, columns.cpp, and what both share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generate/schedule/cuda/body.h"
#include "generate/schedule/cuda/writer.h"
#include "generate/schedule/frame.h"
#include "generate/schedule/scope.h"

namespace autoperfect::schedule::cuda {

// Product of the sizes of groups. What is static is one number, so that C++ gives it a type wide enough.
std::string product(const Nest& nest, const std::vector<int>& groups, int64_t factor = 1);
std::string ceil_div(const std::string& a, const std::string& b);

// Of a kernel of scans, what each comes to; none where that is no reduction, or scans wait for scans.
std::optional<Kernel> totals_of_scans(const Kernel& kernel);

class PartWriter {
 public:
  PartWriter(const Kernel& kernel, const Nest& nest, const Mapping& mapping, int number)
      : kernel_(kernel),
        nest_(nest),
        mapping_(mapping),
        passes_(find_passes(kernel, nest, mapping.kept > 0 ? Keep::costly : Keep::nothing, sums(mapping))),
        body_(kernel, nest, passes_, mapping_),
        end_mapping_(not_kept(mapping)),
        end_passes_(find_passes(kernel, nest, Keep::nothing, sums(mapping))),
        end_body_(kernel, nest, end_passes_, end_mapping_),
        number_(number) {}

  std::optional<Part> run();

 private:
  static constexpr int64_t most_shared = int64_t{48} << 10;
  static std::string in_blocks(const std::string& count);
  void loops();
  std::optional<Part> split_scans();
  void carry_on();
  static Sums sums(const Mapping& mapping) { return mapping.online ? Sums::online : Sums::after; }
  static Mapping not_kept(Mapping mapping) {
    mapping.kept = 0;
    mapping.in_shared = false;
    return mapping;
  }
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }
  void begin_block(const std::string& text) { line(text + " {"), ++depth_; }
  void end_block() { --depth_, line("}"); }
  std::string indices(const std::vector<int>& groups, const std::string& number) const {
    return group_indices(nest_, groups, number, depth_, "ix");
  }
  void over_blocks(const std::string& count);
  bool sliced() const { return mapping_.slices > 1; }
  bool leaves_partials() const { return sliced() && !goes_on_; }
  std::string lanes_size() const {
    return nest_.vector_group < 0 ? "1" : nest_.groups[nest_.vector_group].size.text();
  }
  std::string packs() const {
    return mapping_.pack == 1 ? lanes_size() : ceil_div(lanes_size(), std::to_string(mapping_.pack));
  }
  bool short_pack() const;
  void pack_at(const std::string& j, int sweep, const std::string& guard);
  void width() { line("constexpr int P = " + std::to_string(mapping_.pack) + ";"); }

  void elements();
  void rows();
  void row_sweep(int s);
  int64_t sector_elements() const;
  void aligned_sweep(int s, const std::string& guard);
  void kept_sweep(int s, const std::string& guard);
  void position(const std::string& q);
  void begin_row();
  struct Found {  // by each thread: a variable, its type, and what joins two of it
    std::string name, type, function;
  };
  std::vector<Found> reduced(int s) const;
  void join_threads(const std::vector<Found>& values, int64_t& shared_bytes);
  void meet(int s);
  void columns();
  void column_sweep(int s);
  void tall_sweep(int s);
  void meet_below(int s);
  void tiles();
  void fill_squares(const std::string& below);
  void place_in_square(
      const std::string& name, const std::string& at, const Extent& size, int pack, std::string& within);
  std::string partials(int64_t reductions) const;
  void store_partials();
  void finish_rows();
  void finish_elements();
  void finish_columns();
  void add_partials(const std::string& first, const std::string& step, const std::string& at);
  void note_stores();

  const Kernel& kernel_;
  const Nest& nest_;
  Mapping mapping_;
  Passes passes_;
  Body body_;
  Mapping end_mapping_;  // of the ends of aligned rows: read again by each sweep
  Passes end_passes_;
  Body end_body_;
  int number_;
  bool goes_on_ = false;  // of scans, from what the shares before came to
  Part part_;
  std::string text_;
  int depth_ = 1;
};

}  // namespace autoperfect::schedule::cuda
