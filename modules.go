//go:build modules

package pippin

// grpc needs google.golang.org/genproto/googleapis/rpc, which was a part of
// google.golang.org/genproto until 2023. Programs whose modules ask for one so
// old would have its packages twice ("ambiguous import"). Imported here, where
// only "go mod tidy" looks, go.mod asks for one that has them no longer.
import _ "google.golang.org/genproto/protobuf/field_mask"
