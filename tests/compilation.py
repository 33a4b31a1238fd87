"""What the tests compile, and how much of it a process keeps."""

import os

# Tests are many small programs, most of whose time is compilation: XLA needs half of it
# if it optimises nothing. Numbers differ in their last bits.
QUICK_COMPILATION = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
)

# Bytes that a process may hold before it forgets what it has compiled, and has to read
# it again: a quarter of this machine's memory.
ROOM = max(2**31, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4)
