#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "catch.h"
#include "house/rules.h"
#include "support/temp_folder.h"

using namespace mha;
namespace fs = std::filesystem;

namespace {

// C++ and CMake files under these folders of the source tree.
std::vector<SourceFile> files_under(std::initializer_list<const char*> folders) {
  const fs::path top = MHA_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".h") || name.ends_with(".cc") || name == "CMakeLists.txt") {
        files.push_back(
            {entry.path().lexically_relative(top).generic_string(), read_file(entry.path())});
      }
    }
  }
  return files;
}

std::vector<std::string> breaches_of(const std::string& path, const std::string& text) {
  return breaches({path, text});
}

}  // namespace

TEST_CASE("every include of the project keeps to the plan") {
  const std::vector<SourceFile> files = files_under({"src", "apps"});
  REQUIRE(files.size() > 20);
  std::vector<std::string> all;
  for (const SourceFile& file : files) std::ranges::copy(breaches(file), back_inserter(all));
  CHECK(all == std::vector<std::string>{});
}

TEST_CASE("every source of the project is built") {
  CHECK(unlisted(files_under({"src", "apps", "tests"})) == std::vector<std::string>{});
}

TEST_CASE("the map in README.md names every header in the row of its folder") {
  std::istringstream readme(read_file(fs::path(MHA_SOURCE_DIR) / "README.md"));
  std::map<std::string, std::string> rows;  // "files" -> all that stands behind it
  std::string folder;
  for (std::string line; std::getline(readme, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (line.starts_with("  ") && word.ends_with('/'))
      folder = word.substr(0, word.size() - 1);
    if (!line.starts_with("  ")) folder.clear();
    if (!folder.empty()) rows[folder] += line + " ";
  }
  for (const SourceFile& file : files_under({"src"})) {
    const fs::path path = file.path;
    if (path.extension() != ".h") continue;
    INFO(file.path);
    const std::string& row = rows[path.parent_path().filename().string()];
    CHECK(row.find(" " + path.stem().string() + " ") != std::string::npos);
  }
}

TEST_CASE("a folder includes itself and what stands below it") {
  CHECK(breaches_of("src/layer/a.cc",
                    "#include \"layer/a.h\"\n#include \"kernels/gemm.h\"\n"
                    "#include \"base/error.h\"\n#include <vector>\n")
            .empty());
  CHECK(breaches_of("apps/a.cc", "#include \"input/a.h\"\n#include \"options.h\"\n").empty());
  CHECK(breaches_of("src/input/a.cc", "#include \"files/archive.h\"\n").empty());
}

TEST_CASE("an include of what stands above or beside is a breach, named with its line") {
  CHECK(breaches_of("src/base/a.cc", "\n#include \"tensor/view.h\"\n") ==
        std::vector<std::string>{
            "src/base/a.cc:2: tensor/view.h: base/ does not stand above tensor/"});
  const char* upward = GENERATE("results/a.h", "input/a.h", "apps/a.h", "checkpoint/a.h");
  CHECK(breaches_of("src/layer/a.h", "#include \"" + std::string(upward) + "\"").size() == 1);
  CHECK(breaches_of("src/results/a.h", "#include \"checkpoint/load.h\"").size() == 1);
}

TEST_CASE("mathematics knows no files, and files no mathematics") {
  CHECK(breaches_of("src/layer/a.h", "#include \"files/npy.h\"").size() == 1);
  CHECK(breaches_of("src/kernels/a.h", "#include \"files/npy.h\"").size() == 1);
  CHECK(breaches_of("src/files/a.h", "#include \"kernels/gemm.h\"").size() == 1);
  CHECK(breaches_of("src/files/a.h", "#include \"layer/mask.h\"").size() == 1);
}

TEST_CASE("outside libraries are known where they are used, and nowhere else") {
  CHECK(breaches_of("src/kernels/gemm.cc", "#include <cblas.h>").empty());
  CHECK(breaches_of("src/layer/attention.cc", "#include <cblas.h>").size() == 1);
  CHECK(breaches_of("src/layer/attention.cc", "#include <openblas/cblas.h>").size() == 1);
  CHECK(breaches_of("src/files/json.cc", "#include <nlohmann/json.hpp>").empty());
  CHECK(breaches_of("src/files/npy.cc", "  # include \"nlohmann/json.hpp\"").size() == 1);
  CHECK(breaches_of("apps/mha-run.cc", "#include <CLI/CLI.hpp>").empty());
  CHECK(breaches_of("src/input/a.cc", "#include <CLI/CLI.hpp>").size() == 1);
  CHECK(breaches_of("src/input/a.cc", "#include <spdlog/spdlog.h>").size() == 1);
  CHECK(breaches_of("src/results/a.cc", "#include <iostream>").size() == 1);
}

TEST_CASE("a header of no known folder is a breach in src") {
  CHECK(breaches_of("src/files/a.cc", "#include \"npy.h\"").size() == 1);
  CHECK(breaches_of("src/cellar/a.cc", "#include \"base/error.h\"").size() == 1);
}

TEST_CASE("a source that no list names is found") {
  const SourceFile source{"src/files/npy.cc", ""};
  CHECK(
      unlisted({source, {"src/files/CMakeLists.txt", "sources(\n  npy.cc zip.cc)"}}).empty());
  CHECK(unlisted({source, {"src/CMakeLists.txt", "sources(files/npy.cc)"}}).empty());
  CHECK(unlisted({source, {"src/files/CMakeLists.txt", "sources(zip.cc my_npy.cc npy.cc.in)"}})
            .size() == 1);
  CHECK(unlisted({source, {"src/base/CMakeLists.txt", "sources(npy.cc)"}}).size() == 1);
  CHECK(unlisted({source}).size() == 1);
}
