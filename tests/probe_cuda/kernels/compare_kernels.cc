// SPDX-License-Identifier: Apache-2.0
// The kernels that jetmem-probe carries, as it loads them and as PTX, against those that nvcc made
// of kernels.cu, on a GPU: all must do to the same words what the CPU says they do, at every size
// and in every shape of launch, and touch nothing else.
//
//   compare_kernels PTX      77: no GPU here, or a driver that compiles nothing
//
// Prints one line of JSON.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "probes/program/cuda/kernels.h"
#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {
namespace {

constexpr int kExitSkipped = 77;
constexpr std::size_t kGuard = 64;  // words behind what a kernel is given
constexpr unsigned kThreads = 256;

[[noreturn]] void stop(int status, const std::string& why) {
  std::fprintf(stderr, "compare_kernels: %s\n", why.c_str());
  std::exit(status);
}
void need(const char* call, driver::Result answer) {
  if (answer != driver::kSuccess) stop(1, std::string(call) + ": " + cuda().described(answer));
}
using Numbers = std::vector<std::uint64_t>;

struct Program {
  driver::Function modify = nullptr;
  driver::Function read = nullptr;

  explicit Program(const void* code) {
    char log[2048] = {};
    int options[] = {driver::kJitErrorLog, driver::kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
    driver::Module module = nullptr;
    const driver::Result answer = cuda().cuModuleLoadDataEx(&module, code, 2, options, values);
    if (answer != driver::kSuccess) {
      stop(1, "cuModuleLoadDataEx: " + cuda().described(answer) + ": " + log);
    }
    need("cuModuleGetFunction", cuda().cuModuleGetFunction(&modify, module, "jetmem_modify"));
    need("cuModuleGetFunction", cuda().cuModuleGetFunction(&read, module, "jetmem_read"));
  }
  static void launch(driver::Function function, unsigned blocks, void** arguments) {
    need("cuLaunchKernel", cuda().cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0,
                                                 gpu_stream(), arguments, nullptr));
    need("cuStreamSynchronize", cuda().cuStreamSynchronize(gpu_stream()));
  }
};

class Words {
 public:
  explicit Words(const Numbers& words) : count_(words.size()) {
    need("cuMemAlloc", cuda().cuMemAlloc_v2(&address_, count_ * 8));
    need("cuMemcpyHtoDAsync",
         cuda().cuMemcpyHtoDAsync_v2(address_, words.data(), count_ * 8, gpu_stream()));
    need("cuStreamSynchronize", cuda().cuStreamSynchronize(gpu_stream()));
  }
  ~Words() { cuda().cuMemFree_v2(address_); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  driver::Address address() const { return address_; }
  Numbers now() const {
    Numbers words(count_);
    need("cuMemcpyDtoHAsync",
         cuda().cuMemcpyDtoHAsync_v2(words.data(), address_, count_ * 8, gpu_stream()));
    need("cuStreamSynchronize", cuda().cuStreamSynchronize(gpu_stream()));
    return words;
  }

 private:
  std::size_t count_;
  driver::Address address_ = 0;
};

std::uint64_t differences(const Numbers& one, const Numbers& other) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < one.size(); ++i) count += one[i] != other[i];
  return count;
}

// What one program did wrong, in words.
std::uint64_t modify_wrong(const Program& program, Numbers words, std::uint64_t count,
                           unsigned blocks) {
  const Words on_gpu(words);
  driver::Address address = on_gpu.address();
  void* arguments[] = {&address, &count};
  Program::launch(program.modify, blocks, arguments);
  for (std::size_t i = 0; i < count; ++i) words[i] = words[i] * kModifyFactor + kModifyTerm;
  return differences(words, on_gpu.now());
}

std::uint64_t read_wrong(const Program& program, const Numbers& words, std::uint64_t count,
                         unsigned blocks, unsigned times) {
  const Words on_gpu(words);
  // The sum is added to what is there.
  Numbers sum{words[0], words[1]};
  const Words sum_on_gpu(sum);
  driver::Address address = on_gpu.address();
  driver::Address to = sum_on_gpu.address();
  void* arguments[] = {&address, &count, &times, &to};
  Program::launch(program.read, blocks, arguments);
  for (unsigned pass = 0; pass < times; ++pass) {
    for (std::size_t i = 0; i < count; ++i) sum[0] += words[i] ^ pass;
  }
  return differences(sum, sum_on_gpu.now()) + differences(words, on_gpu.now());
}

int run(const char* file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) stop(2, std::string("cannot read ") + file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (gpu().state == State::kUnsupported) stop(kExitSkipped, "SKIPPED: " + gpu().reason);
  if (gpu().state != State::kOk) stop(1, gpu().reason);
  if (gpu().kernels->state != State::kOk) stop(kExitSkipped, "SKIPPED: " + gpu().kernels->reason);

  const bool has_code = gpu().kernels->code == "cubin";
  const Program carried(has_code ? static_cast<const void*>(kKernelsFatbin) : kKernelsPtx);
  const Program ours(kKernelsPtx);
  const Program theirs(text.c_str());
  std::mt19937_64 random(20260101);
  std::uint64_t launches = 0;
  std::uint64_t wrong[3] = {0, 0, 0};
  for (const std::uint64_t count : {0ULL, 1ULL, 7ULL, 255ULL, 256ULL, 257ULL, 1000ULL, 65536ULL,
                                    262147ULL, 1048576ULL, 8388613ULL}) {
    Numbers words(count + kGuard);
    for (std::uint64_t& word : words) word = random();
    for (const unsigned blocks : {1U, 3U, 1024U}) {
      std::uint64_t* of = wrong;
      for (const Program* program : {&carried, &ours, &theirs}) {
        *of += modify_wrong(*program, words, count, blocks);
        for (const unsigned times : {0U, 1U, 3U}) {
          *of += read_wrong(*program, words, count, blocks, times);
        }
        launches += 4;
        ++of;
      }
    }
  }
  std::printf(
      "{\"gpu\": \"%s\", \"code\": \"%s\", \"launches\": %llu, \"loaded_wrong_words\": %llu, "
      "\"ptx_wrong_words\": %llu, \"nvcc_wrong_words\": %llu}\n",
      gpu().name.c_str(), gpu().kernels->code.c_str(), static_cast<unsigned long long>(launches),
      static_cast<unsigned long long>(wrong[0]), static_cast<unsigned long long>(wrong[1]),
      static_cast<unsigned long long>(wrong[2]));
  return wrong[0] + wrong[1] + wrong[2] == 0 ? 0 : 1;
}

}  // namespace
}  // namespace jetmem::probe

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: compare_kernels PTX\n", stderr);
    return 2;
  }
  return jetmem::probe::run(argv[1]);
}
