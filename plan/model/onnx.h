// SPDX-License-Identifier: Apache-2.0
// The weights of an ONNX file, a Protocol Buffers message: ModelProto.graph (7), its initializer
// (5), of each dims (1) and data_type (2). Their data, here or in files beside it, is passed over.
#pragma once

#include "base/result.h"
#include "plan/model/header_reader.h"

namespace jetmem::plan {

Result<double> read_onnx_weights(const ModelBytes& bytes);

}  // namespace jetmem::plan
