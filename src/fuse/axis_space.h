// The axes a region's index maps are written in, and what is known of them: that two are the same axis, or
// that one is the mixed-radix number of others. Everything but unify() and split() only reads.
//
// Substituting an axis by a bijection keeps every index map true. What could break is that axes which must
// run independently of each other (those of one output, or of a reduction and what it varies over) become
// one: the diagonal. So every such set is kept, and a unification that makes one lose an axis is undone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace autoperfect {

// The index of one dimension: affine in the axes, or the integer that a demanded value has (`gathered`).
struct Index {
  Affine affine;
  int gathered = -1;
  bool operator==(const Index&) const = default;
};
using IndexMap = std::vector<Index>;

// Adds factor * what.
void add_scaled(Affine& to, const Affine& what, int64_t factor);

class AxisSpace {
 public:
  AxisId fresh(int64_t size);
  // It may be renamed, never split into digits: a scan or an argmax runs along it.
  void keep_whole(AxisId axis);
  void keep_independent(std::vector<AxisId> axes);

  // The same number in axes that were not substituted.
  Affine resolve(const Affine& affine) const;
  bool is_live(AxisId axis) const { return !axes_[axis].substituted; }
  int64_t size(AxisId axis) const { return axes_[axis].size; }
  std::pair<int64_t, int64_t> range(const Affine& affine) const;  // lowest and highest number

  // Whether it is each of 0 to size-1 once.
  bool counts(const Affine& number, int64_t size) const;

  // Makes a and b the same number everywhere by substitution of axes; changes nothing when that cannot be.
  bool unify(const IndexMap& a, const IndexMap& b);
  // The number as (quotient, remainder) by `divisor`, splitting axes where digits lie across; none when
  // they do not align.
  bool split(const Affine& number, int64_t divisor, Affine& quotient, Affine& remainder);

  // A place to return to when what follows was only tried.
  size_t mark() const { return changes_.size(); }
  void undo(size_t mark);

 private:
  struct Info {
    int64_t size = 1;
    bool whole = false, substituted = false;
    Affine meaning;
  };
  struct Digit {
    AxisId axis;
    int64_t size;
  };
  struct Change {
    AxisId axis;
    bool substituted;  // else it became whole
  };
  bool digits(const Affine& affine, std::vector<Digit>& found, int64_t& unit) const;
  bool unify_digits(std::vector<Digit> a, std::vector<Digit> b);
  bool unify_one(const Affine& a, const Affine& b);
  bool bind(AxisId axis, Affine meaning);
  bool still_independent();

  std::vector<Info> axes_;
  std::vector<Change> changes_;
  // In live axes as of the last unification that succeeded: a set with a substituted one is looked at again.
  std::vector<std::vector<AxisId>> independent_;
};

}  // namespace autoperfect
