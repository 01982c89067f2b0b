// Sums of exponentials that are found with the largest, and rows that several blocks share: every candidate
// against the reference, where rows hold minus infinities and NaN, in full and in shares of threads.
#include <algorithm>

#include "schedule_check.h"

namespace autoperfect {
namespace {

// The first `hidden * i` elements of row i are minus infinity: none of row 0, all of a later one.
std::string hidden(const std::string& x, const std::string& along, int step) {
  return "    %row[i] = copy iota i : i32\n    %limit[i] = mul %row[i], " + std::to_string(step) +
         " : i32\n    %at[" + along + "] = copy iota " + along + " : i32\n    %seen[i," + along +
         "] = greater_equal %at[" + along + "], %limit[i] : bool\n    %w[i," + along + "] = select %seen[i," +
         along + "], " + x + ", -inf : f32\n";
}

std::string sums_of(const std::string& w, const std::string& unit, const std::string& along) {
  std::string all = unit.empty() ? along : unit < along ? unit + "," + along : along + "," + unit;
  return "    %m[" + unit + "] = max(" + along + ") " + w + " : f32\n    %d[" + all + "] = sub " + w +
         ", %m[" + unit + "] : f32\n    %e[" + all + "] = exp %d[" + all + "] : f32\n    %s[" + unit +
         "] = sum(" + along + ") %e[" + all + "] : f32\n";
}

Kernel parsed(const std::string& text) {
  auto kernel = parse_kernel("autoperfect.kernel 1\n" + text);
  if (!kernel.ok() || !verify(*kernel).empty()) throw std::runtime_error("not a kernel:\n" + text);
  return *kernel;
}

std::vector<std::string> schedules_for_gpu(
    const std::string& text, const Target& target = *find_target("cuda.sm_90")) {
  std::vector<std::string> found;
  for (auto& candidate : generate_schedules(parsed(text), target))
    found.push_back(candidate.provenance);
  return found;
}

int count_with(const std::vector<std::string>& schedules, const std::string& word) {
  return static_cast<int>(std::count_if(schedules.begin(), schedules.end(), [&](const std::string& schedule) {
    return schedule.find(word) != std::string::npos;
  }));
}

// Rows of half of them hidden, with the elements or without.
std::string softmax(const std::string& rows, int columns, bool elements, const std::string& dtype = "f32") {
  const std::string n = std::to_string(columns);
  const std::string row = rows.front() == '?' ? "?i" : rows;
  const std::string last = elements ? "    %y[i,j] = div %e[i,j], %s[i] : f32\n"
                                    : "    %l[i] = log %s[i] : f32\n    %y[i] = add %l[i], %m[i] : f32\n";
  return kernel_text(
      "    in %x: " + dtype + "[" + row + "," + n + "] row\n    out %y: f32[" + row +
          (elements ? "," + n : "") + "] row\n",
      "    axes i=" + rows + ", j=" + n + "\n    %c[i,j] = cast %x[i,j] : f32\n" +
          hidden("%c[i,j]", "j", columns / 2) + sums_of("%w[i,j]", "i", "j") + last);
}

TEST(schedule_online, long_rows) {
  for (bool elements : {true, false})
    for (int columns : {140000, 99001})
      check_kernel_text(softmax("2", columns, elements));
}

TEST(schedule_online, rows_of_several_blocks) {
  for (bool elements : {true, false}) {
    check_kernel_text(softmax("?1", 16384, elements));
    check_kernel_text(softmax("2", 20001, elements));
  }
}

TEST(schedule_online, few_rows_and_their_mean_of_squares) {
  for (std::string rows : {"?2", "1"})
    check_kernel_text(kernel_text(
        "    in %x: bf16[" + std::string(rows == "1" ? "1" : "?i") + ",40960] row\n    out %y: bf16[" +
            (rows == "1" ? "1" : "?i") + ",40960] row\n    out %n: f32[" + (rows == "1" ? "1" : "?i") +
            "] row\n",
        "    axes i=" + rows +
            ", j=40960\n    %w[i,j] = cast %x[i,j] : f32\n    %q[i,j] = square %w[i,j] : f32\n"
            "    %t[i] = sum(j) %q[i,j] : f32\n    %n[i] = sqrt %t[i] : f32\n    %r[i,j] = div %w[i,j], "
            "%n[i] : f32\n"
            "    %y[i,j] = cast %r[i,j] : bf16\n"));
}

TEST(schedule_online, columns) {
  for (int rows : {300, 4096})
    check_kernel_text(kernel_text(
        "    in %x: f32[" + std::to_string(rows) + ",64] row\n    out %y: f32[" + std::to_string(rows) +
            ",64] row\n    out %z: f32[64] row\n",
        "    axes i=64, j=" + std::to_string(rows) + "\n" + hidden("%x[j,i]", "j", rows / 8) +
            sums_of("%w[i,j]", "i", "j") +
            "    %p[i,j] = div %e[i,j], %s[i] : f32\n    %y[j,i] = copy %p[i,j] : f32\n    %z[i] = log %s[i] "
            ": f32\n"));
}

TEST(schedule_online, of_halves_that_are_widened) {
  for (std::string half : {"bf16", "f16"})
    check_kernel_text(kernel_text(
        "    in %x: " + half + "[3,150000] row\n    out %y: f32[3] row\n",
        "    axes i=3, j=150000\n    %w[i,j] = cast %x[i,j] : f32\n" + sums_of("%w[i,j]", "i", "j") +
            "    %l[i] = log %s[i] : f32\n    %y[i] = add %l[i], %m[i] : f32\n"));
}

// Rows that registers do not hold, and a block's memory does.
TEST(schedule_in_shared, long_rows) {
  for (int columns : {100352, 100277}) {
    const auto text = softmax("2", columns, true, "bf16");
    EXPECT_GE(count_with(schedules_for_gpu(text), "shared"), 1) << text;
    EXPECT_EQ(count_with(schedules_for_gpu(text, *find_target("cuda.sm_86")), "shared"), 0) << text;
    check_kernel_text(text);
  }
  const auto too_long = softmax("4096", 150000, true, "bf16"), kept = softmax("4096", 50304, true);
  EXPECT_EQ(count_with(schedules_for_gpu(too_long), "shared"), 0) << "more than there is";
  EXPECT_EQ(count_with(schedules_for_gpu(kept), "shared"), 0) << "registers hold it";
}

TEST(schedule_in_shared, says_how_much_memory) {
  const auto kernel = parsed(softmax("512", 100352, true, "bf16"));
  for (auto& candidate : generate_schedules(kernel, *find_target("cuda.sm_90")))
    EXPECT_EQ(
        candidate.launch.scratch_bytes,
        candidate.provenance.find("shared") == std::string::npos ? 0 : int64_t{2} * 100352)
        << candidate.provenance;
}

TEST(schedule_online, is_chosen_where_rows_are_not_kept) {
  const auto whole = schedules_for_gpu(softmax("4096", 140000, true));
  EXPECT_GE(count_with(whole, "online"), 1);
  EXPECT_GE(count_with(whole, "rows") - count_with(whole, "online"), 1) << "none in two sweeps";
  EXPECT_EQ(count_with(schedules_for_gpu(softmax("4096", 4096, true)), "online"), 0);
  EXPECT_GE(count_with(schedules_for_gpu(softmax("1", 131072, true)), "slices"), 1);
  EXPECT_GE(count_with(schedules_for_gpu(softmax("1", 131072, false)), "slices"), 1);
  EXPECT_EQ(count_with(schedules_for_gpu(softmax("4096", 131072, true)), "slices"), 0);
}

// Less another row's largest, less what is no largest, in a half dtype: two sweeps.
TEST(schedule_online, is_for_the_own_largest_only) {
  const std::string buffers =
      "    in %x: f32[9,140000] row\n    in %z: f32[9,140000] row\n    out %y: f32[9] row\n";
  auto with = [&](const std::string& largest, const std::string& t) {
    return kernel_text(
        buffers,
        "    axes i=9, j=140000\n    %w[i,j] = cast %x[i,j] : " + t + "\n    %v[i,j] = cast %z[i,j] : " + t +
            "\n    %m[i] = " + largest + " : " + t + "\n    %d[i,j] = sub %w[i,j], %m[i] : " + t +
            "\n    %e[i,j] = exp %d[i,j] : " + t + "\n    %s[i] = sum(j) %e[i,j] : " + t +
            "\n    %y[i] = cast %s[i] : f32\n");
  };
  EXPECT_GE(count_with(schedules_for_gpu(with("max(j) %w[i,j]", "f32")), "online"), 1);
  EXPECT_EQ(count_with(schedules_for_gpu(with("max(j) %v[i,j]", "f32")), "online"), 0);
  EXPECT_EQ(count_with(schedules_for_gpu(with("min(j) %w[i,j]", "f32")), "online"), 0);
  EXPECT_EQ(count_with(schedules_for_gpu(with("max(j) %w[i,j]", "bf16")), "online"), 0);
}

}  // namespace
}  // namespace autoperfect
