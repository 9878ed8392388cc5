// Package proto holds the messages and the service of the plugin protocol.
// plugin.proto is the source; everything else is generated from it.
package proto

//go:generate sh generate.sh
