// Package record has what every measurement leaves behind, that of a test too: the machine,
// the runs, and statistics of samples.
package record
