"""What every request passes: connections, host check, tokens, limits, bodies, logs."""
