// Package logs carries what a plugin logs to its host: the plugin writes lines to its
// stderr (Handler), the host reads them, cleans them and bounds them (Plugin). Both
// sides give go-plugin a logger of its own kind (HC).
package logs
