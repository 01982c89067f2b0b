// Prelude, part 13: transposes in registers, and the inner loops of a matrix product.
//
// A product is cut into tiles that fit the registers: tile_rows x tile_columns sums, each k of which takes
// one vector load a column vector and one broadcast a row. Its operands are packed first: `b` in panels of
// tile_columns columns, [panel][k][column]; `a` with fixed steps between rows and along k.

namespace ap {

// Swaps the off-diagonal S x S blocks of the rows a and b, b S rows below a.
template <int S, class V, int... L>
AP_INLINE void swap_blocks(V& a, V& b, Lanes<L...>) {
  V low = __builtin_shufflevector(a, b, (L & S ? W + L - S : L)...);
  V high = __builtin_shufflevector(a, b, (L & S ? W + L : L + S)...);
  a = low;
  b = high;
}
template <int S, class V>
AP_INLINE void transpose_step(V (&t)[W]) {
#pragma GCC unroll 16
  for (int r = 0; r < W; ++r)
    if (!(r & S)) swap_blocks<S>(t[r], t[r + S], AllLanes{});
}
// A W x W block.
template <class V>
AP_INLINE void transpose(V (&t)[W]) {
  transpose_step<1>(t);
  transpose_step<2>(t);
#if AP_W >= 8
  transpose_step<4>(t);
#endif
#if AP_W >= 16
  transpose_step<8>(t);
#endif
}

// As many sums as the registers hold beside one row of operands.
constexpr int tile_vectors = 2;
#if AP_AVX512 || defined(__aarch64__)
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif
constexpr int tile_columns = tile_vectors * W;

template <int Rows, int RowStep, int DepthStep>
AP_INLINE void tile(const f32* a, const f32* b, f32* c, long c_step, long depth, bool more) {
  vf sums[Rows][tile_vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v)
      sums[r][v] = more ? load(c + r * c_step + v * W) : vf{};
  for (long k = 0; k < depth; ++k) {
    vf row[tile_vectors];
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v)
      row[v] = load(b + k * tile_columns + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      vf x = splat(a[r * RowStep + k * DepthStep]);
#pragma GCC unroll 4
      for (int v = 0; v < tile_vectors; ++v)
        sums[r][v] = fma(x, row[v], sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < tile_vectors; ++v)
      store(c + r * c_step + v * W, sums[r][v]);
}

// c (+)= a * b over packed operands. Sums past rows and columns are computed from whatever lies there, and
// are nobody's. ShortEnd: a last tile of few rows is worth code of its own.
template <int RowStep, int DepthStep, bool ShortEnd>
AP_INLINE void multiply(
    const f32* a,
    const f32* b,
    f32* c,
    long rows,
    long columns,
    long depth,
    long panel,
    long c_step,
    bool more) {
  constexpr int few = tile_rows / 3;
  for (long j = 0; j < columns; j += tile_columns)
    for (long i = 0; i < rows; i += tile_rows) {
      const f32* from = a + i * RowStep;
      const f32* by = b + j / tile_columns * panel;
      f32* to = c + i * c_step + j;
      if (ShortEnd && rows - i <= few)
        tile<few, RowStep, DepthStep>(from, by, to, c_step, depth, more);
      else
        tile<tile_rows, RowStep, DepthStep>(from, by, to, c_step, depth, more);
    }
}

}  // namespace ap
