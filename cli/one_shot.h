// Reads sources once, without a daemon: through the same Sampler and the same jetmem-reader, so
// that a source that hangs in the kernel costs a command its deadline and not the terminal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/root.h"
#include "base/sample.h"
#include "collectors/kernel_log/source.h"
#include "collectors/sampler.h"

namespace jetmem {

class OneShot {
 public:
  // Reads the named sources, or all when `only` is empty. Errors: a root that cannot be opened, a
  // name that no source has.
  static Result<std::unique_ptr<OneShot>> read(const std::string& root_directory,
                                               const std::vector<std::string>& only);

  const SampleTable& table() const { return table_; }
  const Sampler& sampler() const { return *sampler_; }
  // The sources that were asked for, as indices of the sampler.
  const std::vector<std::size_t>& chosen() const { return chosen_; }
  // How many series a source gave.
  std::size_t series_of(std::size_t source) const;
  Nanoseconds now() const { return clock_.boot(); }

 private:
  OneShot(Root root, std::string root_directory);
  Result<void> choose(const std::vector<std::string>& only);
  void read_chosen();
  // Takes the whole kernel log as it is now.
  void read_kernel_log(std::size_t i, UniqueFd fd);

  Root root_;
  std::string root_directory_;
  SystemClock clock_;
  SampleTable table_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::size_t> chosen_;
  KernelLogSource* kernel_log_source_ = nullptr;  // the sampler's
  std::unique_ptr<kernel_log::KernelLog> kernel_log_;
};

}  // namespace jetmem
