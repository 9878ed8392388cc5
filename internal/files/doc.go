// Package files finds folders and files of a user: how much room there is, what a path
// really names, and where a cluster's data are.
package files
