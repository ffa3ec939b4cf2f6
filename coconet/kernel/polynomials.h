// The polynomials of kernel/math.h, fitted with Sollya (fpminimax; remez with rounded coefficients
// where an error weight was needed). The error of each, evaluated exactly, is stated.
#pragma once

#include "coconet/kernel/bits.h"

namespace coconet::kernel {

// c0 + x (c1 + x (c2 + ...))
template <class F>
COCONET_HD COCONET_INLINE F horner(F, F c0) {
  return c0;
}
template <class F, class... Rest>
COCONET_HD COCONET_INLINE F horner(F x, F c0, Rest... rest) {
  return c0 + x * horner(x, rest...);
}

// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2. Error of e^r: 2^-29.4 and 2^-62.
COCONET_HD COCONET_INLINE float exp_polynomial(float r) {
  return horner(r, 0x1p-1f, 0x1.5554dcp-3f, 0x1.5554e8p-5f, 0x1.120c18p-7f, 0x1.6d4e66p-10f);
}
COCONET_HD COCONET_INLINE double exp_polynomial(double r) {
  return horner(r, 0x1p-1, 0x1.5555555555557p-3, 0x1.5555555555557p-5, 0x1.1111111110051p-7,
                0x1.6c16c16c156a5p-10, 0x1.a01a01ac1dc6cp-13, 0x1.a01a01ab9879dp-16,
                0x1.71de01adc10d6p-19, 0x1.27e4cfaf3f1e1p-22, 0x1.af4ec8740b0b4p-26,
                0x1.1f86f02e50c02p-29);
}

// (log((1+s)/(1-s)) - 2 s) / s^3 of z = s^2, for |s| <= (sqrt(2)-1)/(sqrt(2)+1). Error times z:
// 2^-33 and 2^-56.6.
COCONET_HD COCONET_INLINE float log_polynomial(float z) {
  return horner(z, 0x1.555556p-1f, 0x1.99986ep-2f, 0x1.24c146p-2f, 0x1.ce828p-3f);
}
COCONET_HD COCONET_INLINE double log_polynomial(double z) {
  return horner(z, 0x1.5555555555558p-1, 0x1.99999999952cap-2, 0x1.2492492df9572p-2,
                0x1.c71c62d963d42p-3, 0x1.7462b83b91213p-3, 0x1.39fdeadcdf53bp-3,
                0x1.2b5dd4abb1decp-3);
}

// The same less its first two terms, 2/3 + 2/5 z, divided by z^2. Error 2^-51.8.
COCONET_HD COCONET_INLINE double log_polynomial_rest(double z) {
  return horner(z, 0x1.2492492492497p-2, 0x1.c71c71c715159p-3, 0x1.745d1755434bp-3,
                0x1.3b13a50924ecfp-3, 0x1.1115a68f43085p-3, 0x1.e01e65028bdaap-4,
                0x1.d9d504a71d2a6p-4);
}

// (tanh(x) - x) / x^3 of z = x^2, for |x| <= 0.625. Error times z: 2^-29.9 and 2^-59.5.
COCONET_HD COCONET_INLINE float tanh_polynomial(float z) {
  return horner(z, -0x1.555556p-2f, 0x1.11113ap-3f, -0x1.ba1b08p-5f, 0x1.657fbcp-6f,
                -0x1.15b2ccp-7f, 0x1.3c6e8ep-9f);
}
COCONET_HD COCONET_INLINE double tanh_polynomial(double z) {
  return horner(z, -0x1.5555555555555p-2, 0x1.1111111111034p-3, -0x1.ba1ba1ba079f1p-5,
                0x1.664f487c43e4dp-6, -0x1.226e343776a7cp-7, 0x1.d6d3910e37bedp-9,
                -0x1.7d9eeb3f43954p-10, 0x1.352260399b026p-11, -0x1.f20f4ffec71a5p-13,
                0x1.8388cebc3cd13p-14, -0x1.043685f92ec94p-15, 0x1.adc034b556c6p-18);
}

// erf(x) / x - 1 of z = x^2, for |x| <= 0.88. Error 2^-29.9 and 2^-56.2.
COCONET_HD COCONET_INLINE float erf_polynomial(float z) {
  return horner(z, 0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2dfep-4f, -0x1.b80f8ep-6f, 0x1.54deb6p-8f,
                -0x1.ab6594p-11f, 0x1.61a8ap-14f);
}
COCONET_HD COCONET_INLINE double erf_polynomial(double z) {
  return horner(z, 0x1.06eba8214db69p-3, -0x1.812746b037a05p-2, 0x1.ce2f21a043eb7p-4,
                -0x1.b82ce312df9b8p-6, 0x1.565bcd1c6fb5dp-8, -0x1.c02db6cbb96a1p-11,
                0x1.f9a384110d8d1p-14, -0x1.f4da7e0b07415p-17, 0x1.ba61c024a8f21p-20,
                -0x1.644ace54559e2p-23, 0x1.1d634428a2dfp-26, -0x1.1a161778d4986p-29,
                0x1.1112009f41e3fp-32);
}

// log(1 - erf(t)) / t + 1 for t in [0.86, 4] and [0.86, 6]. Error of erf: 2^-29.1 and 2^-56.8.
COCONET_HD COCONET_INLINE float log_erfc_polynomial(float t) {
  return horner(t, -0x1.073866p-3f, -0x1.4580bap-1f, -0x1.ae2c9cp-4f, 0x1.6f524p-6f,
                -0x1.6b4ad6p-9f, -0x1.11b188p-17f, 0x1.de0b3ap-15f, -0x1.8a9d22p-18f);
}
COCONET_HD COCONET_INLINE double log_erfc_polynomial(double t) {
  return horner(t, -0x1.06ebaa8505a69p-3, -0x1.45f2ff6923c82p-1, -0x1.a4f6401f618e6p-4,
                0x1.397a88495c561p-6, 0x1.9d04b0f61d51ep-13, -0x1.b6821b171c78dp-10,
                0x1.234309f26a92dp-11, 0x1.e37419842294cp-17, -0x1.ababc0d19d1cp-14,
                0x1.e38b10c9a2ac5p-15, -0x1.4e57a360a4b2dp-16, 0x1.3b90d834ce746p-18,
                -0x1.6d22cbc2089f2p-21, 0x1.59242b16774ebp-27, 0x1.a6dad3c36e5fcp-26,
                -0x1.0136ad30ff714p-27, 0x1.65935bdcc3ff4p-30, -0x1.4a7f4d98f6a6p-33,
                0x1.94333a25c18b6p-37, -0x1.2ab392cd0391cp-41, 0x1.962dd40dc7c97p-47);
}

// Phi(-t) e^(t^2/2) / u, of u = 1 / (1 + t/4), where Phi is the normal distribution, for t in
// [0, 14.5] and [0, 38.7]. Relative error 2^-24.8 and 2^-51.7.
COCONET_HD COCONET_INLINE float normal_tail_polynomial(float u) {
  return horner(u, 0x1.988f9cp-4f, 0x1.97a3dp-4f, 0x1.864c94p-4f, 0x1.2b0f6ap-4f, 0x1.57749p-4f,
                0x1.228f7ap-6f, 0x1.72768ep-6f, 0x1.c9c32cp-5f, -0x1.0858p-4f, 0x1.14c3cap-6f);
}
COCONET_HD COCONET_INLINE double normal_tail_polynomial(double u) {
  return horner(
      u, 0x1.9884533dcc3cbp-4, 0x1.98845315d7992p-4, 0x1.7efc13420ad2bp-4, 0x1.4beb175e071b9p-4,
      0x1.042245d82d40cp-4, 0x1.61c5a50cb5a85p-5, 0x1.871681815fc7fp-6, 0x1.19dd2b9616f72p-8,
      0x1.6596a6ae942bcp-7, -0x1.f1a09334a4477p-5, 0x1.4f1c17698b2fcp-3, -0x1.b2583febe7ddep-2,
      0x1.b78ad082fadb9p-1, -0x1.615b8848f7378p0, 0x1.c4b018e15bdedp0, -0x1.c09318888efb6p0,
      0x1.4e43d331e4161p0, -0x1.6db23666f1ef2p-1, 0x1.1c95b257d5fc2p-2, -0x1.2a4994f2c24a4p-4,
      0x1.7965cea0a5acp-7, -0x1.b2c503be31648p-11);
}

// (Phi(x) - 1/2) / x of z = x^2, for |x| <= 1.1. Error 2^-26.4 and 2^-55.2.
COCONET_HD COCONET_INLINE float normal_polynomial(float z) {
  return horner(z, 0x1.988454p-2f, -0x1.10586p-4f, 0x1.46d40ap-7f, -0x1.374436p-10f,
                0x1.deb56ap-14f, -0x1.04a924p-17f);
}
COCONET_HD COCONET_INLINE double normal_polynomial(double z) {
  return horner(z, 0x1.9884533d43651p-2, -0x1.1058377e2cf63p-4, 0x1.46d042976e989p-7,
                -0x1.37403f6d538a8p-10, 0x1.e42b0de78bd46p-14, -0x1.3ce90a73ea49ep-17,
                0x1.658c3f3ab054cp-21, -0x1.62523e7c8b84dp-25, 0x1.3b384e96c61cap-29,
                -0x1.11d0b97b041f1p-33, 0x1.37761910ef256p-37, -0x1.95bfe412532bcp-41);
}

}  // namespace coconet::kernel
