#include "cli/npy.h"

#include <fmt/format.h>

#include "ir/shape.h"
#include "ir/text_lexer.h"
#include "support/file.h"

namespace autoperfect::cli {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t preamble = 10;  // magic, version, length of the header

std::string_view descriptor(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return "|b1";
    case Dtype::u8:
      return "|u1";
    case Dtype::u16:
      return "<u2";
    case Dtype::u32:
      return "<u4";
    case Dtype::u64:
      return "<u8";
    case Dtype::i8:
      return "|i1";
    case Dtype::i16:
      return "<i2";
    case Dtype::i32:
      return "<i4";
    case Dtype::i64:
      return "<i8";
    case Dtype::f16:
      return "<f2";
    case Dtype::bf16:
      return "<V2";
    case Dtype::f32:
      return "<f4";
    case Dtype::f64:
      return "<f8";
    case Dtype::c64:
      return "<c8";
  }
  return "";
}

bool stands_for(std::string_view text, Dtype dtype) {
  return text == descriptor(dtype) || (dtype == Dtype::bf16 && (text == "|V2" || text == "<u2"));
}

// What follows `'key':` in the header, a Python dict that NumPy itself always writes the same way.
std::string_view after_key(std::string_view header, const std::string& key) {
  auto at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return "";
  header.remove_prefix(at + key.size() + 3);
  return header.substr(std::min(header.find_first_not_of(' '), header.size()));
}

std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  if (text.empty() || text[0] != '(') return std::nullopt;
  text = text.substr(1, text.find(')') - 1);
  while (true) {
    auto begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    auto digits = text.substr(0, text.find_first_of(" ,"));
    auto size = to_int64(digits);
    if (!size) return std::nullopt;
    shape.push_back(*size);
    text.remove_prefix(digits.size());
  }
  if (!checked_elements(shape)) return std::nullopt;
  return shape;
}

Diagnostic failure(const std::string& path, std::string why) {
  return {"cli", "npy", fmt::format("'{}' {}", path, why)};
}

}  // namespace

Result<Tensor> read_npy(const std::string& path, const TensorType& wanted) {
  auto bytes = read_file(path);
  if (!bytes) return failure(path, "cannot be read");
  if (bytes->size() < preamble || bytes->substr(0, magic.size()) != magic || (*bytes)[6] != 1) {
    return failure(path, "is no .npy file of version 1");
  }
  auto length = static_cast<unsigned char>((*bytes)[8]) + 256u * static_cast<unsigned char>((*bytes)[9]);
  auto header = std::string_view(*bytes).substr(preamble, length);
  auto dtype = after_key(header, "descr");
  dtype = dtype.substr(0, dtype.find('\'', 1) + 1);
  if (dtype.size() < 2 || !stands_for(dtype.substr(1, dtype.size() - 2), wanted.dtype)) {
    return failure(path, fmt::format("has dtype {}, not {}", dtype, descriptor(wanted.dtype)));
  }
  if (after_key(header, "fortran_order").substr(0, 5) != "False") return failure(path, "is not in C order");
  auto shape = parse_shape(after_key(header, "shape"));
  if (!shape || shape->size() != wanted.shape.size()) {
    return failure(path, fmt::format("has not the rank of {}", to_string(wanted)));
  }
  auto tensor = Tensor::zeros({wanted.dtype, *shape});
  auto data = std::string_view(*bytes).substr(std::min<size_t>(preamble + length, bytes->size()));
  if (data.size() != tensor.bytes.size()) return failure(path, "ends too early or too late");
  std::copy(data.begin(), data.end(), tensor.bytes.begin());
  return tensor;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  std::string shape;
  for (auto size : tensor.type.shape)
    shape += std::to_string(size) + ", ";
  if (shape.size() > 2) shape.pop_back();  // (3,) and (3, 4,) are both tuples
  auto header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor(tensor.type.dtype), shape);
  header.resize((preamble + header.size() + 64) / 64 * 64 - preamble, ' ');  // the data is aligned
  header.back() = '\n';
  std::string bytes(magic);
  bytes += {'\x01', '\0', static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)};
  bytes += header;
  bytes.append(tensor.bytes.begin(), tensor.bytes.end());
  return write_file_atomically(path, bytes);
}

}  // namespace autoperfect::cli
