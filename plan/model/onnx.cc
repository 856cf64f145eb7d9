// SPDX-License-Identifier: Apache-2.0
#include "plan/model/onnx.h"

#include <algorithm>
#include <array>
#include <string>

#include "plan/model/model_file.h"

namespace jetmem::plan {
namespace {

constexpr std::uint64_t kMostFields = 1U << 22;
constexpr std::uint64_t kGraph = 7;
constexpr std::uint64_t kInitializer = 5;
constexpr std::uint64_t kDims = 1;
constexpr std::uint64_t kDataType = 2;

// Bytes of a number by TensorProto.DataType; below 0: not of a fixed size.
constexpr std::array<double, 24> kTypeBytes{-1, 4, 1, 1,  2, 2, 4, 8, -1, 1,   2,   8,
                                            4,  8, 8, 16, 2, 1, 1, 1, 1,  0.5, 0.5, 0.5};

class OnnxReader {
 public:
  explicit OnnxReader(const ModelBytes& bytes) : end_(bytes.size), in_(bytes, bytes.size) {}

  Result<double> run() {
    bool has_graph = false;
    each(end_, [&](std::uint64_t field, std::uint64_t end) {
      if (field != kGraph) return;
      has_graph = true;
      each(end, [&](std::uint64_t of_graph, std::uint64_t tensor_end) {
        if (of_graph == kInitializer) tensor(tensor_end);
      });
    });
    if (in_.ok() && !has_graph) in_.fail_at(0, "expected an ONNX model with a graph, found none");
    if (!in_.ok()) return tl::unexpected(in_.error());
    return weights_;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && in_.ok(); shift += 7) {
      const std::uint64_t byte = in_.number(1, "a number");
      value |= (byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    in_.fail_at(in_.offset(), "expected a number of at most 10 bytes");
    return 0;
  }

  // work(field, end) at each field with a length, which may read up to its end.
  template <class Work>
  void each(std::uint64_t end, Work work) {
    each(end, work, [](std::uint64_t, std::uint64_t) {});
  }
  template <class Work, class Number>
  void each(std::uint64_t end, Work work, Number number) {
    while (in_.ok() && in_.offset() < end) {
      if (++fields_ > kMostFields) {
        return in_.fail_at(in_.offset(), "expected fewer fields", Errc::kTooLarge);
      }
      const std::uint64_t at = in_.offset();
      const std::uint64_t tag = varint();
      switch (tag & 7U) {
        case 0:
          number(tag >> 3, varint());
          break;
        case 1:
          in_.skip(8, "a value");
          break;
        case 5:
          in_.skip(4, "a value");
          break;
        case 2: {
          const std::uint64_t length = varint();
          if (!in_.ok()) return;
          if (in_.offset() > end || length > end - in_.offset()) {
            return in_.fail_at(at, "expected a field within its message");
          }
          const std::uint64_t field_end = in_.offset() + length;
          work(tag >> 3, field_end);
          if (in_.ok() && in_.offset() < field_end) {
            in_.skip(field_end - in_.offset(), "a field");
          }
          break;
        }
        default:
          return in_.fail_at(at, "expected a field of ONNX");
      }
    }
  }

  void tensor(std::uint64_t end) {
    const std::uint64_t at = in_.offset();
    double numbers = 1;
    std::uint64_t type = 0;
    each(
        end,
        [&](std::uint64_t field, std::uint64_t packed_end) {
          if (field != kDims) return;
          while (in_.ok() && in_.offset() < packed_end) numbers *= static_cast<double>(varint());
        },
        [&](std::uint64_t field, std::uint64_t value) {
          if (field == kDims) numbers *= static_cast<double>(value);
          if (field == kDataType) type = value;
        });
    const double width = type < kTypeBytes.size() ? kTypeBytes[static_cast<std::size_t>(type)] : -1;
    weights_ += numbers * std::max(width, 0.0);
    if (!(weights_ <= kMostModelBytes)) {
      in_.fail_at(at, "the tensors take more than 10 TB", Errc::kTooLarge);
    } else if (in_.ok() && width < 0 && type != 8) {
      in_.fail_at(at, "expected a tensor's type from 1 to 23, found " + std::to_string(type));
    }
  }

  std::uint64_t end_;
  HeaderReader in_;
  std::uint64_t fields_ = 0;
  double weights_ = 0;
};

}  // namespace

Result<double> read_onnx_weights(const ModelBytes& bytes) { return OnnxReader(bytes).run(); }

}  // namespace jetmem::plan
