#include "house/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>
#include <string_view>

namespace mha {
namespace {

// A folder may include what has a lower floor, but layer/ not files/. Folders of
// one floor do not know each other.
const std::map<std::string, int, std::less<>> kFloors = {
    {"base", 0},  {"tensor", 1},  {"kernels", 2},    {"files", 2}, {"layer", 3},
    {"heads", 3}, {"results", 4}, {"checkpoint", 4}, {"input", 5}, {"apps", 6}};

// Outside headers that begin so are included only under these paths.
struct Outsider {
  std::string_view header;
  std::string_view where;
  std::string_view why;
};
constexpr std::array kOutsiders = {
    Outsider{"cblas", "src/kernels/gemm.cc", "one file speaks to the BLAS"},
    Outsider{"openblas", "src/kernels/gemm.cc", "one file speaks to the BLAS"},
    Outsider{"hwy/", "src/kernels/", "SIMD is a matter of kernels/"},
    Outsider{"nlohmann/", "src/files/json.cc", "one file speaks JSON"},
    Outsider{"zlib", "src/files/", "archives are a matter of files/"},
    Outsider{"utf8proc", "src/input/", "words are a matter of input/"},
    Outsider{"png", "src/heads/", "pictures are a matter of heads/"},
    Outsider{"CLI/", "apps/", "the command line is a matter of the apps"},
    Outsider{"spdlog/", "apps/", "the library logs nothing"},
    Outsider{"iostream", "apps/", "the library prints nothing"},
};

// "src/layer/mask.cc" -> "layer", "apps/mha-run/main.cc" -> "apps".
std::string folder_of(std::string_view path) {
  if (path.starts_with("src/")) path.remove_prefix(4);
  return std::string(path.substr(0, path.find('/')));
}

// Why the file may not include "folder/name.h"; empty where it may.
std::string fault_of_own(const std::string& path, const std::string& header) {
  const std::string from = folder_of(path);
  const std::string to = folder_of(header);
  const bool from_app = from == "apps";
  if (header.find('/') == std::string::npos || !kFloors.contains(to)) {
    // An app's own files lie beside it.
    return from_app ? "" : "not a header of a folder of src/";
  }
  if (!kFloors.contains(from)) return "src/" + from + " has no floor in the plan";
  if (from == to) return "";
  if (from == "layer" && to == "files") return "layer/ knows no files";
  if (kFloors.at(to) < kFloors.at(from)) return "";
  return from + "/ does not stand above " + to + "/";
}

std::string fault_of_outside(std::string_view path, std::string_view header) {
  for (const Outsider& outsider : kOutsiders) {
    if (header.starts_with(outsider.header) && !path.starts_with(outsider.where)) {
      return "only in " + std::string(outsider.where) + ": " + std::string(outsider.why);
    }
  }
  return "";
}

// `#include "header"` or `#include <header>`; an empty header on any other line.
struct Include {
  std::string header;
  bool quoted = false;
};
Include include_of(std::string_view line) {
  const auto skip = [&line](std::string_view word) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool found = line.starts_with(word);
    if (found) line.remove_prefix(word.size());
    return found;
  };
  if (!skip("#") || !skip("include")) return {};
  const bool quoted = skip("\"");
  if (!quoted && !skip("<")) return {};
  return {std::string(line.substr(0, line.find(quoted ? '"' : '>'))), quoted};
}

// Whether `list` names the file: as a whole word of CMake.
bool names(const std::string& list, const std::string& file) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '/' ||
           c == '.';
  };
  for (std::size_t at = list.find(file); at != std::string::npos;
       at = list.find(file, at + 1)) {
    const std::size_t end = at + file.size();
    if ((at == 0 || !is_part(list[at - 1])) && (end == list.size() || !is_part(list[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> breaches(const SourceFile& file) {
  std::vector<std::string> result;
  std::istringstream lines(file.text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto [header, quoted] = include_of(line);
    if (header.empty()) continue;
    // An outside header stays one in quotes.
    std::string fault = fault_of_outside(file.path, header);
    if (fault.empty() && quoted) fault = fault_of_own(file.path, header);
    if (fault.empty()) continue;
    result.push_back(file.path + ":" + std::to_string(number) + ": " + header + ": " + fault);
  }
  return result;
}

std::vector<std::string> unlisted(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> lists;  // folder -> its CMakeLists.txt
  for (const SourceFile& file : files) {
    const std::size_t at = file.path.rfind("/CMakeLists.txt");
    if (at != std::string::npos) lists[file.path.substr(0, at)] = file.text;
  }
  std::vector<std::string> result;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with(".cc")) continue;
    bool listed = false;
    for (std::size_t slash = file.path.rfind('/'); slash != std::string::npos && !listed;
         slash = slash == 0 ? std::string::npos : file.path.rfind('/', slash - 1)) {
      const auto list = lists.find(file.path.substr(0, slash));
      listed = list != lists.end() && names(list->second, file.path.substr(slash + 1));
    }
    if (!listed) result.push_back(file.path);
  }
  return result;
}

}  // namespace mha
