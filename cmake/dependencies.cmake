# Everything comes from the distribution; README.md says what each is for.
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_path(MHA_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(openblas REQUIRED openblas)
pkg_check_modules(zlib REQUIRED zlib)
pkg_check_modules(png REQUIRED libpng)
pkg_check_modules(utf8proc REQUIRED libutf8proc)

# By name and not by path, so that -static alone decides between archive and shared library.
add_library(mha_dependencies INTERFACE)
set(mha_include_dirs ${openblas_INCLUDE_DIRS} ${png_INCLUDE_DIRS} ${utf8proc_INCLUDE_DIRS}
                     ${zlib_INCLUDE_DIRS})
set(mha_libraries ${openblas_LDFLAGS} ${png_LDFLAGS} ${utf8proc_LDFLAGS} ${zlib_LDFLAGS} -lm)
target_include_directories(mha_dependencies SYSTEM INTERFACE ${mha_include_dirs})
target_link_libraries(mha_dependencies INTERFACE ${mha_libraries})

# Headers alone: Debian has no archives of spdlog and fmt.
add_library(mha_spdlog INTERFACE)
target_include_directories(mha_spdlog SYSTEM INTERFACE
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(mha_spdlog INTERFACE FMT_HEADER_ONLY
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)

# Without a dynamic linker a program starts in less than half the time (README.md, Speed).
# Sanitizers are shared libraries.
include(CheckCXXSourceCompiles)
include(CMakeDependentOption)
set(CMAKE_REQUIRED_INCLUDES ${mha_include_dirs})
set(CMAKE_REQUIRED_LINK_OPTIONS -static)
set(CMAKE_REQUIRED_LIBRARIES ${mha_libraries})
check_cxx_source_compiles("
  #include <cblas.h>
  #include <png.h>
  #include <utf8proc.h>
  #include <zlib.h>
  int main() {
    openblas_set_num_threads(1);
    return zlibVersion() == nullptr || png_access_version_number() == 0 || utf8proc_version() == nullptr;
  }"
  MHA_HAS_ARCHIVES)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
unset(CMAKE_REQUIRED_LIBRARIES)
cmake_dependent_option(MHA_STATIC "Link the programs statically" ON
  "MHA_HAS_ARCHIVES;NOT MHA_SANITIZE" OFF)
