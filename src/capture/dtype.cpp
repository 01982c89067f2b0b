#include "capture/capture.h"

namespace autoperfect {

namespace mx = mlx::core;

mx::Dtype to_mlx(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return mx::bool_;
    case Dtype::u8:
      return mx::uint8;
    case Dtype::u16:
      return mx::uint16;
    case Dtype::u32:
      return mx::uint32;
    case Dtype::u64:
      return mx::uint64;
    case Dtype::i8:
      return mx::int8;
    case Dtype::i16:
      return mx::int16;
    case Dtype::i32:
      return mx::int32;
    case Dtype::i64:
      return mx::int64;
    case Dtype::f16:
      return mx::float16;
    case Dtype::bf16:
      return mx::bfloat16;
    case Dtype::f32:
      return mx::float32;
    case Dtype::f64:
      return mx::float64;
    case Dtype::c64:
      return mx::complex64;
  }
  throw InternalError("[capture] unknown dtype");
}

Dtype from_mlx(mx::Dtype dtype) {
  switch (dtype.val()) {
    case mx::Dtype::Val::bool_:
      return Dtype::bool_;
    case mx::Dtype::Val::uint8:
      return Dtype::u8;
    case mx::Dtype::Val::uint16:
      return Dtype::u16;
    case mx::Dtype::Val::uint32:
      return Dtype::u32;
    case mx::Dtype::Val::uint64:
      return Dtype::u64;
    case mx::Dtype::Val::int8:
      return Dtype::i8;
    case mx::Dtype::Val::int16:
      return Dtype::i16;
    case mx::Dtype::Val::int32:
      return Dtype::i32;
    case mx::Dtype::Val::int64:
      return Dtype::i64;
    case mx::Dtype::Val::float16:
      return Dtype::f16;
    case mx::Dtype::Val::bfloat16:
      return Dtype::bf16;
    case mx::Dtype::Val::float32:
      return Dtype::f32;
    case mx::Dtype::Val::float64:
      return Dtype::f64;
    case mx::Dtype::Val::complex64:
      return Dtype::c64;
  }
  throw InternalError("[capture] MLX has a dtype this version does not know");
}

}  // namespace autoperfect
