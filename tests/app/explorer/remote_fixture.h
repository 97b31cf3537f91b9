// A test fixture with another machine. A stand-in for ssh runs the commands on this machine.
#pragma once

#include <QDir>
#include <QFile>

#include "tests/app/explorer/window_fixture.h"

namespace rematlas::explorer {

class RemoteMachine : public Windows {
  protected:
    void SetUp() override {
        Windows::SetUp();
        old_path_ = qgetenv("PATH");
        old_cache_ = qgetenv("REMATLAS_CACHE");
        qputenv("REMATLAS_CACHE", folder.filePath("cache").toUtf8());
        write_program("ssh", "while [ \"$1\" != -- ]; do shift; done\necho \"$2\" >>\"" +
                                 folder.filePath("hosts").toUtf8() +
                                 "\"\n[ \"$2\" = away ] && { echo 'ssh: away: no route' >&2; exit 255; "
                                 "}\nexec sh -c \"$3\"\n");
        qputenv("PATH", folder.filePath("bin").toUtf8() + ":" + old_path_);
    }
    void TearDown() override {
        qputenv("PATH", old_path_);
        old_cache_.isNull() ? qunsetenv("REMATLAS_CACHE") : qputenv("REMATLAS_CACHE", old_cache_);
    }
    void write_program(const QString& name, const QByteArray& lines) {
        QDir(folder.path()).mkpath("bin");
        QFile program(folder.filePath("bin/" + name));
        ASSERT_TRUE(program.open(QIODevice::WriteOnly | QIODevice::Truncate));
        program.write("#!/bin/sh\n" + lines);
        program.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    void use_rematlas() { write_program("rematlas", QByteArray("exec '") + REMATLAS_PROGRAM + "' \"$@\"\n"); }
    QString there(const QString& path) { return "ssh://gpu" + path; }
    QByteArray hosts() {
        QFile file(folder.filePath("hosts"));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    Session& session() { return window->session(); }

    QByteArray old_path_, old_cache_;
};

}  // namespace rematlas::explorer
