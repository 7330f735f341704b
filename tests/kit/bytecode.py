"""A plugin for `make`: what pytest compiles is kept, whatever the environment says of bytecode.

Asserts are rewritten in all test modules and in all modules of the plugins that are installed, which
takes each of the processes that share a run many seconds unless the first of them keeps the result.
The processes that tests start see the environment as it is.
"""

import sys

sys.dont_write_bytecode = False
