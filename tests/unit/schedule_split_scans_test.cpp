// Scans that several blocks share: every candidate against the reference, down columns and along few long
// rows.
#include <algorithm>

#include "schedule_check.h"

namespace autoperfect {
namespace {

std::string scan_text(
    const std::string& t, const std::string& shape, const std::string& axes, const std::string& body) {
  const std::string i = shape.front() == '?' ? "?i" + shape.substr(shape.find(',')) : shape;
  return kernel_text(
      "    in %x: " + t + "[" + i + "] row\n    out %y: " + t + "[" + i + "] row\n",
      "    axes " + axes + "\n" + body);
}

bool is_shared_by_blocks(const std::string& text) {
  auto kernel = parse_kernel("autoperfect.kernel 1\n" + text);
  if (!kernel.ok()) throw std::runtime_error(format(kernel.errors(), text));
  const auto candidates = generate_schedules(*kernel, *find_target("cuda.sm_90"));
  return std::any_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) {
    return candidate.provenance.find("slices") != std::string::npos && !candidate.second.grid.empty();
  });
}

std::string scan(
    const std::string& op, const std::string& along, const std::string& t, const std::string& how) {
  return "    %r[i,j] = round %x[i,j] : " + t + "\n    %h[i,j] = mul %r[i,j], 0.25 : " + t +
         "\n    %s[i,j] = " + op + "(" + along + ") %h[i,j]" + how + " : " + t +
         "\n    %y[i,j] = add %s[i,j], %x[i,j] : " + t + "\n";
}

const char* const ways[] = {
    " inclusive=true reverse=false",
    " inclusive=false reverse=false",
    " inclusive=true reverse=true",
    " inclusive=false reverse=true"};

TEST(schedule_split_scans, along_few_rows) {
  for (std::string t : {"f32", "bf16"})
    for (std::string how : ways) {
      const auto text = scan_text(t, "2,16384", "i=2, j=16384", scan("cumsum", "j", t, how));
      EXPECT_TRUE(is_shared_by_blocks(text)) << text;
      check_kernel_text(text);
    }
}

TEST(schedule_split_scans, the_largest_and_smallest) {
  for (std::string op : {"cummax", "cummin"})
    for (std::string how : {ways[0], ways[2]}) {
      const auto along = scan_text("f32", "1,20000", "i=1, j=20000", scan(op, "j", "f32", how));
      EXPECT_TRUE(is_shared_by_blocks(along)) << along;
      check_kernel_text(along);
    }
}

TEST(schedule_split_scans, two_of_one_row) {
  const auto text = scan_text(
      "f32",
      "?1,16384",
      "i=?1, j=16384",
      "    %r[i,j] = round %x[i,j] : f32\n    %q[i,j] = square %r[i,j] : f32\n    %s[i,j] = cumsum(j) "
      "%r[i,j] : f32\n"
      "    %t[i,j] = cumsum(j) %q[i,j] : f32\n    %y[i,j] = sub %t[i,j], %s[i,j] : f32\n");
  EXPECT_TRUE(is_shared_by_blocks(text)) << text;
  check_kernel_text(text);
}

// The sign of a zero at the end of a share goes on: a scan of -0 is -0.
TEST(schedule_split_scans, zeros_keep_their_sign) {
  const auto text = scan_text("f32", "1,16384", "i=1, j=16384", "    %y[i,j] = cumsum(j) %x[i,j] : f32\n");
  auto kernel = parse_kernel("autoperfect.kernel 1\n" + text);
  ASSERT_TRUE(kernel.ok());
  Tensor x = Tensor::zeros({Dtype::f32, {1, 16384}});
  for (int64_t j = 0; j < 16384; ++j)
    x.set(j, -0.0);
  for (auto& candidate : generate_schedules(*kernel, test_target())) {
    auto run = prepare(candidate);
    ASSERT_TRUE(run.ok()) << format(run.errors()) << candidate.source;
    for (auto& got : (*run)(*kernel, {x}))
      for (int64_t j = 0; j < 16384; j += 100)
        ASSERT_TRUE(std::signbit(got[0].at(j))) << candidate.provenance << " at " << j;
  }
}

// Scans of scans, scans beside sums, and integers are left to a block a row.
TEST(schedule_split_scans, not_where_a_scan_waits_for_another) {
  EXPECT_FALSE(is_shared_by_blocks(scan_text(
      "f32",
      "1,16384",
      "i=1, j=16384",
      "    %s[i,j] = cumsum(j) %x[i,j] : f32\n    %y[i,j] = cumsum(j) %s[i,j] : f32\n")));
  EXPECT_FALSE(is_shared_by_blocks(
      scan_text("i32", "1,16384", "i=1, j=16384", "    %y[i,j] = cumsum(j) %x[i,j] : i32\n")));
}

}  // namespace
}  // namespace autoperfect
