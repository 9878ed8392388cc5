// Package report has the runs of the command's measurements, and what is made of them:
// tables, lines for benchstat, plots and comparisons.
package report
