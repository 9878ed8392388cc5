// Package library has tests: circuits with the packages of gnark's std are solved by our solver and
// by gnark's. It is a module by itself because some of these packages are in the newest gnark alone,
// which the library does not ask for.
package library
