// The program in front of an AppImage's squashfs: it unpacks the file system once and starts AppRun.
//
//     rematlas-explorer-x86_64.AppImage [ARGUMENTS]
//     ... --appimage-extract    unpacks into ./squashfs-root, and starts nothing
//     ... --appimage-offset     prints where the squashfs begins
//
// Other AppImages mount their file system, which needs FUSE 2 and a setuid helper; newer distributions come
// without these. This AppImage unpacks into $XDG_CACHE_HOME/rematlas/appimage-ID (else ~/.cache, else $TMPDIR,
// else /tmp), where the next start finds it. ID is the digest of the squashfs. The folder gets its name after
// the last file is written, so a process that was killed leaves no half folder behind under that name.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <squashfuse/squashfuse.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef IMAGE_ID
#error "IMAGE_ID is the digest of the squashfs"
#endif

static const char* unfinished = NULL;  // the folder that is being filled; removed if that fails

static int remove_entry(const char* path, const struct stat* status, int kind, struct FTW* place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void remove_folder(const char* path) {
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void fail(const char* what, const char* where) {
    fprintf(stderr, "rematlas: the AppImage cannot %s %s: %s\n", what, where, strerror(errno));
    if (unfinished) remove_folder(unfinished);
    exit(1);
}

static char* joined(const char* format, ...) {
    char* made = NULL;
    va_list given;
    va_start(given, format);
    if (vasprintf(&made, format, given) < 0) fail("allocate", "memory");
    va_end(given);
    return made;
}

/// Returns the size of the ELF program in bytes. The squashfs begins behind the program's section table.
static size_t program_bytes(const char* path) {
    Elf64_Ehdr header;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, &header, sizeof header) != (ssize_t)sizeof header) fail("read", path);
    close(file);
    return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

static void write_file(sqfs* image, sqfs_inode* inode, const char* path, mode_t mode) {
    char buffer[1 << 17];
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    if (file < 0) fail("write", path);
    for (sqfs_off_t at = 0, size = (sqfs_off_t)inode->xtra.reg.file_size; at < size;) {
        sqfs_off_t count = sizeof buffer;
        errno = EIO;
        if (sqfs_read_range(image, inode, at, &count, buffer) != SQFS_OK || count <= 0) fail("read", path);
        if (write(file, buffer, (size_t)count) != (ssize_t)count) fail("write", path);
        at += count;
    }
    if (close(file) != 0) fail("write", path);
}

static void write_link(sqfs* image, sqfs_inode* inode, const char* path) {
    char target[PATH_MAX];
    size_t size = sizeof target;
    errno = EIO;
    if (sqfs_readlink(image, inode, target, &size) != SQFS_OK) fail("read", path);
    if (symlink(target, path) != 0) fail("write", path);
}

/// Unpacks the squashfs of the file `program` into the existing folder `to`.
static void unpack(const char* program, size_t offset, const char* to) {
    sqfs image;
    sqfs_traverse walk;
    sqfs_err error = sqfs_open_image(&image, program, offset);
    errno = EIO;
    if (error != SQFS_OK) fail("open its file system in", program);
    if (sqfs_traverse_open(&walk, &image, sqfs_inode_root(&image)) != SQFS_OK) fail("read", program);
    while (sqfs_traverse_next(&walk, &error)) {
        sqfs_inode inode;
        if (walk.dir_end || walk.path_size == 0) continue;
        char* path = joined("%s/%s", to, walk.path);
        errno = EIO;
        if (sqfs_inode_get(&image, &inode, walk.entry.inode) != SQFS_OK) fail("read", path);
        const mode_t mode = inode.base.mode;
        if (S_ISDIR(mode)) {
            if (mkdir(path, 0755) != 0) fail("make", path);
        } else if (S_ISLNK(mode)) {
            write_link(&image, &inode, path);
        } else if (S_ISREG(mode)) {
            write_file(&image, &inode, path, mode);
        }
        free(path);
    }
    errno = EIO;
    if (error != SQFS_OK) fail("read", program);
    sqfs_traverse_close(&walk);
    sqfs_fd_close(image.fd);
}

/// Makes a folder and the folders above it. Returns whether it can be written to.
static int is_folder(const char* path) {
    char* parts = joined("%s", path);
    for (char* slash = strchr(parts + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(parts, 0755);
        *slash = '/';
    }
    free(parts);
    mkdir(path, 0755);
    return access(path, W_OK | X_OK) == 0;
}

/// Returns the folder for unpacked images.
static char* folder_of_images(void) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *temporary = getenv("TMPDIR");
    char* found = NULL;
    if (cache && *cache == '/' && is_folder(found = joined("%s/rematlas", cache))) return found;
    if (home && *home == '/' && is_folder(found = joined("%s/.cache/rematlas", home))) return found;
    if (!temporary || *temporary != '/') temporary = "/tmp";
    // Other users can write to this folder, so each start has one of its own.
    found = joined("%s/rematlas-XXXXXX", temporary);
    if (!mkdtemp(found)) fail("make a folder in", temporary);
    return found;
}

/// Returns the folder with the unpacked file system of this image, and unpacks it if there is none.
static char* unpacked(const char* program, size_t offset) {
    char *images = folder_of_images(), *final = joined("%s/appimage-%s", images, IMAGE_ID);
    char* whole = joined("%s/AppRun", final);
    if (access(whole, X_OK) == 0) return final;
    char* part = joined("%s/unpacking-XXXXXX", images);
    if (!mkdtemp(part)) fail("make a folder in", images);
    unfinished = part;
    unpack(program, offset, part);
    unfinished = NULL;
    if (chmod(part, 0755) != 0) fail("write", part);
    if (rename(part, final) == 0) return final;
    if (access(whole, X_OK) != 0) return part;
    remove_folder(part);  // another process was faster, and its folder has the same files
    return final;
}

int main(int count, char** arguments) {
    char program[PATH_MAX] = {0};
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) fail("find itself by", "/proc/self/exe");
    const size_t offset = program_bytes(program);
    const char* first = count > 1 ? arguments[1] : "";
    if (strcmp(first, "--appimage-offset") == 0) {
        printf("%zu\n", offset);
        return 0;
    }
    if (strcmp(first, "--appimage-extract") == 0) {
        if (mkdir("squashfs-root", 0755) != 0) fail("make", "squashfs-root");
        unpack(program, offset, "squashfs-root");
        puts("squashfs-root");
        return 0;
    }
    char* folder = unpacked(program, offset);
    char* start = joined("%s/AppRun", folder);
    setenv("APPIMAGE", program, 1);
    setenv("APPDIR", folder, 1);
    setenv("ARGV0", arguments[0], 1);
    execv(start, arguments);
    fail("start", start);
}
