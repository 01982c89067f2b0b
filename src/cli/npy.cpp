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

// NumPy writes two-byte voids for ml_dtypes' bfloat16; u16 are its bits.
bool stands_for(std::string_view text, Dtype dtype) {
  return text == descriptor(dtype) || (dtype == Dtype::bf16 && (text == "|V2" || text == "<u2"));
}

std::string_view numpy_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::bool_:
      return "np.bool_";
    case Dtype::u8:
      return "np.uint8";
    case Dtype::u16:
      return "np.uint16";
    case Dtype::u32:
      return "np.uint32";
    case Dtype::u64:
      return "np.uint64";
    case Dtype::i8:
      return "np.int8";
    case Dtype::i16:
      return "np.int16";
    case Dtype::i32:
      return "np.int32";
    case Dtype::i64:
      return "np.int64";
    case Dtype::f16:
      return "np.float16";
    case Dtype::f32:
      return "np.float32";
    case Dtype::f64:
      return "np.float64";
    case Dtype::c64:
      return "np.complex64";
    case Dtype::bf16:
      break;
  }
  return "";
}

std::string how_to_write(Dtype dtype) {
  if (dtype == Dtype::bf16)
    return "mx.save(path, x.astype(mx.bfloat16)), or np.save of its bits as np.uint16";
  return fmt::format("np.save(path, x.astype({}))", numpy_name(dtype));
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

Diagnostic failure(const std::string& path, std::string why, std::string hint = "") {
  return {"cli", "npy", fmt::format("'{}' {}", path, why), {}, std::move(hint)};
}

struct Layout {
  size_t header_at = 0, header_size = 0;
};

// Version 1 has two bytes for the length of the header, later ones have four.
std::optional<Layout> layout_of(std::string_view bytes) {
  constexpr size_t version_at = 6, length_at = 8;
  if (bytes.size() < length_at + 4 || bytes.substr(0, magic.size()) != magic) return std::nullopt;
  auto version = bytes[version_at];
  if (version < 1 || version > 3) return std::nullopt;
  Layout layout{version == 1 ? length_at + 2 : length_at + 4, 0};
  for (size_t i = layout.header_at; i-- > length_at;)
    layout.header_size = 256 * layout.header_size + static_cast<unsigned char>(bytes[i]);
  return layout;
}

// `data` with the first index innermost, as Fortran has it, to the last one innermost.
void copy_transposed(std::string_view data, Tensor& tensor) {
  const auto& shape = tensor.type.shape;
  auto size = size_of(tensor.type.dtype);
  std::vector<int64_t> position(shape.size(), 0);
  for (size_t to = 0; to < tensor.bytes.size(); to += size) {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0;)
      from = from * shape[d] + position[d];
    std::copy_n(
        data.begin() + from * static_cast<int64_t>(size),
        size,
        tensor.bytes.begin() + static_cast<int64_t>(to));
    for (size_t d = shape.size(); d-- > 0 && ++position[d] == shape[d];)
      position[d] = 0;
  }
}

}  // namespace

Result<Tensor> read_npy(const std::string& path, Dtype wanted) {
  auto bytes = read_file(path);
  if (!bytes) return failure(path, "cannot be read");
  auto layout = layout_of(*bytes);
  if (!layout) return failure(path, "is no .npy file", "np.save and mx.save write them");
  auto header = std::string_view(*bytes).substr(layout->header_at, layout->header_size);
  auto dtype = after_key(header, "descr");
  dtype = dtype.substr(0, dtype.find('\'', 1) + 1);
  if (dtype.size() < 2 || !stands_for(dtype.substr(1, dtype.size() - 2), wanted)) {
    auto why = fmt::format("has dtype {}, {} is '{}'", dtype, name(wanted), descriptor(wanted));
    return failure(path, why, how_to_write(wanted));
  }
  auto shape = parse_shape(after_key(header, "shape"));
  if (!shape) return failure(path, "has no shape that can be read");
  auto data =
      std::string_view(*bytes).substr(std::min(layout->header_at + layout->header_size, bytes->size()));
  auto elements = static_cast<uint64_t>(*checked_elements(*shape));
  if (elements != data.size() / size_of(wanted) || data.size() % size_of(wanted) != 0) {
    return failure(
        path, fmt::format("has {} bytes for {}", data.size(), to_string(TensorType{wanted, *shape})));
  }
  auto tensor = Tensor::zeros({wanted, *shape});
  if (after_key(header, "fortran_order").substr(0, 4) == "True") {
    copy_transposed(data, tensor);
  } else {
    std::copy(data.begin(), data.end(), tensor.bytes.begin());
  }
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
