// Loads settings from temporary files, flags and variables, for tests.
#ifndef SLUICE_CONFIG_TEMPORARY_SETTINGS_H_
#define SLUICE_CONFIG_TEMPORARY_SETTINGS_H_

#include <cstdio>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "config/load.h"

namespace sluice::config {

// A settings file that is removed with the object.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text) { std::ofstream(path_) << text; }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = testing::TempDir() + "sluice_" + std::to_string(getpid()) + ".toml";
};

inline Loaded loaded_from(const Sources& sources) {
    auto loaded = load_settings(sources);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : Loaded{};
}

inline Settings settings_of(const std::string& toml) {
    const TemporaryFile file(toml);
    return loaded_from({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}})
        .settings;
}

// The error about a file, with FILE in place of its path.
inline std::string fault_of(const std::string& toml) {
    const TemporaryFile file(toml);
    const auto loaded =
        load_settings({.file = file.path(), .environment = {}, .flags = {}, .tokens = {}});
    if (loaded) return "no fault";
    std::string message = loaded.error().message;
    for (std::size_t at = 0; (at = message.find(file.path())) != std::string::npos;) {
        message.replace(at, file.path().size(), "FILE");
    }
    return message;
}

inline Result<Loaded> with_flag(const std::string& key, const std::string& value) {
    return load_settings({.file = {}, .environment = {}, .flags = {{key, value}}, .tokens = {}});
}
inline Result<Loaded> with_variable(const std::string& name, const std::string& value) {
    return load_settings({.file = {}, .environment = {{name, value}}, .flags = {}, .tokens = {}});
}
inline std::string fault_of(const Result<Loaded>& loaded) {
    return loaded ? "no fault" : loaded.error().message;
}

}  // namespace sluice::config

#endif  // SLUICE_CONFIG_TEMPORARY_SETTINGS_H_
