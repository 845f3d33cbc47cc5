#include "threads.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "log.h"

namespace mha {
namespace {

// What an environment variable says, where it says a number from 1.
std::optional<std::size_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  std::size_t number = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (result.ec != std::errc() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

std::size_t set_up_threads(std::optional<std::size_t> asked) {
  const std::size_t processors = available_processors();
  std::string source = "--threads";
  for (const char* variable : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (asked) break;
    asked = number_in(variable);
    source = variable;
  }
  std::size_t threads = asked.value_or(processors);
  if (threads > processors) {
    log_warning(source + ": " + std::to_string(threads) + " threads are more than the " +
                std::to_string(processors) + " processors there are, which do the work");
    threads = processors;
  }
  use_threads(threads);
  use_blas_threads(threads);
  log_detail("threads = " + std::to_string(threads) + " (" +
             (asked ? source : std::string("processors of this process")) + ")");
  return threads;
}

}  // namespace mha
