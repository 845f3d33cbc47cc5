#pragma once

#include <string>
#include <string_view>

namespace mha {

// What stands in a JSON document, told from its start to its end.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  // `natural`: written as a whole number from 0 to 2^53, which a double holds
  // exactly. `text`: as it reads.
  virtual void number(double value, bool natural, std::string_view text) = 0;
  // Strings and keys are the listener's to move from.
  virtual void string(std::string& text) = 0;
  virtual void start_object() = 0;
  virtual void key(std::string& name) = 0;
  virtual void end_object() = 0;
  virtual void start_array() = 0;
  virtual void end_array() = 0;
};

// Reads a whole document; a UTF-8 byte order mark is skipped. However deep it
// is, the stack is not. Throws Error that begins with `where` and names line
// and column of what is not JSON, and what the listener throws.
void read_json_events(std::string_view text, const std::string& where, JsonEvents& events);

}  // namespace mha
