"""A judgement as others read it: text, SARIF, JUnit, GitHub annotations."""
