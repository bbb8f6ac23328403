"""What users state about their own program, held against what was recorded: contracts of kernels, and hypotheses.

language     what an expression may say; parsed once, never executed
columns      exact arithmetic over all rows at once, with rows whose value is not known
evaluate     an expression over a table of rows
launches     the launches of one kernel as such a table; `tables` has allocations and failing calls
source       the TOML files, with the lines that errors name
contracts    contracts.toml; `checking` holds it against launches
hypotheses   hypotheses.toml; `judging` gives each its verdict
"""
