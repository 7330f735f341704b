"""The steps of the loop, one module each: what is done and which events it leaves."""
