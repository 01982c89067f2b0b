// CUDA C++ as drafts may use it: no atomics (their order is nobody's), no memory but what a block shares, no
// calls of the system. The errors are those NVIDIA states for the default flags.
#include "generate/language/vocabularies.h"

namespace autoperfect {

namespace {

constexpr int first = 0;  // argument

constexpr Function memory[] = {
    {"__ldg", "T __ldg(const T* p)"},
    {"__ldcs", "T __ldcs(const T* p)"},
    {"__stcs", "void __stcs(T* p, T v)", 1, {}, first},
    {"__syncthreads", "void __syncthreads()", 20},
    {"__syncwarp", "void __syncwarp(unsigned lanes)", 2},
};

constexpr Function across[] = {
    {"__shfl_sync", "T __shfl_sync(unsigned lanes, T v, int lane)", 2},
    {"__shfl_xor_sync", "T __shfl_xor_sync(unsigned lanes, T v, int mask)", 2},
    {"__shfl_down_sync", "T __shfl_down_sync(unsigned lanes, T v, unsigned delta)", 2},
    {"__shfl_up_sync", "T __shfl_up_sync(unsigned lanes, T v, unsigned delta)", 2},
    {"__ballot_sync", "unsigned __ballot_sync(unsigned lanes, int predicate)", 2},
    {"__any_sync", "int __any_sync(unsigned lanes, int predicate)", 2},
    {"__all_sync", "int __all_sync(unsigned lanes, int predicate)", 2},
};

constexpr Function converting[] = {
    {"__half2float", "float __half2float(__half h)"},
    {"__float2half_rn", "__half __float2half_rn(float x)"},
    {"__bfloat162float", "float __bfloat162float(__nv_bfloat16 h)"},
    {"__float2bfloat16_rn", "__nv_bfloat16 __float2bfloat16_rn(float x)"},
    {"__float_as_int", "int __float_as_int(float x)", 0},
    {"__int_as_float", "float __int_as_float(int x)", 0},
    {"make_float2", "float2 make_float2(float x, float y)", 0},
    {"make_float4", "float4 make_float4(float x, float y, float z, float w)", 0},
    {"make_uint2", "uint2 make_uint2(unsigned x, unsigned y)", 0},
    {"make_uint4", "uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)", 0},
};

constexpr Function functions[] = {
    {"fmaf", "float fmaf(float a, float b, float c)"},
    {"sqrtf", "float sqrtf(float x)", 8},
    {"rsqrtf", "float rsqrtf(float x)", 4, "2"},
    {"fabsf", "float fabsf(float x)"},
    {"floorf", "float floorf(float x)"},
    {"ceilf", "float ceilf(float x)"},
    {"rintf", "float rintf(float x)"},
    {"truncf", "float truncf(float x)"},
    {"fmaxf", "float fmaxf(float a, float b)"},
    {"fminf", "float fminf(float a, float b)"},
    {"copysignf", "float copysignf(float magnitude, float sign)"},
    {"isnan", "bool isnan(float x)"},
    {"isinf", "bool isinf(float x)"},
    {"expf", "float expf(float x)", 10, "1"},
    {"exp2f", "float exp2f(float x)", 6, "2"},
    {"expm1f", "float expm1f(float x)", 16, "1"},
    {"logf", "float logf(float x)", 16, "1"},
    {"log2f", "float log2f(float x)", 12, "1"},
    {"log10f", "float log10f(float x)", 16, "2"},
    {"log1pf", "float log1pf(float x)", 20, "1"},
    {"tanhf", "float tanhf(float x)", 20, "2"},
    {"erff", "float erff(float x)", 24, "2"},
    {"erfinvf", "float erfinvf(float x)", 30, "2"},
    {"sinf", "float sinf(float x)", 30, "2"},
    {"cosf", "float cosf(float x)", 30, "2"},
    {"tanf", "float tanf(float x)", 40, "4"},
    {"sinhf", "float sinhf(float x)", 30, "3"},
    {"coshf", "float coshf(float x)", 30, "2"},
    {"asinf", "float asinf(float x)", 30, "2"},
    {"acosf", "float acosf(float x)", 30, "2"},
    {"atanf", "float atanf(float x)", 30, "2"},
    {"atan2f", "float atan2f(float y, float x)", 40, "3"},
    {"asinhf", "float asinhf(float x)", 40, "3"},
    {"acoshf", "float acoshf(float x)", 40, "4"},
    {"atanhf", "float atanhf(float x)", 40, "3"},
    {"powf", "float powf(float x, float y)", 60, "4"},
    {"fmodf", "float fmodf(float x, float y)", 40},
    {"remainderf", "float remainderf(float x, float y)", 40},
    {"min", "T min(T a, T b) of integers"},
    {"max", "T max(T a, T b) of integers"},
    {"abs", "int abs(int x)"},
};

constexpr FunctionGroup groups[] = {
    {"Memory and order", memory},
    {"Across the lanes of a warp", across},
    {"Converting", converting},
    {"Functions of a thread", functions},
};

constexpr std::string_view types[] = {
    "float",    "double",   "int",      "long",    "short",         "char",          "bool",    "void",
    "unsigned", "signed",   "size_t",   "int8_t",  "int16_t",       "int32_t",       "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "float2",  "float4",        "int2",          "int4",    "uint2",
    "uint4",    "double2",  "__half",   "__half2", "__nv_bfloat16", "__nv_bfloat162"};
constexpr std::string_view qualifiers[] = {"__restrict__", "__shared__"};
constexpr std::string_view names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"};
constexpr std::string_view members[] = {"x", "y", "z", "w"};

constexpr Vocabulary cuda = {"cuda", groups, types, qualifiers, names, members, ""};

}  // namespace

const Vocabulary& cuda_vocabulary() {
  return cuda;
}

}  // namespace autoperfect
