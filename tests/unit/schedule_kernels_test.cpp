// Generated kernels of every form of KernelIR against the reference executor.
#include "schedule_check.h"

namespace autoperfect {
namespace {

TEST(schedule_loads, rope_of_halves) {
  for (std::string t : {"f32", "bf16"})
    check_kernel_text(kernel_text(
        "    in %x: " + t + "[3,7,80] row\n    in %c: " + t + "[7,40] row\n    in %s: " + t +
            "[7,40] row\n    out %y: " + t + "[3,7,80] row\n",
        "    axes b=3, i=7, j=40\n"
        "    %a[b,i,j] = mul %x[b,i,j], %c[i,j] : " +
            t +
            "\n"
            "    %d[b,i,j] = mul %x[b,i,j+40], %s[i,j] : " +
            t +
            "\n"
            "    %y[b,i,j] = sub %a[b,i,j], %d[b,i,j] : " +
            t +
            "\n"
            "    %e[b,i,j] = mul %x[b,i,j], %s[i,j] : " +
            t +
            "\n"
            "    %f[b,i,j] = mul %x[b,i,j+40], %c[i,j] : " +
            t +
            "\n"
            "    %y[b,i,j+40] = add %e[b,i,j], %f[b,i,j] : " +
            t + "\n"));
}

TEST(schedule_loads, rope_of_pairs) {
  for (std::string t : {"f32", "f16"})
    check_kernel_text(kernel_text(
        "    in %x: " + t + "[5,70] row\n    in %c: " + t + "[5,35] row\n    out %y: " + t + "[5,70] row\n",
        "    axes i=5, j=35\n"
        "    %y[i,2*j] = mul %x[i,2*j+1], %c[i,j] : " +
            t +
            "\n"
            "    %y[i,2*j+1] = sub %x[i,2*j], %c[i,j] : " +
            t + "\n"));
}

TEST(schedule_loads, embedding_rows) {
  for (std::string index : {"i32", "u32", "i64", "u8"})
    check_kernel_text(kernel_text(
        "    in %table: bf16[20,67] row\n    in %at: " + index + "[?i] row\n    out %y: bf16[?i,67] row\n",
        "    axes i=?9, j=67\n"
        "    %id[i] = copy %at[i] : " +
            index +
            "\n"
            "    %y[i,j] = mul %table[%id[i],j], 0.125 : bf16\n"));
}

TEST(schedule_loads, take_along_axis) {
  check_kernel_text(kernel_text(
      "    in %x: f32[6,50] row\n    in %at: i32[6,33] row\n    out %y: f32[6,33] row\n",
      "    axes i=6, j=33\n"
      "    %id[i,j] = copy %at[i,j] : i32\n"
      "    %g[i,j] = copy %x[i,%id[i,j]] : f32\n"
      "    %y[i,j] = exp %g[i,j] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: f16[40,21] row\n    in %at: i64[6,21] row\n    out %y: f16[6,21] row\n",
      "    axes i=6, j=21\n"
      "    %id[i,j] = copy %at[i,j] : i64\n"
      "    %y[i,j] = neg %x[%id[i,j],j] : f16\n"));
}

TEST(schedule_loads, the_logit_of_a_target) {
  check_kernel_text(kernel_text(
      "    in %x: f32[?i,300] row\n    in %at: i32[?i] row\n    out %y: f32[?i] row\n",
      "    axes i=?8, j=300\n"
      "    %id[i] = copy %at[i] : i32\n"
      "    %m[i] = max(j) %x[i,j] : f32\n"
      "    %d[i,j] = sub %x[i,j], %m[i] : f32\n"
      "    %e[i,j] = exp %d[i,j] : f32\n"
      "    %s[i] = sum(j) %e[i,j] : f32\n"
      "    %l[i] = log %s[i] : f32\n"
      "    %t[i] = sub %x[i,%id[i]], %m[i] : f32\n"
      "    %y[i] = sub %l[i], %t[i] : f32\n"));
}

TEST(schedule_loads, gathered_where_the_largest_is) {
  check_kernel_text(kernel_text(
      "    in %x: f32[9,50] row\n    in %t: f32[50,21] row\n    out %y: f32[9,21] row\n",
      "    axes i=9, j=50, k=21\n"
      "    %a[i] = argmax(j) %x[i,j] : u32\n"
      "    %y[i,k] = square %t[%a[i],k] : f32\n"));
}

TEST(schedule_loads, gathers_within_a_reduction) {
  check_kernel_text(kernel_text(
      "    in %x: f32[30,45] row\n    in %at: i32[7,12] row\n    out %y: f32[7,45] row\n",
      "    axes i=7, j=45, k=12\n"
      "    %id[i,k] = copy %at[i,k] : i32\n"
      "    %g[i,j,k] = copy %x[%id[i,k],j] : f32\n"
      "    %y[i,j] = sum(k) %g[i,j,k] : f32\n"));
}

TEST(schedule_loads, padding_and_shifts) {
  for (std::string t : {"f32", "bf16", "i32", "bool"}) {
    std::string fill = t == "bool" ? "1" : t == "i32" ? "-3" : "-inf", zero = t == "bool" ? "0" : "0.0";
    check_kernel_text(kernel_text(
        "    in %x: " + t + "[5,41] row\n    out %y: " + t + "[9,70] row\n    out %z: " + t + "[9,70] row\n",
        "    axes i=9, j=70\n"
        "    %y[i,j] = copy %x[i-2,j-5] else " +
            fill + " : " + t +
            "\n"
            "    %z[i,j] = copy %x[-i+6,-j+60] else " +
            zero + " : " + t + "\n"));
    check_kernel_text(kernel_text(
        "    in %x: " + t + "[?i,41] row\n    out %y: " + t + "[?i,41] row\n",
        "    axes i=?6, j=41\n"
        "    %y[i,j] = copy %x[i,j-1] else " +
            fill + " : " + t + "\n"));
  }
}

TEST(schedule_loads, guarded_strides_and_neighbours) {
  check_kernel_text(kernel_text(
      "    in %x: f32[5,40] row\n    in %w: f32[3] row\n    out %y: f32[5,33] row\n",
      "    axes i=5, j=33\n"
      "    %a[i,j] = mul %x[i,2*j-1] else 0.0, %w[0] : f32\n"
      "    %b[i,j] = mul %x[i,-3*j+50] else 1.0, %w[1] : f32\n"
      "    %c[i,j] = mul %x[i+1,j] else 0.0, %w[2] : f32\n"
      "    %d[i,j] = add %a[i,j], %b[i,j] : f32\n"
      "    %y[i,j] = add %d[i,j], %c[i,j] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: f32[5,40] row\n    out %y: f32[5] row\n    out %z: f32[45] row\n",
      "    axes i=5, j=45\n"
      "    %y[i] = max(j) %x[i,j-3] else 0.0 : f32\n"
      "    %z[j] = sum(i) %x[i,j-3] else 0.5 : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: f32[20,40] row\n    in %at: i32[45] row\n    out %y: f32[5,45] row\n",
      "    axes i=5, j=45\n"
      "    %id[j] = copy %at[j] : i32\n"
      "    %y[i,j] = copy %x[%id[j],j-3] else 7.0 : f32\n"));
}

TEST(schedule_loads, concatenation_by_select) {
  check_kernel_text(kernel_text(
      "    in %a: f32[6,30] row\n    in %b: f32[6,25] row\n    in %c: f32[6,19] row\n    out %y: f32[6,74] "
      "row\n",
      "    axes i=6, j=74\n"
      "    %p[j] = copy iota j : i32\n"
      "    %f[j] = less %p[j], 30 : bool\n"
      "    %g[j] = less %p[j], 55 : bool\n"
      "    %r[i,j] = select %g[j], %b[i,j-30] else 0.0, %c[i,j-55] else 0.0 : f32\n"
      "    %x[i,j] = select %f[j], %a[i,j] else 0.0, %r[i,j] : f32\n"
      "    %y[i,j] = tanh %x[i,j] : f32\n"));
}

TEST(schedule_loads, concatenation_by_parts) {
  check_kernel_text(kernel_text(
      "    in %a: f32[6,30] row\n    in %b: f32[6,25] row\n    in %c: f32[6,19] row\n    out %y: f32[6,74] "
      "row\n",
      "    axes i=6, j=30, k=25, l=19\n"
      "    %y[i,j] = copy %a[i,j] : f32\n"
      "    %y[i,k+30] = tanh %b[i,k] : f32\n"
      "    %y[i,l+55] = copy %c[i,l] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %a: bf16[?i,30] row\n    in %b: bf16[?i,45] row\n    out %y: bf16[?i,75] row\n",
      "    axes i=?11, j=30, k=45\n"
      "    %y[i,j] = copy %a[i,j] : bf16\n"
      "    %y[i,k+30] = copy %b[i,k] : bf16\n"));
  check_kernel_text(kernel_text(
      "    in %a: f32[3,50] row\n    in %b: f32[8,50] row\n    out %y: f32[11,50] row\n",
      "    axes i=3, j=50, k=8\n"
      "    %y[i,j] = copy %a[i,j] : f32\n"
      "    %y[k+3,j] = copy %b[k,j] : f32\n"));
}

TEST(schedule_loads, group_norm_with_mixed_radix_indices) {
  check_kernel_text(kernel_text(
      "    in %x: f32[2,35,24] row\n    in %w: f32[24] row\n    out %y: f32[2,35,24] row\n",
      "    axes n=2, g=4, p=35, c=6\n"
      "    %s[n,g] = sum(p,c) %x[n,p,6*g+c] : f32\n"
      "    %m[n,g] = mul %s[n,g], 0.004761904761904762 : f32\n"
      "    %d[n,g,p,c] = sub %x[n,p,6*g+c], %m[n,g] : f32\n"
      "    %r[n,g,p,c] = square %d[n,g,p,c] : f32\n"
      "    %q[n,g] = sum(p,c) %r[n,g,p,c] : f32\n"
      "    %z[n,g,p,c] = add %d[n,g,p,c], %q[n,g] : f32\n"
      "    %y[n,p,6*g+c] = mul %z[n,g,p,c], %w[6*g+c] : f32\n"));
}

TEST(schedule_loads, transposes) {
  check_kernel_text(kernel_text(
      "    in %x: f32[70,45] row\n    in %w: f32[70] row\n    out %y: f32[45,70] row\n",
      "    axes i=45, j=70\n    %y[i,j] = mul %x[j,i], %w[j] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: bf16[3,50,4,20] row\n    out %y: bf16[3,4,50,20] row\n",
      "    axes b=3, h=4, i=50, j=20\n    %y[b,h,i,j] = copy %x[b,i,h,j] : bf16\n"));
  check_kernel_text(kernel_text(
      "    in %x: u8[3,50,37] row\n    out %y: u8[37,3,50] row\n",
      "    axes i=37, b=3, j=50\n    %y[i,b,j] = copy %x[b,j,i] : u8\n"));
}

TEST(schedule_matmul, square_and_odd) {
  for (std::string t : {"f32", "bf16", "f16"})
    for (std::string b : {"b[k,j]", "b[j,k]"}) {
      std::string shape = b == "b[k,j]" ? "[300,70]" : "[70,300]";
      check_kernel_text(kernel_text(
          "    in %a: " + t + "[45,300] row\n    in %b: " + t + shape + " row\n    in %w: " + t +
              "[70] row\n    out %y: " + t + "[45,70] row\n",
          "    axes i=45, j=70, k=300\n"
          "    %c[i,j] = matmul(k) %a[i,k], %" +
              b + " : " + t +
              "\n"
              "    %d[i,j] = add %c[i,j], %w[j] : " +
              t +
              "\n"
              "    %y[i,j] = tanh %d[i,j] : " +
              t + "\n"));
    }
}

TEST(schedule_matmul, prologues_and_several_outputs) {
  check_kernel_text(kernel_text(
      "    in %a: f32[37,40] row\n    in %s: f32[37] row\n    in %b: bf16[33,40] row\n    out %y: f32[37,33] "
      "row\n"
      "    out %z: bf16[37,33] row\n",
      "    axes i=37, j=33, k=40\n"
      "    %n[i,k] = mul %a[i,k], %s[i] : f32\n"
      "    %g[i,k] = sigmoid %n[i,k] : f32\n"
      "    %h[j,k] = cast %b[j,k] : f32\n"
      "    %c[i,j] = matmul(k) %g[i,k], %h[j,k] : f32\n"
      "    %y[i,j] = copy %c[i,j] : f32\n"
      "    %z[i,j] = cast %c[i,j] : bf16\n"));
}

TEST(schedule_matmul, batches_transposed_operands_and_dynamic_rows) {
  check_kernel_text(kernel_text(
      "    in %q: f32[2,19,3,16] row\n    in %v: f32[2,23,3,16] row\n    out %y: f32[2,3,19,23] row\n",
      "    axes b=2, h=3, i=19, j=23, d=16\n"
      "    %c[b,h,i,j] = matmul(d) %q[b,i,h,d], %v[b,j,h,d] : f32\n"
      "    %y[b,h,i,j] = mul %c[b,h,i,j], 0.25 : f32\n"));
  check_kernel_text(kernel_text(
      "    in %a: f32[50,45] row\n    in %b: f32[50,37] row\n    out %y: f32[45,37] row\n",
      "    axes i=45, j=37, k=50\n    %y[i,j] = matmul(k) %a[k,i], %b[k,j] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %a: f32[?i,50] row\n    in %b: f32[37,50] row\n    out %y: f32[?i,37] row\n",
      "    axes i=?45, j=37, k=50\n    %y[i,j] = matmul(k) %a[i,k], %b[j,k] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %a: f32[6,9,50] row\n    in %b: f32[6,50,37] row\n    out %y: f32[9,37] row\n",
      "    axes i=9, j=37, e=6, k=50\n    %y[i,j] = matmul(e,k) %a[e,i,k], %b[e,k,j] : f32\n"));
}

TEST(schedule_matmul, one_row_one_column_and_dot) {
  for (std::string t : {"f32", "bf16"}) {
    check_kernel_text(kernel_text(
        "    in %a: " + t + "[1,300] row\n    in %b: " + t + "[70,300] row\n    out %y: " + t +
            "[1,70] row\n",
        "    axes i=1, j=70, k=300\n    %y[i,j] = matmul(k) %a[i,k], %b[j,k] : " + t + "\n"));
    check_kernel_text(kernel_text(
        "    in %a: " + t + "[1,300] row\n    in %b: " + t + "[300,70] row\n    out %y: " + t +
            "[1,70] row\n",
        "    axes i=1, j=70, k=300\n    %c[i,j] = matmul(k) %a[i,k], %b[k,j] : " + t +
            "\n    %y[i,j] = exp %c[i,j] : " + t + "\n"));
    check_kernel_text(kernel_text(
        "    in %a: " + t + "[70,300] row\n    in %b: " + t + "[300] row\n    out %y: " + t + "[70] row\n",
        "    axes i=70, k=300\n    %y[i] = matmul(k) %a[i,k], %b[k] : " + t + "\n"));
    check_kernel_text(kernel_text(
        "    in %a: " + t + "[300] row\n    in %b: " + t + "[300] row\n    out %y: " + t + "[] row\n",
        "    axes k=300\n    %y[] = matmul(k) %a[k], %b[k] : " + t + "\n"));
  }
}

TEST(schedule_matmul, few_rows) {
  for (std::string b : {"b[k,j]", "b[j,k]"}) {
    std::string shape = b == "b[k,j]" ? "[50,70]" : "[70,50]";
    check_kernel_text(kernel_text(
        "    in %a: f32[2,2,50] row\n    in %b: f32" + shape +
            " row\n    in %w: f32[70] row\n    out %y: f32[2,2,70] row\n",
        "    axes e=2, i=2, j=70, k=50\n"
        "    %s[e,i] = cast iota i : f32\n"
        "    %h[e,i,k] = mul %a[e,i,k], 0.5 : f32\n"
        "    %c[e,i,j] = matmul(k) %h[e,i,k], %" +
            b +
            " : f32\n"
            "    %d[e,i,j] = add %c[e,i,j], %w[j] : f32\n"
            "    %y[e,i,j] = mul %d[e,i,j], %s[e,i] : f32\n"));
  }
}

TEST(schedule_matmul, loads_with_gathers_and_guards) {
  check_kernel_text(kernel_text(
      "    in %t: f32[30,50] row\n    in %at: i32[21] row\n    in %b: f32[37,50] row\n    out %y: f32[21,37] "
      "row\n",
      "    axes i=21, j=37, k=50\n"
      "    %id[i] = copy %at[i] : i32\n"
      "    %y[i,j] = matmul(k) %t[%id[i],k], %b[j,k] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: f32[33,5] row\n    in %w: f32[3,5,37] row\n    out %y: f32[33,37] row\n",
      "    axes i=33, j=37, e=3, k=5\n"
      "    %y[i,j] = matmul(e,k) %x[i+e-1,k] else 0.0, %w[e,k,j] : f32\n"));
}

TEST(schedule_scans, every_kind_along_rows_and_columns) {
  for (std::string how : {"", " inclusive=false", " reverse=true", " inclusive=false reverse=true"})
    for (std::string axis : {"i", "j"}) {
      std::string buffers = "    in %x: f32[11,37] row\n";
      std::string math = "    axes i=11, j=37\n    %a[i,j] = mul %x[i,j], 0.25 : f32\n";
      for (std::string op : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) {
        buffers += "    out %" + op + "_y: f32[11,37] row\n";
        math += "    %" + op + "_s[i,j] = " + op + "(" + axis + ") %a[i,j]" + how + " : f32\n";
        math += "    %" + op + "_y[i,j] = add %" + op + "_s[i,j], %x[i,j] : f32\n";
      }
      check_kernel_text(kernel_text(buffers, math));
    }
}

TEST(schedule_scans, integers_bools_and_halves) {
  for (std::string axis : {"i", "j"}) {
    check_kernel_text(kernel_text(
        "    in %x: i32[11,37] row\n    in %m: bool[11,37] row\n    out %y: i32[11,37] row\n    out %z: "
        "i32[11,37] row\n",
        "    axes i=11, j=37\n"
        "    %y[i,j] = cummax(" +
            axis +
            ") %x[i,j] inclusive=false : i32\n"
            "    %c[i,j] = cast %m[i,j] : i32\n"
            "    %z[i,j] = cumsum(" +
            axis + ") %c[i,j] : i32\n"));
    check_kernel_text(kernel_text(
        "    in %x: bf16[?i,37] row\n    out %y: bf16[?i,37] row\n",
        "    axes i=?11, j=37\n"
        "    %y[i,j] = cumsum(" +
            axis + ") %x[i,j] : bf16\n"));
  }
}

TEST(schedule_scans, with_reductions_before_and_after) {
  check_kernel_text(kernel_text(
      "    in %x: f32[?i,300] row\n    out %y: f32[?i,300] row\n    out %t: f32[?i] row\n",
      "    axes i=?9, j=300\n"
      "    %m[i] = max(j) %x[i,j] : f32\n"
      "    %d[i,j] = sub %x[i,j], %m[i] : f32\n"
      "    %e[i,j] = exp %d[i,j] : f32\n"
      "    %c[i,j] = cumsum(j) %e[i,j] : f32\n"
      "    %t[i] = sum(j) %c[i,j] : f32\n"
      "    %y[i,j] = div %c[i,j], %t[i] : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: f32[40,67] row\n    out %y: f32[40,67] row\n",
      "    axes i=40, j=67\n"
      "    %m[j] = max(i) %x[i,j] : f32\n"
      "    %d[i,j] = sub %x[i,j], %m[j] : f32\n"
      "    %y[i,j] = cumsum(i) %d[i,j] reverse=true : f32\n"));
}

// So long that on a GPU a warp goes down each pack of columns.
TEST(schedule_scans, long_columns) {
  for (std::string how : {"", " inclusive=false", " reverse=true", " inclusive=false reverse=true"})
    for (std::string t : {"f32", "bf16"})
      check_kernel_text(kernel_text(
          "    in %x: " + t + "[3,203,40] row\n    in %w: " + t + "[3,203,40] row\n    out %y: " + t +
              "[3,203,40] row\n" + "    out %z: " + t + "[3,40] row\n",
          "    axes b=3, i=203, j=40\n"
          "    %a[b,i,j] = mul %x[b,i,j], 0.25 : " +
              t +
              "\n"
              "    %c[b,i,j] = cumsum(i) %a[b,i,j]" +
              how + " : " + t +
              "\n"
              "    %h[b,i,j] = tanh %w[b,i,j] : " +
              t +
              "\n"
              "    %p[b,i,j] = cumprod(i) %h[b,i,j]" +
              how + " : " + t +
              "\n"
              "    %e[b,i,j] = add %c[b,i,j], %p[b,i,j] : " +
              t +
              "\n"
              "    %z[b,j] = max(i) %e[b,i,j] : " +
              t +
              "\n"
              "    %y[b,i,j] = sub %e[b,i,j], %x[b,i,j] : " +
              t + "\n"));
  check_kernel_text(kernel_text(
      "    in %x: f32[130,33] row\n    out %y: f32[130,33] row\n",
      "    axes i=130, j=33\n"
      "    %m[j] = max(i) %x[i,j] : f32\n"
      "    %d[i,j] = sub %x[i,j], %m[j] : f32\n"
      "    %e[i,j] = cummin(i) %d[i,j] : f32\n"
      "    %y[i,j] = logcumsumexp(i) %e[i,j] : f32\n"));
}

TEST(schedule_scans, both_directions_and_one_dimension) {
  check_kernel_text(kernel_text(
      "    in %x: f32[6,70] row\n    out %y: f32[6,70] row\n    out %z: f32[6,70] row\n",
      "    axes i=6, j=70\n"
      "    %y[i,j] = cumsum(j) %x[i,j] : f32\n"
      "    %z[i,j] = cumsum(j) %x[i,j] reverse=true : f32\n"));
  check_kernel_text(kernel_text(
      "    in %x: i32[300] row\n    out %y: i32[300] row\n",
      "    axes j=300\n    %y[j] = cumsum(j) %x[j] : i32\n"));
}

}  // namespace
}  // namespace autoperfect
