// SPDX-License-Identifier: Apache-2.0
// The header of a GGUF file, versions 2 and 3 (ggml's docs/gguf.md), little-endian:
//
//   "GGUF"  u32 version  u64 tensors  u64 keys
//   keys:    text name (u64 length, bytes), u32 type, value
//            types 0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 6 f32, 7 bool, 8 text,
//            9 list (u32 type, u64 length, values), 10 u64, 11 i64, 12 f64
//   tensors: text name, u32 dimensions (at most 4), u64 each, u32 type, u64 offset in the data
//   data:    from the next multiple of general.alignment (32) on
//
// A model that is split over several files has split.count, split.no and tensors of its own in
// each, and its keys in the first.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "plan/model/header_reader.h"
#include "plan/model/model_file.h"

namespace jetmem::plan {

// Bytes of the tensors of a file, or of all parts of a model.
struct TensorSums {
  std::optional<double> all = 0;  // absent: of a type whose size is unknown, without their data
  bool has_unknown_type = false;  // then the parts below are not known
  double embedding = 0;           // the table of tokens
  double experts = 0;
  bool has_output = false;  // a matrix of the output's own
};

struct GgufFile {
  ModelFile model;  // its weights are those of `tensors`
  TensorSums tensors;
  std::uint64_t experts = 0;  // of a layer, and so many of them for each token
  std::optional<std::uint64_t> experts_used;
  std::uint64_t split_count = 1;
  std::uint64_t split_number = 0;  // from 0
};

// Lists of tokens are passed over, not kept: a header takes up to 64 MiB of a file and no more than
// a window of memory.
Result<GgufFile> read_gguf(const ModelBytes& bytes);

// Adds another part of the same model. What a token reads of them follows from all parts together.
void add_part(GgufFile part, GgufFile& whole);

}  // namespace jetmem::plan
