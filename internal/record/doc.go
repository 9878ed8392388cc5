// Package record has what measurements leave behind: the machine, the runs, and what
// is made of them: tables, lines for benchstat, plots and comparisons.
package record
