# SPDX-License-Identifier: Apache-2.0
# Empties raw strings, in whose quotes and braces moc 6.4 loses count of the namespaces. Run with -z -E.
s/R"\(([^)]|\)+[^)"])*\)+"/""/g
