// SPDX-License-Identifier: Apache-2.0
// The serving side of jetmem-reader: answers requests for a fixed list of sources.
#pragma once

#include <span>
#include <vector>

#include "base/clock.h"
#include "base/root/root.h"
#include "base/root/snapshot.h"
#include "collectors/reader/protocol.h"
#include "collectors/source.h"

namespace jetmem::reader {

class Server {
 public:
  // Nothing but the files of these sources is ever opened.
  Server(int connection, Root root, std::span<const SourceInfo* const> sources);

  // Tells the other side, through the kernel, which process it talks to, before any read can hang.
  bool send_hello();
  // Waits for a request and answers it; false when the connection is over. The process ends itself
  // (SIGALRM) when a read outlasts the request's deadline.
  bool serve_one();

 private:
  struct Served {
    const SourceInfo* info;
    SnapshotReader reader;
  };

  bool answer(const Request& request);
  bool answer_text(Served& served, AnswerHeader header, bool is_sparing);
  bool answer_descriptor(const SourceInfo& info, AnswerHeader header);
  bool send_packet(const AnswerHeader& header, std::string_view piece, int descriptor = -1);
  bool send_stream(AnswerHeader header, std::string_view stream);

  int connection_;
  Root root_;
  SystemClock clock_;
  std::vector<Served> sources_;
  ByteBuffer stream_;
};

}  // namespace jetmem::reader
