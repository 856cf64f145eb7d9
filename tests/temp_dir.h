// SPDX-License-Identifier: Apache-2.0
// A directory tree that a test builds in code and that goes with it.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace jetmem {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "jetmem-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // The whole path of the file written.
  std::string write(std::string_view name, std::string_view text) const {
    const std::filesystem::path to = file(name);
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary) << text;
    return to.string();
  }

 private:
  std::string path_;
};

}  // namespace jetmem
