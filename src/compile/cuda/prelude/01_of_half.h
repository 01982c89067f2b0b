// CUDA prelude, part 2b: functions whose result is rounded to a half dtype, in fewer instructions than f32
// takes. The tests read this file too, on the host (tests/unit/cuda_half_math_test.cpp): there, over all
// numbers of both dtypes, the greatest error once it is rounded is, in ulp of the half dtype,
// erf 0.511 in f16 and 0.502 in bf16, exp 0.501 in both.

namespace ap {

// From there on erf rounds to 1. Of x in between: x times a polynomial of its square, within 2^-17 of erf.
constexpr float erf_is_one = 2.703125f;
vf erf_within(vf x) {
  float square = x * x, p = 0x1.653c52p-24f;
  p = fma(p, square, -0x1.ba5554p-19f);
  p = fma(p, square, 0x1.ecdae4p-15f);
  p = fma(p, square, -0x1.4c4f78p-11f);
  p = fma(p, square, 0x1.3552b6p-8f);
  p = fma(p, square, -0x1.ad0188p-6f);
  p = fma(p, square, 0x1.cc35e6p-4f);
  p = fma(p, square, -0x1.810372p-2f);
  p = fma(p, square, 0x1.20dd04p+0f);
  return p * x;
}

// Within 2^-16: the square of the power to half the exponent, which is no denormal where the result is one.
vf exp_of_half(vf x) {
  float root = power_of_two(x * 0x1.715476p-1f);
  return root * root;
}

}  // namespace ap
