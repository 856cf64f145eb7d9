// SPDX-License-Identifier: Apache-2.0
// jetmem-manual DIRECTORY: writes the man pages of jetmem there. Run by the build.

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "cli/manual/command_page.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("jetmem-manual DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path out(argv[1]);
  const jetmem::CommandProgram program;
  const std::vector<jetmem::CommandPage> pages = jetmem::command_pages(program.app());
  bool ok = true;
  const auto write = [&](const std::filesystem::path& name, const std::string& text) {
    std::filesystem::create_directories((out / name).parent_path());
    std::ofstream file(out / name, std::ios::binary);
    file << text;
    file.close();
    ok = ok && file.good();
  };
  for (const jetmem::CommandPage& page : pages) {
    write("man/" + page.name() + ".1", jetmem::man_page(page, pages));
  }
  if (!ok) std::perror("jetmem-manual: cannot write");
  return ok ? 0 : 1;
}
