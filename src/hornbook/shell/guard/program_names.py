"""The programs that need a closer look, so that no other command loads what looks."""

WRITERS = frozenset(
    [
        "bsdtar",
        "bzip2",
        "chgrp",
        "chmod",
        "chown",
        "cp",
        "curl",
        "dd",
        "ed",
        "ex",
        "gsed",
        "gunzip",
        "gzip",
        "install",
        "ln",
        "mkdir",
        "mkfifo",
        "mv",
        "patch",
        "rm",
        "rmdir",
        "rsync",
        "scp",
        "sed",
        "shred",
        "sort",
        "sponge",
        "tar",
        "tee",
        "touch",
        "trash",
        "truncate",
        "unlink",
        "unzip",
        "wget",
        "xz",
        "zip",
        "zstd",
    ]
)
"""The programs of `shell_programs`."""
WRAPPERS = frozenset(
    [
        "builtin",
        "bundle",
        "bunx",
        "busybox",
        "caffeinate",
        "chronic",
        "command",
        "doas",
        "env",
        "exec",
        "flock",
        "hatch",
        "ionice",
        "nice",
        "nohup",
        "npx",
        "pdm",
        "pipx",
        "pnpm",
        "poetry",
        "rye",
        "setsid",
        "stdbuf",
        "sudo",
        "time",
        "timeout",
        "uv",
        "uvx",
    ]
)
"""The programs of `shell_wrappers`."""
INTERPRETERS = frozenset(
    [
        *["awk", "gawk", "mawk", "nawk", "python", "pypy", "node", "nodejs", "bun", "deno"],
        *["ruby", "perl", "php", "lua", "Rscript", "osascript"],
    ]
)
"""The programs of `shell_interpreters`, without the version behind a name."""
