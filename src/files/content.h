#pragma once

#include <string>
#include <string_view>

namespace mha {

// What the bytes of a file show; `torch` is the format that torch.save wrote
// before 1.6.
enum class Content { npy, zip, torch, safetensors, json, text };

// Text less the byte order mark (UTF-8) that some editors begin it with.
std::string_view without_byte_order_mark(std::string_view text);

// Never looks at a name. Throws Error that says what the content is instead
// where it is none of these: a Git LFS pointer, a web page, a GGUF
// model, another pickle than torch.save's, nothing at all.
Content content_of(std::string_view bytes, const std::string& path);

}  // namespace mha
