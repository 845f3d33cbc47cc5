#include "heads/png.h"

#include <png.h>

#include <iterator>
#include <vector>

#include "base/error.h"

namespace mha {

// The simplified interface: errors come back as texts, and not by longjmp() over our frames.
std::string png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB_COLORMAP;
  header.colormap_entries = static_cast<png_uint_32>(image.palette.size());
  std::vector<png_byte> palette;
  for (const Rgb& colour : image.palette) {
    palette.insert(palette.end(), {colour.red, colour.green, colour.blue});
  }
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(),
                                image.width, palette.data()) == 0) {
    const std::string message = std::begin(header.message);
    png_image_free(&header);
    throw Error("PNG: " + message, Fault::system);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace mha
