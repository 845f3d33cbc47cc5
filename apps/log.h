#pragma once

#include <string>

namespace mha {

// All that a tool says beside its results goes to stderr, a line each, begun
// with the tool's name; in colour only on a terminal. Text may hold names from
// files: control characters are shown, not sent.
enum class Loudness { quiet, normal, verbose };  // -q, nothing, -v

void start_log(const std::string& tool, Loudness loudness);

void log_error(const std::string& text);
void log_warning(const std::string& text);  // not with -q
void log_detail(const std::string& text);   // with -v only

// A result that goes to stderr because stdout carries another: its lines as
// they are.
void log_result(const std::string& lines);

}  // namespace mha
