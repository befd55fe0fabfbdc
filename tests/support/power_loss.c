/* A disk that forgets what was not synced. Preloaded into a process, this library notes what fsync and fdatasync make
 * durable, so that a test can rebuild what a power cut would leave behind.
 *
 *   POWER_ROOT  the folder that is watched
 *   POWER_DISK  where the notes go, on the same file system as the root:
 *                 content/<inode>  the bytes of a file when it was last synced
 *                 names/<inode>    the entries of a folder when it was last synced: "<inode> <name>" on each line
 *                 pins/<inode>     a hard link to a file that was noted, so that its inode is not used again
 *   POWER_CUT   the process is killed instead of making its n-th sync
 *
 * Nothing is really synced: the notes are all that the test needs. A file that is open for reading is read by its own
 * descriptor, because to open and close it once more would drop the locks that SQLite holds on it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static long syncs = 0;

static void fail(const char *what) {
    perror(what);
    abort();
}

/* The path of a note, in a buffer of PATH_MAX bytes. */
static const char *note(char *buffer, const char *kind, unsigned long inode) {
    snprintf(buffer, PATH_MAX, "%s/%s/%lu", getenv("POWER_DISK"), kind, inode);
    return buffer;
}

static void pin(const char *path, unsigned long inode) {
    char target[PATH_MAX];
    linkat(AT_FDCWD, path, AT_FDCWD, note(target, "pins", inode), AT_SYMLINK_FOLLOW); /* It may be pinned already. */
}

static void note_file(int fd, const char *self, unsigned long inode) {
    char target[PATH_MAX], bytes[65536];
    int only_writes = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
    int from = only_writes ? open(self, O_RDONLY) : fd;
    int to = open(note(target, "content", inode), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || to < 0) fail("power_loss: open");
    off_t at = 0;
    for (ssize_t got; (got = pread(from, bytes, sizeof bytes, at)) != 0; at += got)
        if (got < 0 || write(to, bytes, got) != got) fail("power_loss: copy");
    close(to);
    if (only_writes) close(from);
    pin(self, inode);
}

static void note_folder(const char *path, unsigned long inode) {
    char target[PATH_MAX], entry[PATH_MAX + NAME_MAX + 2];
    DIR *folder = opendir(path);
    FILE *to = fopen(note(target, "names", inode), "w");
    if (!folder || !to) fail("power_loss: folder");
    for (struct dirent *found; (found = readdir(folder));) {
        if (!strcmp(found->d_name, ".") || !strcmp(found->d_name, "..")) continue;
        fprintf(to, "%lu %s\n", (unsigned long)found->d_ino, found->d_name);
        snprintf(entry, sizeof entry, "%s/%s", path, found->d_name);
        pin(entry, found->d_ino);
    }
    fclose(to);
    closedir(folder);
}

static int note_sync(int fd) {
    char self[64], path[PATH_MAX];
    const char *root = getenv("POWER_ROOT"), *cut = getenv("POWER_CUT");
    struct stat about;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(self, path, sizeof path - 1);
    if (!root || length < 0 || fstat(fd, &about)) return 0;
    path[length] = 0;
    if (strncmp(path, root, strlen(root))) return 0;
    pthread_mutex_lock(&one_at_a_time);
    if (++syncs == (cut ? atol(cut) : 0)) kill(getpid(), SIGKILL);
    if (S_ISDIR(about.st_mode)) note_folder(path, about.st_ino);
    if (S_ISREG(about.st_mode)) note_file(fd, self, about.st_ino);
    pthread_mutex_unlock(&one_at_a_time);
    return 0;
}

int fsync(int fd) { return note_sync(fd); }
int fdatasync(int fd) { return note_sync(fd); }
