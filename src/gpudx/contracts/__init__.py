"""Checks what users state about their program against the record: contracts of kernels, and hypotheses.

language     what an expression may say; parsed once, never executed
columns      exact arithmetic over all rows at once, with rows whose value is not known
evaluate     an expression over a table of rows
launches     the launches of one kernel as such a table, with what they were `given` and the `pointees` of it
tables       allocations and failing calls as such tables
source       the TOML files, with the lines that errors name
contracts    contracts.toml; `checking` holds it against launches
hypotheses   hypotheses.toml; `judging` gives each its verdict, by the `fault` of the case
telling      values in the words of findings
"""
