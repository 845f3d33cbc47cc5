#include "log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

#include "files/names.h"

namespace mha {

void start_log(const std::string& tool, Loudness loudness) {
  auto logger = std::make_shared<spdlog::logger>(
      tool, std::make_shared<spdlog::sinks::stderr_color_sink_st>());
  logger->set_pattern("%^%n:%$ %v");
  logger->set_level(loudness == Loudness::quiet     ? spdlog::level::err
                    : loudness == Loudness::verbose ? spdlog::level::info
                                                    : spdlog::level::warn);
  spdlog::set_default_logger(logger);
}

void log_error(const std::string& text) { spdlog::error("{}", printable(text)); }
void log_warning(const std::string& text) { spdlog::warn("warning: {}", printable(text)); }
void log_detail(const std::string& text) { spdlog::info("{}", printable(text)); }

void log_result(const std::string& lines) { std::fputs(lines.c_str(), stderr); }

}  // namespace mha
