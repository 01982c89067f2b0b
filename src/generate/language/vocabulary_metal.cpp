// Metal as drafts may use it, inside the function that mx.fast.metal_kernel writes. As in CUDA there are no
// atomics. The errors are those of Apple's table for precise math.
#include "generate/language/vocabularies.h"

namespace autoperfect {

namespace {

constexpr bool templated = true;

constexpr Function across[] = {
    {"threadgroup_barrier", "void threadgroup_barrier(mem_flags::mem_threadgroup)", 20},
    {"simdgroup_barrier", "void simdgroup_barrier(mem_flags::mem_threadgroup)", 2},
    {"simd_sum", "T simd_sum(T v)", 10},
    {"simd_max", "T simd_max(T v)", 10},
    {"simd_min", "T simd_min(T v)", 10},
    {"simd_shuffle", "T simd_shuffle(T v, ushort lane)", 2},
    {"simd_shuffle_xor", "T simd_shuffle_xor(T v, ushort mask)", 2},
    {"simd_shuffle_down", "T simd_shuffle_down(T v, ushort delta)", 2},
    {"simd_shuffle_up", "T simd_shuffle_up(T v, ushort delta)", 2},
    {"simd_broadcast", "T simd_broadcast(T v, ushort lane)", 2},
    {"simd_any", "bool simd_any(bool predicate)", 2},
    {"simd_all", "bool simd_all(bool predicate)", 2},
};

constexpr Function functions[] = {
    {"as_type", "To as_type<To>(From x), of one size", 0, {}, -1, templated},
    {"select", "T select(T otherwise, T where_true, bool condition)"},
    {"fma", "T fma(T a, T b, T c)"},
    {"sqrt", "T sqrt(T x)", 8},
    {"rsqrt", "T rsqrt(T x)", 4, "2"},
    {"abs", "T abs(T x)"},
    {"floor", "T floor(T x)"},
    {"ceil", "T ceil(T x)"},
    {"rint", "T rint(T x)"},
    {"trunc", "T trunc(T x)"},
    {"max", "T max(T a, T b)"},
    {"min", "T min(T a, T b)"},
    {"clamp", "T clamp(T x, T low, T high)", 2},
    {"copysign", "T copysign(T magnitude, T sign)"},
    {"isnan", "bool isnan(T x)"},
    {"isinf", "bool isinf(T x)"},
    {"exp", "T exp(T x)", 10, "4"},
    {"exp2", "T exp2(T x)", 6, "4"},
    {"log", "T log(T x)", 16, "4"},
    {"log2", "T log2(T x)", 12, "4"},
    {"log10", "T log10(T x)", 16, "4"},
    {"tanh", "T tanh(T x)", 20, "5"},
    {"sin", "T sin(T x)", 30, "4"},
    {"cos", "T cos(T x)", 30, "4"},
    {"tan", "T tan(T x)", 40, "6"},
    {"sinh", "T sinh(T x)", 30, "4"},
    {"cosh", "T cosh(T x)", 30, "4"},
    {"asin", "T asin(T x)", 30, "4"},
    {"acos", "T acos(T x)", 30, "4"},
    {"atan", "T atan(T x)", 30, "5"},
    {"atan2", "T atan2(T y, T x)", 40, "6"},
    {"asinh", "T asinh(T x)", 40, "4"},
    {"acosh", "T acosh(T x)", 40, "4"},
    {"atanh", "T atanh(T x)", 40, "5"},
    {"pow", "T pow(T x, T y)", 60, "16"},
    {"fmod", "T fmod(T x, T y)", 40},
};

constexpr FunctionGroup groups[] = {
    {"Across threads", across},
    {"Functions of a thread; T is float, half or a vector of them", functions},
};

constexpr std::string_view types[] = {
    "float",  "half",    "bfloat16_t", "int",     "uint",    "short",    "ushort",   "char",
    "uchar",  "long",    "ulong",      "bool",    "void",    "unsigned", "signed",   "size_t",
    "float2", "float4",  "half2",      "half4",   "int2",    "int4",     "uint2",    "uint4",
    "int8_t", "int16_t", "int32_t",    "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"};
constexpr std::string_view qualifiers[] = {"device", "constant", "threadgroup", "thread"};
constexpr std::string_view names[] = {
    "thread_position_in_grid",
    "threadgroup_position_in_grid",
    "thread_position_in_threadgroup",
    "threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "threads_per_simdgroup",
    "mem_flags",
    "mem_threadgroup",
    "INFINITY",
    "NAN"};
constexpr std::string_view members[] = {"x", "y", "z", "w"};

constexpr Vocabulary metal = {"metal", groups, types, qualifiers, names, members, "mem_flags"};

}  // namespace

const Vocabulary& metal_vocabulary() {
  return metal;
}

}  // namespace autoperfect
