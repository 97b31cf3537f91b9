// rematlas config generate, rematlas config check
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "app/cli/command.h"
#include "core/base/files.h"
#include "core/planning/config.h"

namespace rematlas {

void add_config_commands(const Commands& commands) {
    static OutputFlags output;
    static std::string type, out, path;
    CLI::App* config =
        commands.app.add_subcommand("config", "write and check complete configurations of solvers");
    config->require_subcommand(1);
    const Commands inner{*config, commands.exit};
    CLI::App* generate =
        inner.add("generate", "write a complete configuration",
                  "rematlas config generate rotor -o rotor.json", output, []() -> Result<Exit> {
                      const Result<std::string> text = generate_config(type);
                      if (!text) return text.error();
                      if (out.empty()) {
                          std::cout << *text;
                          return Exit::success;
                      }
                      if (const Result<void> written = write_file(out, *text); !written)
                          return written.error();
                      if (output.json) print_json({{"file", out}});
                      return Exit::success;
                  });
    std::string types;
    for (const std::string_view known : config_types())
        types += (types.empty() ? "" : ", ") + std::string(known);
    generate->add_option("type", type, "one of " + types)->required();
    generate->add_option("-o,--output", out, "the file to write (default: standard output)");
    CLI::App* check = inner.add("check", "check a configuration", "rematlas config check rotor.json", output,
                                []() -> Result<Exit> {
                                    const Result<Config> read = read_config(path);
                                    if (!read) return read.error();
                                    if (output.json)
                                        print_json({{"ok", true},
                                                    {"type", read->type},
                                                    {"solver", read->solver},
                                                    {"options", *read->options}});
                                    else
                                        std::cout << path << ": ok, for solver " << read->solver << '\n';
                                    return Exit::success;
                                });
    check->add_option("file", path, "a configuration file")->required();
}

}  // namespace rematlas
