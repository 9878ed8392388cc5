// Package archtest holds the tests that keep the import table of
// docs/architecture.md true. It has no code of its own.
package archtest
