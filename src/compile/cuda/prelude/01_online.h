// CUDA prelude, part 2c: the sum of exp(x - largest x) while the largest is not known yet. The tests read
// this file too, on the host (tests/unit/cuda_online_test.cpp).

namespace ap {

// sum: of exp(x - largest). Before the first x it is 0; after one that is finite, at least 1.
struct Exponentials {
  vf largest = -0x1.fffffep+127f;  // not -inf, which would be NaN away from itself
  vf sum = 0;
};

// One exponential, whichever of the two is larger. A NaN stays in the sum. F: exp.
template <class F>
Exponentials with(Exponentials a, vf x, F exponential) {
  vf more = x - a.largest;
  vf ratio = exponential(more > 0 ? -more : more);
  return more > 0 ? Exponentials{x, a.sum * ratio + 1} : Exponentials{a.largest, a.sum + ratio};
}

// The same of several: one more, and less of the rest, than that many.
template <int N, class F>
Exponentials with(Exponentials a, const vf (&x)[N], F exponential) {
  vf largest = a.largest, sum = 0;
  for (int k = 0; k < N; ++k)
    largest = x[k] > largest ? x[k] : largest;
  for (int k = 0; k < N; ++k)
    sum = sum + exponential(x[k] - largest);
  return {largest, a.sum * exponential(a.largest - largest) + sum};
}

Exponentials joined(Exponentials a, Exponentials b) {
  vf largest = b.largest > a.largest ? b.largest : a.largest;
  return {largest, a.sum * exp(a.largest - largest) + b.sum * exp(b.largest - largest)};
}

// As the difference gives it, where the largest is an infinity: NaN.
vf sum_of(Exponentials a) {
  return a.sum == 0 || a.largest == __builtin_inff() ? __builtin_nanf("") : a.sum;
}

}  // namespace ap
