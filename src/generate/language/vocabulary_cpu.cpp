// The prelude (src/compile/cpu/prelude/) as authors see it. The errors are those its files state.
#include "generate/language/vocabularies.h"

namespace autoperfect {

namespace {

constexpr int first = 0;  // argument
constexpr bool templated = true;

constexpr Function memory[] = {
    {"load", "value load(const T* p), load(const T* p, long n)"},
    {"store", "void store(T* p, value v), store(T* p, value v, long n)", 1, {}, first},
    {"stream", "void stream(T* p, value v)", 1, {}, first},
    {"fence", "void fence()", 20},
    {"prefetch", "void prefetch(const void* p)"},
    {"copy", "void copy(T* to, const T* from), copy(T* to, const T* from, long n)", 2, {}, first},
    {"stream_copy", "void stream_copy(T* to, const T* from)", 2, {}, first},
    {"uniform", "value uniform(const T* p)"},
    {"gather", "value gather(const T* p, vi32 or vi64 index)", 16},
    {"scatter", "void scatter(T* p, long stride, value v, long n)", 16, {}, first},
    {"load_strided",
     "value load_strided<Stride>(const T* p), load_strided<Stride>(const T* p, long n)",
     16,
     {},
     -1,
     templated},
    {"load_within",
     "value load_within(const T* p, long j, long n, long lo, long hi), load_within(..., value fill)",
     4},
    {"gather_within",
     "value gather_within(const T* p, index, long j, long n, long lo, long hi, value fill)",
     20},
    {"uniform_within", "value uniform_within(const T* p, bool inside, value fill)", 2},
    {"raw_load", "R raw_load<R>(const void* p), raw_load<R>(const void* p, long n)", 1, {}, -1, templated},
    {"raw_store", "void raw_store(void* p, R v), raw_store(void* p, R v, long n)", 1, {}, first},
};

constexpr Function making[] = {
    {"splat", "vf splat(float x), V splat<V>(scalar x)", 1, {}, -1, templated},
    {"splat_bool", "mask splat_bool(bool x)"},
    {"iota", "vi32 iota()"},
    {"positions", "vi64 positions(long j, long n)", 3},
    {"positions_32", "vi32 positions_32(long j, long n)", 3},
    {"first", "mask first(long n)", 2},
    {"lane", "scalar lane(V v)"},
    {"select", "V select(mask m, V a, V b)"},
    {"bits", "vi32 bits(vf x)", 0},
    {"from_bits", "vf from_bits(vi32 x)", 0},
};

constexpr Function comparing[] = {
    {"eq", "mask eq(V a, V b)"},
    {"ne", "mask ne(V a, V b)"},
    {"lt", "mask lt(V a, V b)"},
    {"le", "mask le(V a, V b)"},
    {"gt", "mask gt(V a, V b)"},
    {"ge", "mask ge(V a, V b)"},
    {"mask_not", "mask mask_not(mask m)"},
    {"mask_and", "mask mask_and(mask a, mask b)"},
    {"mask_or", "mask mask_or(mask a, mask b)"},
    {"is_nan", "mask is_nan(vf x)"},
    {"from_bool", "vi32 from_bool(mask m)"},
    {"any", "bool any(mask m)", 2},
    {"all", "bool all(mask m)", 2},
};

constexpr Function converting[] = {
    {"to_f32", "vf to_f32(V v)"},
    {"to_f64", "vd to_f64(V v)", 2},
    {"to_i8", "vi8 to_i8(V v)", 2},
    {"to_u8", "vu8 to_u8(V v)", 2},
    {"to_i16", "vi16 to_i16(V v)", 2},
    {"to_u16", "vu16 to_u16(V v)", 2},
    {"to_i32", "vi32 to_i32(V v)"},
    {"to_u32", "vu32 to_u32(V v)", 2},
    {"to_i64", "vi64 to_i64(V v)", 2},
    {"to_u64", "vu64 to_u64(V v)", 2},
    {"to_bool", "mask to_bool(V v)"},
    {"round_bf16", "vf round_bf16(vf x)", 6},
    {"round_f16", "vf round_f16(vf x)", 4},
    {"bf16_to_f32", "vf bf16_to_f32(vu16 h)", 2},
    {"f32_to_bf16", "vu16 f32_to_bf16(vf rounded)", 2},
    {"f16_to_f32", "vf f16_to_f32(vu16 h)", 2},
    {"f32_to_f16", "vu16 f32_to_f16(vf rounded)", 2},
};

constexpr Function arithmetic[] = {
    {"fma", "V fma(V a, V b, V c)"},
    {"sqrt", "V sqrt(V x)", 8},
    {"rsqrt", "V rsqrt(V x)", 16, "1.5"},
    {"recip", "V recip(V x)", 8},
    {"abs", "V abs(V x)"},
    {"neg", "V neg(V x)"},
    {"square", "V square(V x)"},
    {"sign", "V sign(V x)", 4},
    {"sign_bit", "vf sign_bit(vf x)"},
    {"with_sign", "vf with_sign(vf magnitude, vf sign)"},
    {"round", "V round(V x)"},
    {"floor", "V floor(V x)"},
    {"ceil", "V ceil(V x)"},
    {"trunc", "V trunc(V x)"},
    {"maximum", "V maximum(V a, V b)", 3},
    {"minimum", "V minimum(V a, V b)", 3},
    {"larger", "V larger(V a, V b)"},
    {"smaller", "V smaller(V a, V b)"},
    {"clamp", "vf clamp(vf x, float low, float high)", 2},
    {"remainder", "V remainder(V a, V b)", 16},
    {"floor_divide", "V floor_divide(V a, V b)", 10},
    {"int_div", "V int_div(V a, V b)", 20},
    {"shift_left", "V shift_left(V a, V n)", 2},
    {"shift_right", "V shift_right(V a, V n)", 2},
};

constexpr Function functions[] = {
    {"exp", "V exp(V x)", 13, "1.03"},
    {"exp2", "V exp2(V x)", 13, "0.88"},
    {"expm1", "V expm1(V x)", 20, "1.09"},
    {"log", "V log(V x)", 25, "0.86"},
    {"log2", "V log2(V x)", 25, "0.99"},
    {"log10", "V log10(V x)", 25, "0.85"},
    {"log1p", "V log1p(V x)", 30, "0.88"},
    {"logaddexp", "V logaddexp(V a, V b)", 50, "5.1"},
    {"tanh", "V tanh(V x)", 35, "1.26"},
    {"sigmoid", "V sigmoid(V x)", 35, "1.02"},
    {"sigmoid_of", "vf sigmoid_of(vf x, vf power)", 18, "1.5"},
    {"erf", "V erf(V x)", 35, "0.89"},
    {"erfinv", "V erfinv(V x)", 1500, "0.51"},
    {"sin", "V sin(V x)", 30, "0.87"},
    {"cos", "V cos(V x)", 30, "0.87"},
    {"pow", "V pow(V a, V b)", 60, "0.67"},
    {"tan", "vf tan(vf x)", 500, "0.51"},
    {"sinh", "vf sinh(vf x)", 500, "0.51"},
    {"cosh", "vf cosh(vf x)", 500, "0.51"},
    {"asin", "vf asin(vf x)", 500, "0.51"},
    {"acos", "vf acos(vf x)", 500, "0.51"},
    {"atan", "vf atan(vf x)", 500, "0.51"},
    {"asinh", "vf asinh(vf x)", 500, "0.51"},
    {"acosh", "vf acosh(vf x)", 500, "0.51"},
    {"atanh", "vf atanh(vf x)", 500, "0.51"},
    {"atan2", "V atan2(V a, V b)", 500, "0.51"},
};

constexpr Function reducing[] = {
    {"hsum", "V hsum(V v)", 8},
    {"hprod", "V hprod(V v)", 8},
    {"hmax", "V hmax(V v)", 16},
    {"hmin", "V hmin(V v)", 16},
    {"hany", "mask hany(mask m)", 3},
    {"hall", "mask hall(mask m)", 3},
    {"beats_max", "mask beats_max(V x, V best)", 3},
    {"beats_min", "mask beats_min(V x, V best)", 3},
    {"same_number", "mask same_number(V a, V b)", 3},
    {"keep_first",
     "void keep_first(mask beats, V& best, vi32& index, V other, vi32 at)",
     8,
     {},
     -1,
     false,
     true},
    {"position_of", "vi32 position_of(V lanes, V best, vi32 index)", 16},
    {"scan", "V scan<Op, Down, Inclusive>(V v, V& carry, V identity)", 20, {}, -1, templated, true},
    {"scan_rows", "V scan_rows<Op, Inclusive>(V v, V& carry)", 1, {}, -1, templated, true},
};

constexpr Function placing[] = {
    {"row", "long row(index, long size)", 3},
    {"rows", "vi64 rows(V index, long size)", 6},
    {"rows_32", "vi32 rows_32(V index, long size)", 3},
    {"clip", "void clip(long& lo, long& hi, long base, long step, long size)", 10, {}, -1, false, true},
    {"share", "long share(long at, long units, long mine, long align)", 20},
    {"transpose", "void transpose(V (&t)[W])", 64, {}, first, false, true},
    {"multiply",
     "void multiply<RowStep, DepthStep, ShortEnd>(const f32* a, const f32* b, f32* c, long rows, long "
     "columns, "
     "long depth, long panel, long c_step, bool more)",
     0,
     {},
     2,
     templated},
};

constexpr Function scalars[] = {
    {"__builtin_fmaf", "float __builtin_fmaf(float a, float b, float c)"},
    {"__builtin_sqrtf", "float __builtin_sqrtf(float x)", 8},
    {"__builtin_fabsf", "float __builtin_fabsf(float x)"},
    {"__builtin_floorf", "float __builtin_floorf(float x)"},
    {"__builtin_ceilf", "float __builtin_ceilf(float x)"},
    {"__builtin_truncf", "float __builtin_truncf(float x)"},
    {"__builtin_rintf", "float __builtin_rintf(float x)"},
    {"__builtin_copysignf", "float __builtin_copysignf(float magnitude, float sign)"},
    {"__builtin_fma", "double __builtin_fma(double a, double b, double c)"},
    {"__builtin_sqrt", "double __builtin_sqrt(double x)", 8},
    {"__builtin_fabs", "double __builtin_fabs(double x)"},
    {"__builtin_inff", "float __builtin_inff()", 0},
    {"__builtin_inf", "double __builtin_inf()", 0},
    {"__builtin_expect", "long __builtin_expect(long x, long expected)", 0},
};

constexpr FunctionGroup groups[] = {
    {"Memory. No pointer need be aligned; with n only the first n elements are touched, in both directions",
     memory},
    {"Making vectors", making},
    {"Comparing; a mask has 32-bit lanes, 0 or -1", comparing},
    {"Converting. f16 and bf16 values live in vf, already rounded to their dtype", converting},
    {"Arithmetic", arithmetic},
    {"Functions (errors are those on vf; on vd they are libm's, lane by lane)", functions},
    {"Across lanes; results are in every lane, the order of a sum is fixed", reducing},
    {"Indices, blocks", placing},
    {"Scalars", scalars},
};

constexpr std::string_view types[] = {
    "vf",       "vd",       "vi8",      "vu8",    "vi16",    "vu16",    "vi32",    "vu32",
    "vi64",     "vu64",     "mask",     "f16",    "bf16",    "f32",     "f64",     "bool8",
    "i8",       "u8",       "i16",      "u16",    "i32",     "u32",     "i64",     "u64",
    "float",    "double",   "int",      "long",   "short",   "char",    "bool",    "void",
    "unsigned", "signed",   "size_t",   "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t", "Plus",   "Times",   "Larger",  "Smaller", "LogAddExp"};
constexpr std::string_view qualifiers[] = {"__restrict", "__restrict__"};
constexpr std::string_view names[] = {"W", "inf", "nan", "tile_rows", "tile_columns"};

constexpr Vocabulary cpu = {"cpu", groups, types, qualifiers, names, {}, "ap"};

}  // namespace

const Vocabulary& cpu_vocabulary() {
  return cpu;
}

}  // namespace autoperfect
