#include "canonicalize/structural_hash.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace autoperfect {

namespace {

uint64_t bits_of(double value) {
  return std::isnan(value) ? ~uint64_t{0} : std::bit_cast<uint64_t>(value);
}

struct HashOfValue {
  uint64_t operator()(bool value) const { return mix(1, value); }
  uint64_t operator()(int64_t value) const { return mix(2, static_cast<uint64_t>(value)); }
  uint64_t operator()(double value) const { return mix(3, bits_of(value)); }
  uint64_t operator()(const std::string& value) const { return mix(4, hash_of(value)); }
  uint64_t operator()(Dtype value) const { return mix(5, hash_of(name(value))); }
  uint64_t operator()(const std::vector<int64_t>& values) const {
    uint64_t hash = mix(6, values.size());
    for (auto value : values)
      hash = mix(hash, static_cast<uint64_t>(value));
    return hash;
  }
  uint64_t operator()(const std::vector<double>& values) const {
    uint64_t hash = mix(7, values.size());
    for (auto value : values)
      hash = mix(hash, bits_of(value));
    return hash;
  }
};

}  // namespace

// The finalizer of splitmix64 over the sum.
uint64_t mix(uint64_t hash, uint64_t value) {
  uint64_t x = hash * 0x9e3779b97f4a7c15u + value + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// FNV-1a
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

uint64_t hash_of(const TensorType& type) {
  uint64_t hash = hash_of(name(type.dtype));
  for (auto size : type.shape)
    hash = mix(hash, static_cast<uint64_t>(size));
  return hash;
}

uint64_t hash_of(const Attributes& attributes) {
  uint64_t hash = 0;
  for (const auto& [name, value] : attributes)
    hash = mix(mix(hash, hash_of(name)), std::visit(HashOfValue{}, value));
  return hash;
}

bool same_bits(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (auto* real = std::get_if<double>(&a)) return bits_of(*real) == bits_of(std::get<double>(b));
  if (auto* reals = std::get_if<std::vector<double>>(&a)) {
    const auto& others = std::get<std::vector<double>>(b);
    return std::equal(reals->begin(), reals->end(), others.begin(), others.end(), [](double x, double y) {
      return bits_of(x) == bits_of(y);
    });
  }
  return a == b;
}

bool same_bits(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same_bits(x.second, y.second);
  });
}

}  // namespace autoperfect
