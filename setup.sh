#!/bin/bash
# From a bare Debian or Ubuntu to a built and tested mha-run; see usage below.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

build_packages=(g++ cmake ninja-build pkg-config libcli11-dev nlohmann-json3-dev
  libspdlog-dev libopenblas-dev libhwy-dev libpng-dev libutf8proc-dev zlib1g-dev)
test_packages=(catch2 clang libclang-rt-dev)
# For pages in a browser; npm and Node.js may be there from elsewhere.
browser_packages=(chromium fonts-dejavu-core)
command -v node >/dev/null || browser_packages+=(nodejs)
command -v npm >/dev/null || browser_packages+=(npm)
log=build/setup.log

usage() {
  cat <<'TEXT'
usage: ./setup.sh demo | test

  demo   installs the packages that are missing, builds, and runs attention on
         the files in models/ and data/
  test   the same set-up; then all tests, as built for users and under the
         address and undefined-behaviour sanitizers, pages in Chromium, and
         every fuzz target for a few seconds

Packages come from apt, as root or through sudo. What the steps have to say
goes to build/setup.log and is shown where one fails.
TEXT
}

# stage TITLE COMMAND...: a line for the step, all that it prints for the log.
stage() {
  local title=$1 start
  shift
  start=$(wc -c <"$log")
  printf '%s … ' "$title"
  printf '\n== %s: %s\n' "$title" "$*" >>"$log"
  if "$@" >>"$log" 2>&1; then
    # What ctest closes with says more than that it is done.
    tail -c +"$((start + 1))" "$log" | grep -E '^[0-9]+% tests passed' || echo "done"
  else
    echo FAILED
    tail -c +"$((start + 1))" "$log" | tail -n 200 >&2
    echo "setup.sh: $title failed; the whole log is $PWD/$log" >&2
    exit 1
  fi
}

# install_missing PACKAGE...: those of them that are not there, by apt.
install_missing() {
  if ! command -v apt-get >/dev/null; then
    echo "setup.sh: there is no apt here; this needs what Debian calls $*" >&2
    return
  fi
  local package missing=() as_root=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "setup.sh: run it as root, or have root install: ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -y)
  stage "package lists" "${as_root[@]}" update
  stage "installing ${missing[*]}" "${as_root[@]}" install --no-install-recommends "${missing[@]}"
}

# build PRESET CMAKE-OPTION...: into build/PRESET.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" "$@" && cmake --build --preset "$preset"
}

# show COMMAND...: as one would type it, then what it prints.
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

demo() {
  local run=build/release/apps/mha-run maps=build/release/apps/mha-maps
  local sentence="the cat did not cross the road because it was too"
  install_missing "${build_packages[@]}"
  stage "building $run" build release -DBUILD_TESTING=OFF
  # What "it" reads in a trained head, and with another last word.
  show $run -w models/reader.safetensors --text "$sentence tired" --maps build/tired.npz
  show $maps show build/tired.npz --layer 1 --head 3 --top 1
  show $run -w models/reader.safetensors --text "$sentence wide" --maps build/wide.npz
  show $maps show build/wide.npz --layer 1 --head 3 --query it --top 2
  show $maps render build/tired.npz -o build/tired.html
  show $run --weights models/article.json --input data/article-x.npy
  show $run --weights models/two-heads.json --input data/two-heads-x.json
  show $run -w models/article.json -i data/article-x.npy --causal
  # A BERT checkpoint of PyTorch's, its second layer.
  show $run -w models/tiny-bert/pytorch_model.bin -i data/tiny-bert-x.json --layer 1
  # Every step in float, then compared with the same steps in double.
  show $run -w models/article.json -i data/article-x.npy --trace build/steps.npz
  show $run -w models/article.json -i data/article-x.npy --precision f64 \
    --expect-trace build/steps.npz
}

# Where the build of tests/page looks for it.
fetch_playwright() {
  local folder=build/release/tests/page
  mkdir -p $folder
  cp tests/page/package.json tests/page/package-lock.json $folder
  npm ci --prefix $folder
}

test_all() {
  local browser=ON
  # There Chromium is a snap alone, which sees no files of ours.
  if grep -qsx ID=ubuntu /etc/os-release; then
    browser=OFF browser_packages=()
    echo "setup.sh: pages are not tested, Ubuntu has no package of Chromium" >&2
  fi
  install_missing "${build_packages[@]}" "${test_packages[@]}" "${browser_packages[@]}"
  # CI must test pages; elsewhere a machine that does not reach npm's registry tests the rest.
  if [[ $browser == ON ]] && ! fetch_playwright >>"$log" 2>&1; then
    browser=OFF
    echo "setup.sh: npm cannot fetch Playwright ($log says why), pages are not tested" >&2
    [[ ${CI-} != true ]] || exit 1
  fi
  stage "building for release" build release -DMHA_WERROR=ON -DMHA_BROWSER_TESTS=$browser
  stage "testing" ctest --preset release
  stage "building with sanitizers" build asan -DMHA_WERROR=ON
  stage "testing with sanitizers, and fuzzing" ctest --preset asan
  awk '/^100% tests passed/ { n += $NF } END { print n " passed, 0 failed" }' "$log"
}

case "$#:${1-}" in
  1:demo | 1:test) ;;
  1:--help | 1:-h) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac
mkdir -p build
: >"$log"
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL CTEST_PARALLEL_LEVEL=$CMAKE_BUILD_PARALLEL_LEVEL
case $1 in
  demo) demo ;;
  test) test_all ;;
esac
