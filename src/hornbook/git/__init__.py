"""Reads git repositories, and writes to them where a plan is carried out."""
