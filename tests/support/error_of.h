#pragma once

#include <string>

#include "base/error.h"

namespace mha {

// The text of the Error that `action` throws, "no error" where it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// True where `action` throws an Error of that fault.
template <typename Action>
bool fails_with(Fault fault, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.fault() == fault;
  }
  return false;
}

}  // namespace mha
