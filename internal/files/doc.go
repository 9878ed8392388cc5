// Package files finds folders and files of a user: how much room there is, what a path
// really names, who else may read or write it, and where a cluster's data are.
package files
