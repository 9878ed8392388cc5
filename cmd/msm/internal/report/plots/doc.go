// Package plots draws records. It is apart from package report so that a program which draws
// nothing need not compile fonts and formats of pictures.
package plots
