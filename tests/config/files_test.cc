// SPDX-License-Identifier: Apache-2.0
// Files that stand in a settings file's place, and where files are looked for.
#include "config/files.h"

#include "config/yaml_document.h"
#include "tests/config/config_fixture.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

std::string load_error(const std::string& path, bool must_exist = true) {
  const std::array files{ConfigFile{path, must_exist}};
  const auto loaded = load_settings(files, test_sources());
  if (loaded) return "loaded";
  EXPECT_EQ(loaded.error().size(), 1U);
  EXPECT_EQ(loaded.error().front().file, path);
  return loaded.error().front().message;
}

TEST(ConfigFiles, MissingIsFineOnlyWhereNobodyNamedIt) {
  const TempDir dir;
  const std::string path = dir.path() + "/jetmem.yaml";
  EXPECT_EQ(load_error(path, false), "loaded");
  EXPECT_EQ(load_error(path, true), "there is no such file; check its name");
}

TEST(ConfigFiles, ProgramsThatCannotBeStarted) {
  const TempDir dir;
  EXPECT_EQ(program_problem("/bin/sh"), "");
  EXPECT_NE(program_problem(dir.path() + "/none"), "");
  EXPECT_NE(program_problem(dir.path()), "");
  EXPECT_NE(program_problem(dir.write("script", "#!/bin/sh\n")), "") << "not executable";
}

TEST(ConfigFiles, WhatIsNoSettingsFileIsRefusedWithoutBlocking) {
  const TempDir dir;
  EXPECT_THAT(load_error(dir.path(), false), HasSubstr("is a directory"));
  const std::string fifo = dir.path() + "/fifo.yaml";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(load_error(fifo), HasSubstr("not a regular file"));
  EXPECT_THAT(load_error("/dev/zero"), HasSubstr("not a regular file"));
  EXPECT_EQ(load_error(dir.write("empty.yaml", "")), "loaded");
  const std::string big(kMaxYamlBytes, '#');
  EXPECT_EQ(load_error(dir.write("big.yaml", big)), "loaded");
  EXPECT_THAT(load_error(dir.write("bigger.yaml", big + "#")), HasSubstr("larger than 128 KiB"));
  const std::string huge(kMaxConfigFileBytes + 1, '#');
  EXPECT_THAT(load_error(dir.write("huge.yaml", huge)), HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(load_error(dir.write("a", "") + "/b.yaml", false), HasSubstr("cannot be opened"));
}

TEST(ConfigFiles, UnreadableIsNotMissing) {
  const TempDir dir;
  const std::string path = dir.write("jetmem.yaml", "");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  const bool is_root = geteuid() == 0;  // whom no mode stops: look as nobody
  if (is_root && seteuid(65534) != 0) GTEST_SKIP() << "cannot become another user than root";
  const std::string error = load_error(path, false);
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_THAT(error, HasSubstr("permission denied"));
}

Loaded<LoadedSettings> load_all(const TempDir& dir) {
  const auto files = find_config_files(dir.path());
  if (!files) return tl::unexpected(files.error());
  return load_settings(*files, test_sources());
}

std::vector<std::string> found_names(const TempDir& dir) {
  std::vector<std::string> names;
  const auto files = find_config_files(dir.path());
  if (!files) return {describe(files.error())};
  for (const ConfigFile& file : *files) {
    EXPECT_EQ(file.must_exist, &file != &files->front());
    names.push_back(file.path.substr(dir.path().size() + 1));
  }
  return names;
}

TEST(ConfigFiles, MainFileThenConfDInLexicalOrder) {
  const TempDir dir;
  EXPECT_THAT(found_names(dir), testing::ElementsAre("jetmem.yaml"));
  for (const char* name : {"90-b.yaml", "10-a.yaml", "9.yaml", ".hidden.yaml", "10-a.yaml~",
                           "10-a.yaml.dpkg-dist", "README", ".yaml"}) {
    dir.write(std::string("conf.d/") + name, "");
  }
  EXPECT_THAT(found_names(dir), testing::ElementsAre("jetmem.yaml", "conf.d/10-a.yaml",
                                                     "conf.d/9.yaml", "conf.d/90-b.yaml"));
  std::filesystem::create_symlink("/nonexistent", dir.path() + "/conf.d/99-dangling.yaml");
  const auto loaded = load_all(dir);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().front().file, HasSubstr("99-dangling.yaml"));
}

TEST(ConfigFiles, WhatConfDMustNotBeOrHave) {
  const TempDir file;
  file.write("conf.d", "");
  EXPECT_THAT(found_names(file).front(), HasSubstr("cannot be listed as a directory"));
  const TempDir yml;
  const std::string path = yml.write("conf.d/10-a.yml", "");
  EXPECT_THAT(found_names(yml), testing::ElementsAre(path + ": is not read; rename it to .yaml"));
  const TempDir many;
  for (int i = 0; i < 257; ++i) many.write("conf.d/" + std::to_string(i) + ".yaml", "");
  EXPECT_THAT(found_names(many).front(), HasSubstr("more than 256"));
}

TEST(ConfigFiles, MainAndDropInsLoadTogether) {
  const TempDir dir;
  dir.write("jetmem.yaml", "log: {level: debug}\nreader: {max_wedged: 2}\n");
  const std::string drop_in = dir.write("conf.d/50-local.yaml", "\nlog: {level: error}\n");
  const auto loaded = load_all(dir);
  ASSERT_TRUE(loaded) << describe(loaded.error());
  EXPECT_EQ(loaded->values.log.level, LogLevel::kError);
  EXPECT_EQ(loaded->values.reader.max_wedged, 2U);
  EXPECT_EQ(loaded->origins.at("log.level"), drop_in + ":2");
}

}  // namespace
}  // namespace jetmem
