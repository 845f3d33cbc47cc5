#include "mha_weights/convert.h"

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "checkpoint/embeddings.h"
#include "checkpoint/save.h"
#include "files/names.h"
#include "files/whole_file.h"
#include "mha_weights/files.h"

namespace mha {

namespace {

// Shards lie beside their index, under names that only it knows.
void require_no_shard(const Archive& archive, const std::string& output) {
  const auto folder_of = [](const std::string& path) {
    return std::filesystem::absolute(path).parent_path().string();
  };
  const bool sharded = archive.container.starts_with("sharded");
  if (!sharded || !std::filesystem::is_regular_file(output) ||
      !same_target(folder_of(archive.path), folder_of(output))) {
    return;
  }
  throw Error(printable(output) +
              ": lies among the shards that are read and may be one; write elsewhere");
}

// Words come in at the first layer of all. What cannot be used is left out, too.
std::optional<Embeddings> carried_embeddings(OpenedModel& model, const ModelOptions& options) {
  if (options.layers || !without_embeddings(model).empty()) return std::nullopt;
  try {
    return open_embeddings(model, options, "");
  } catch (const Error& error) {
    if (error.fault() == Fault::system) throw;
    log_warning(std::string("the embeddings are left out: ") + error.what());
    return std::nullopt;
  }
}

}  // namespace

void convert(const ConvertOptions& options) {
  const ModelOptions& asked = options.input.model;
  const Archive archive = open_weights(options.input);
  require_no_shard(archive, options.output);
  OpenedModel model = open_model(archive, asked);
  for (const SettingInForce& setting : model.in_force) {
    log_detail(setting.name + " = " + setting.value + " (" + setting.source + ")");
  }
  for (const SettingInForce& heads : model.overruled) {
    log_warning(heads.name + " = " + heads.value + " (" + heads.source + ")");
  }
  const std::optional<Embeddings> embeddings = carried_embeddings(model, asked);
  for (const std::string& name : model.translated.unused) log_detail(name + " is left out");
  WholeFile file = open_weights_output(options.output, options.format);
  write_archive(file, options.format,
                native_archive(model, asked, embeddings ? &*embeddings : nullptr));
  file.commit();
}

}  // namespace mha
