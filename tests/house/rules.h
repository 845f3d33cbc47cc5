#pragma once

#include <string>
#include <vector>

namespace mha {

// One file of the source tree; the path is relative to its top, with slashes.
struct SourceFile {
  std::string path;
  std::string text;
};

// The plan of src/ in README.md ("where things are") holds: a folder includes
// only what stands below it, and each outside library is known to few places.
// A line for each include that breaks it: "src/layer/mask.cc:3: …".
std::vector<std::string> breaches(const SourceFile& file);

// Sources (.cc) that no CMakeLists.txt lists: neither that of their own folder
// nor, by the rest of their path, that of a folder above.
std::vector<std::string> unlisted(const std::vector<SourceFile>& files);

}  // namespace mha
